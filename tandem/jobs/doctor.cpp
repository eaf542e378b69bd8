// SPDX-License-Identifier: Apache-2.0
// Asks the kernel, the processor and the libraries; believes only what it has tried.
#include "tandem/jobs/doctor.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <thread>

#include "tandem/base/file.hpp"
#include "tandem/base/rng.hpp"
#include "tandem/base/text.hpp"
#include "tandem/base/units.hpp"
#include "tandem/exec/executable.hpp"
#include "tandem/exec/isa.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/ref/ref.hpp"

namespace tandem::jobs {
namespace {

constexpr uint64_t kProcFileLimit = uint64_t{4} << 20;

// The first line "key : value" of a file of /proc.
std::string proc_value(const std::string& path, std::string_view key) {
  const Result<std::string> text = read_file(path, kProcFileLimit);
  if (!text.ok()) return {};
  for (const std::string_view line : split(*text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    return std::string(trim(line.substr(colon + 1)));
  }
  return {};
}

// "16318480 kB" -> bytes.
uint64_t kilobytes(const std::string& text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number * 1024;
}

Finding processor() {
  std::string name = proc_value("/proc/cpuinfo", "model name");
  if (name.empty()) {
    utsname system{};
    name = uname(&system) == 0 ? system.machine : "unknown";
  }
  return {"processor", fmt::format("{}, {} cores", name, std::max(1u, std::thread::hardware_concurrency()))};
}

Finding memory() {
  const uint64_t total = kilobytes(proc_value("/proc/meminfo", "MemTotal"));
  const uint64_t available = kilobytes(proc_value("/proc/meminfo", "MemAvailable"));
  constexpr uint64_t kWantedBytes = uint64_t{1} << 30;
  Finding finding{"memory", fmt::format("{} free of {}", format_bytes(available), format_bytes(total))};
  if (available < kWantedBytes) {
    finding.health = Health::kWarning;
    finding.advice = "adapt wants 600 MiB; large models may not fit";
  }
  return finding;
}

Finding disk(const std::string& directory) {
  std::error_code code;
  const auto space = std::filesystem::space(directory, code);
  if (code)
    return {"disk", fmt::format("'{}': {}", directory, code.message()), Health::kBad,
            "choose another folder"};
  constexpr uint64_t kWantedBytes = uint64_t{1} << 30;
  Finding finding{"disk", fmt::format("{} free at '{}'", format_bytes(space.available), directory)};
  if (space.available < kWantedBytes) {
    finding.health = Health::kWarning;
    finding.advice = "a run keeps features of every image: 5 KiB each with EfficientNet-Lite0";
  }
  if (access(directory.c_str(), W_OK) != 0) {
    finding.health = Health::kWarning;
    finding.advice = "the folder is not writable: give -o with another one";
  }
  return finding;
}

std::vector<Finding> instruction_sets() {
  const exec::Isa& isa = exec::isa();
  std::vector<Finding> findings;
  findings.push_back(
      {"instructions", fmt::format("{} ({}), own loops {}", isa.effective, isa.library, isa.rows)});
  Finding exact{"exact int8", isa.exact_int8 ? "yes: 8-bit products are summed in 32 bits" : "no"};
  if (!isa.exact_int8) {
    exact.health = Health::kWarning;
    exact.advice = "no VNNI: integer convolutions run in float or by plain loops, correct but slower";
  }
  findings.push_back(std::move(exact));
  return findings;
}

// Shared libraries in this process, by the file that was loaded ("libdnnl.so.2.6").
std::vector<Finding> libraries() {
  struct Loaded {
    std::vector<std::string> files;
  } loaded;
  const auto visit = [](dl_phdr_info* info, size_t, void* data) -> int {
    static_cast<Loaded*>(data)->files.emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(visit, &loaded);
  static constexpr std::pair<const char*, const char*> kWanted[] = {
      {"oneDNN", "libdnnl.so"}, {"protobuf", "libprotobuf.so"}, {"protobuf", "libprotobuf-lite.so"},
      {"onnx", "libonnx.so"},   {"JPEG", "libjpeg.so"},         {"PNG", "libpng"},
      {"WebP", "libwebp.so"},   {"zimg", "libzimg.so"},         {"EXIF", "libexif.so"},
      {"zlib", "libz.so"},      {"OpenMP", "libgomp.so"}};
  std::vector<Finding> findings;
  for (const auto& [name, stem] : kWanted) {
    for (const std::string& file : loaded.files) {
      const std::string base = std::filesystem::path(file).filename().string();
      if (!base.starts_with(stem)) continue;
      std::error_code code;
      const std::string real = std::filesystem::canonical(file, code).filename().string();
      findings.push_back({fmt::format("library {}", name), code ? base : real});
    }
  }
  return findings;
}

// x [1,16,8,8] u8 -> Conv 16 to 16, 3x3, s8 weights per channel -> u8.
Result<ir::Graph> small_network(Rng& rng) {
  ir::Graph graph;
  graph.name = "doctor";
  ir::Value input;
  input.name = "x";
  input.shape = Shape{1, 16, 8, 8};
  input.quant = QuantParams::affine(DType::kU8, 0.02F, 0);
  const ir::ValueId x = graph.add_input(input);
  Tensor weights(DType::kI8, Shape{16, 16, 3, 3});
  for (int8_t& w : weights.as<int8_t>()) w = static_cast<int8_t>(static_cast<int>(rng.below(255)) - 127);
  const ir::ValueId w =
      graph.add_constant("w", std::make_shared<Tensor>(std::move(weights)),
                         QuantParams::affine_per_axis(DType::kI8, 0, std::vector<float>(16, 0.01F)));
  ir::Conv conv;
  conv.window.kernel = {3, 3};
  conv.window.pads = {1, 1, 1, 1};
  ir::Value output;
  output.name = "y";
  output.quant = QuantParams::affine(DType::kI8, 0.5F, 0);
  const ir::ValueId y = graph.add_value(output);
  graph.add_node({"conv", conv, {x, w}, {y}});
  graph.outputs.push_back(y);
  TANDEM_TRY(ir::infer_shapes(graph));
  return graph;
}

// The largest difference of the two executors in steps of the output.
Result<int> differing_steps() {
  Rng rng(7);
  const ir::Graph graph = TANDEM_TRY(small_network(rng));
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kU8, Shape{1, 16, 8, 8});
  for (uint8_t& level : inputs[0].as<uint8_t>()) level = static_cast<uint8_t>(rng.below(256));
  ref::RunOptions options;
  options.stored_outputs = true;
  const std::vector<Tensor> expected = TANDEM_TRY(ref::run(graph, inputs, options));
  exec::Executable executable = TANDEM_TRY(exec::Executable::compile(graph));
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  const std::vector<Tensor> actual = TANDEM_TRY(executable.run(views));
  int steps = 0;
  const auto a = expected[0].as<int8_t>();
  const auto b = actual[0].as<int8_t>();
  for (size_t i = 0; i < a.size(); ++i) steps = std::max(steps, std::abs(a[i] - b[i]));
  return steps;
}

Finding self_check() {
  const Result<int> steps = differing_steps();
  if (!steps.ok()) return {"self-check", steps.error().what(), Health::kBad, steps.error().because_text()};
  Finding finding{"self-check", fmt::format("int8 convolution within {} step(s) of the reference", *steps)};
  if (*steps > 1) {
    finding.health = Health::kBad;
    finding.advice = "the fast executor computes wrongly on this machine: use --device ref and report it";
  }
  return finding;
}

}  // namespace

std::vector<Finding> doctor(const std::string& directory) {
  std::vector<Finding> findings;
  findings.push_back(processor());
  for (Finding& f : instruction_sets()) findings.push_back(std::move(f));
  findings.push_back(memory());
  findings.push_back(disk(directory));
  for (Finding& f : libraries()) findings.push_back(std::move(f));
  findings.push_back({"ONNX files", fmt::format("opset {} to {}, IR version up to {}", onnx_io::kOpsetMin,
                                                onnx_io::kOpsetMax, onnx_io::kIrVersionMax)});
  findings.push_back(
      {"devices", "int8 (this processor), host (floating point), ref (reference interpreter)"});
  findings.push_back(self_check());
  return findings;
}

Json to_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& f : findings) {
    const char* health = f.health == Health::kGood      ? "good"
                         : f.health == Health::kWarning ? "warning"
                                                        : "bad";
    Json one = Json::object({{"what", f.what}, {"value", f.value}, {"health", health}});
    if (!f.advice.empty()) one.set("advice", f.advice);
    list.push(std::move(one));
  }
  return Json::object({{"findings", list}});
}

}  // namespace tandem::jobs
