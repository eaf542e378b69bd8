// SPDX-License-Identifier: Apache-2.0
// Reading of target descriptions: nested blocks of "name: value" lines.
#include "tandem/partition/dpu_target.hpp"

#include <charconv>
#include <map>

#include "tandem/base/text.hpp"

namespace tandem::partition {
namespace {

// One block: values and inner blocks by name, repeated ones in order.
struct Block {
  std::multimap<std::string, std::string> values;
  std::multimap<std::string, Block> blocks;

  std::string text(const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second;
  }
  int64_t number(const std::string& name) const {
    const std::string value = text(name);
    int64_t parsed = 0;
    std::from_chars(value.data(), value.data() + value.size(), parsed);
    return parsed;
  }
  std::set<std::string> all(const std::string& name) const {
    std::set<std::string> found;
    const auto [first, last] = values.equal_range(name);
    for (auto it = first; it != last; ++it) found.insert(it->second);
    return found;
  }
  const Block* block(const std::string& name) const {
    const auto found = blocks.find(name);
    return found == blocks.end() ? nullptr : &found->second;
  }
};

constexpr int kDepthMax = 8;

Status parse_block(const std::vector<std::string_view>& lines, size_t& at, int depth, Block& block) {
  if (depth > kDepthMax) return bad_input("a target description is nested too deeply");
  while (at < lines.size()) {
    const std::string_view line = trim(lines[at++]);
    if (line.empty()) continue;
    if (line == "}") return {};
    if (line.ends_with("{")) {
      auto inner = block.blocks.emplace(std::string(trim(line.substr(0, line.size() - 1))), Block());
      TANDEM_TRY(parse_block(lines, at, depth + 1, inner->second));
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      return bad_input(fmt::format("a target description has the line '{}'", line));
    std::string_view value = trim(line.substr(colon + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    block.values.emplace(std::string(trim(line.substr(0, colon))), std::string(value));
  }
  return {};
}

// "1-16"; also "2,3,5", of which the ends count.
Limits limits_of(const Block* block, const std::string& name) {
  const std::string text = block == nullptr ? "" : block->text(name);
  Limits limits;
  const size_t dash = text.find_first_of("-,");
  const size_t last = text.find_last_of("-,");
  std::from_chars(text.data(), text.data() + text.size(), limits.low);
  limits.high = limits.low;
  if (dash != std::string::npos)
    std::from_chars(text.data() + last + 1, text.data() + text.size(), limits.high);
  return limits;
}

std::set<std::string> activations_of(const Block& engine) {
  const Block* nonlinear = engine.block("nonlinear");
  return nonlinear == nullptr ? std::set<std::string>() : nonlinear->all("nonlinear_type");
}

}  // namespace

std::string Limits::to_string() const { return fmt::format("{}..{}", low, high); }

Result<DpuTarget> parse_dpu_target(std::string_view text) {
  Block root;
  size_t at = 0;
  TANDEM_TRY(parse_block(split(text, '\n'), at, 0, root));
  DpuTarget target;
  target.name = root.text("name");
  target.type = root.text("type");
  target.isa = root.number("isa_version");
  const Block* conv = root.block("conv_engine");
  const Block* alu = root.block("alu_engine");
  const Block* eltwise = root.block("eltwise_engine");
  if (conv == nullptr || alu == nullptr || eltwise == nullptr) {
    return unsupported(
               fmt::format("the target '{}' has no convolution, ALU and element-wise engines", target.name))
        .because("the mapping rules are those of DPUCZDX8G with ISA 1")
        .hint("known: " + join(known_targets(), ", "));
  }
  target.pixel_parallel = conv->number("pixel_parallel");
  target.input_channel_parallel = conv->number("input_channel_parallel");
  target.output_channel_parallel = conv->number("output_channel_parallel");
  target.conv_kernel = limits_of(conv->block("conv_limit"), "kernel_size");
  target.conv_stride = limits_of(conv->block("conv_limit"), "stride");
  target.alu_kernel = limits_of(alu->block("alu_limit"), "kernel_size");
  target.alu_stride = limits_of(alu->block("alu_limit"), "stride");
  target.alu_pad_begin = limits_of(alu->block("pad_limit"), "pad_left");
  target.alu_pad_end = limits_of(alu->block("pad_limit"), "pad_right");
  target.conv_activations = activations_of(*conv);
  target.alu_activations = activations_of(*alu);
  target.add_activations = activations_of(*eltwise);
  target.alu_types = alu->all("alu_type");
  const auto [first, last] = root.blocks.equal_range("bank_group");
  for (auto it = first; it != last; ++it) {
    const Block& bank = it->second;
    const int64_t bytes = bank.number("bank_num") * bank.number("bank_width") * bank.number("bank_depth");
    if (bank.text("name") == conv->text("weight_bank")) {
      target.weight_bank_depth = bank.number("bank_depth");
      target.weight_bytes = bytes;
    } else if (bank.text("name") == alu->text("weight_bank")) {
      target.depthwise_bank_depth = bank.number("bank_depth");
      target.depthwise_bank_width = bank.number("bank_width");
    } else if (bank.text("type") == "Virtual") {
      target.image_bytes += bytes;
    }
  }
  if (target.input_channel_parallel <= 0 || target.weight_bank_depth <= 0 ||
      target.depthwise_bank_width <= 0 || target.conv_kernel.high <= 0 || target.alu_kernel.high <= 0) {
    return unsupported(
        fmt::format("the description of target '{}' lacks numbers that the rules need", target.name));
  }
  return target;
}

std::string full_target_name(const std::string& name) {
  return name.size() > 1 && name[0] == 'B' && name.find('_') == std::string::npos ? "DPUCZDX8G_ISA1_" + name
                                                                                  : name;
}

std::vector<std::string> known_targets() {
  std::vector<std::string> names;
  for (const char* size : {"B512", "B800", "B1024", "B1152", "B1600", "B2304", "B3136", "B4096"})
    names.push_back(std::string("DPUCZDX8G_ISA1_") + size);
  return names;
}

}  // namespace tandem::partition
