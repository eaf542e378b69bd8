// SPDX-License-Identifier: Apache-2.0
// Printing of graphs; text_parse.cpp reads the same form.
#include "tandem/ir/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "tandem/base/hash.hpp"
#include "tandem/base/text.hpp"
#include "tandem/ir/text_syntax.hpp"

namespace tandem::ir {
namespace {

using syntax::print_number;
using syntax::quoted;

template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}
// Bits, so that NaN equals itself and 0 is not -0.
bool same(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }
bool same(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }
template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}
bool same(const Activation& a, const Activation& b) {
  return a.kind == b.kind && same(a.alpha, b.alpha) && same(a.beta, b.beta);
}
bool same(const ConstTensor& a, const ConstTensor& b) {
  if (a == b) return true;
  if (!a || !b || a->dtype() != b->dtype() || a->shape() != b->shape()) return false;
  return a->elements() == 0 || std::memcmp(a->data(), b->data(), a->size_bytes()) == 0;
}
bool same(const AttributeMap& a, const AttributeMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    if (x.first != y.first || x.second.index() != y.second.index()) return false;
    return std::visit(
        [&](const auto& value) { return same(value, std::get<std::decay_t<decltype(value)>>(y.second)); },
        x.second);
  });
}

bool same(const syntax::EnumField& a, const syntax::EnumField& b) { return *a.value == *b.value; }
// Precondition: the same attribute of two ops of one kind.
bool same(const syntax::FieldPointer& a, const syntax::FieldPointer& b) {
  return std::visit(
      [&](const auto& x) {
        const auto& y = std::get<std::decay_t<decltype(x)>>(b);
        if constexpr (std::is_pointer_v<std::decay_t<decltype(x)>>)
          return same(*x, *y);
        else
          return same(x, y);
      },
      a);
}

std::string plain_or_quoted(std::string_view name) {
  return syntax::is_plain_name(name) ? std::string(name) : quoted(name);
}

template <typename T, typename F>
std::string list(const std::vector<T>& items, F&& text_of) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    out += text_of(items[i]);
  }
  return out + "]";
}

std::string text_of_int(int64_t value) { return std::to_string(value); }
template <typename T>
std::string text_of_number(T value) {
  return print_number(value);
}

std::string element(const Tensor& t, int64_t i) {
  const size_t k = static_cast<size_t>(i);
  switch (t.dtype()) {
    case DType::kF32: return print_number(t.as<float>()[k]);
    case DType::kF64: return print_number(t.as<double>()[k]);
    case DType::kF16: return print_number(f16_to_f32(t.as<uint16_t>()[k]));
    case DType::kBF16: return print_number(bf16_to_f32(t.as<uint16_t>()[k]));
    case DType::kI8: return std::to_string(t.as<int8_t>()[k]);
    case DType::kU8: return std::to_string(t.as<uint8_t>()[k]);
    case DType::kI16: return std::to_string(t.as<int16_t>()[k]);
    case DType::kU16: return std::to_string(t.as<uint16_t>()[k]);
    case DType::kI32: return std::to_string(t.as<int32_t>()[k]);
    case DType::kU32: return std::to_string(t.as<uint32_t>()[k]);
    case DType::kI64: return std::to_string(t.as<int64_t>()[k]);
    case DType::kU64: return std::to_string(t.as<uint64_t>()[k]);
    case DType::kBool: return t.as<uint8_t>()[k] != 0 ? "1" : "0";
  }
  return "";
}

bool all_elements_equal(const Tensor& t) {
  const size_t width = size_of(t.dtype());
  return t.elements() > 1 && std::memcmp(t.data(), t.data() + width, t.size_bytes() - width) == 0;
}

std::string type_text(DType dtype, const std::optional<Shape>& shape) {
  return fmt::format("{}{}", to_string(dtype), shape ? shape->to_string() : "[*]");
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string elements(const Tensor& t) const {
    if (all_elements_equal(t)) return element(t, 0);  // one number stands for all
    if (t.elements() > options_.constant_elements_max) {
      const std::string_view bytes(reinterpret_cast<const char*>(t.data()), t.size_bytes());
      return "sha256:" + sha256_hex(bytes).substr(0, 16);
    }
    std::string out = "[";
    for (int64_t i = 0; i < t.elements(); ++i) {
      if (i > 0) out += ", ";
      out += element(t, i);
    }
    return out + "]";
  }

  std::string field(int64_t v) const { return std::to_string(v); }
  std::string field(float v) const { return print_number(v); }
  std::string field(bool v) const { return v ? "true" : "false"; }
  std::string field(const std::string& v) const { return quoted(v); }
  std::string field(const std::vector<int64_t>& v) const { return list(v, text_of_int); }
  std::string field(const std::vector<float>& v) const { return list(v, text_of_number<float>); }
  std::string field(DType v) const { return std::string(to_string(v)); }
  std::string field(const ConstTensor& v) const {
    return v ? fmt::format("{} = {}", type_text(v->dtype(), v->shape()), elements(*v)) : "none";
  }
  std::string field(const Activation& v) const {
    std::string out(enum_name(v.kind));
    const Activation standard{v.kind};
    if (!same(v, standard)) out += fmt::format("({}, {})", print_number(v.alpha), print_number(v.beta));
    return out;
  }
  std::string field(const Window& v) const {
    std::vector<std::string> parts;
    const auto add = [&](std::string_view name, const std::vector<int64_t>& values) {
      if (!values.empty()) parts.push_back(fmt::format("{}={}", name, field(values)));
    };
    add("kernel", v.kernel);
    add("strides", v.strides);
    add("dilations", v.dilations);
    add("pads", v.pads);
    if (v.auto_pad != AutoPad::kExplicit) parts.push_back(fmt::format("auto_pad={}", enum_name(v.auto_pad)));
    return "{" + join(parts, ", ") + "}";
  }
  std::string field(const syntax::EnumField& v) const { return std::string(v.names[*v.value]); }
  std::string field(const AttributeMap& map) const {
    std::vector<std::string> parts;
    for (const auto& [name, value] : map) {
      std::string text = std::visit([this](const auto& v) { return attribute(v); }, value);
      parts.push_back(fmt::format("{}={}", plain_or_quoted(name), text));
    }
    return "{" + join(parts, ", ") + "}";
  }

  // Attributes carry a word for their type where the value alone would not tell.
  std::string attribute(int64_t v) const { return std::to_string(v); }
  std::string attribute(double v) const { return "float " + print_number(v); }
  std::string attribute(const std::string& v) const { return quoted(v); }
  std::string attribute(const std::vector<int64_t>& v) const { return "ints " + list(v, text_of_int); }
  std::string attribute(const std::vector<double>& v) const {
    return "floats " + list(v, text_of_number<double>);
  }
  std::string attribute(const std::vector<std::string>& v) const { return "strings " + list(v, quoted); }
  std::string attribute(const ConstTensor& v) const { return "tensor " + field(v); }
  std::string attribute(const EncodedAttribute& v) const { return "encoded " + quoted(v.bytes); }

  std::string field(const syntax::FieldPointer& v) const {
    return std::visit(
        [this](const auto& p) {
          if constexpr (std::is_pointer_v<std::decay_t<decltype(p)>>)
            return field(*p);
          else
            return field(p);
        },
        v);
  }

  // Only what differs from the default is printed.
  std::string attributes(const Op& op) const {
    const Op standard = *syntax::op_named(syntax::op_word(op));
    const std::vector<syntax::Field> fields = syntax::fields_of(op), defaults = syntax::fields_of(standard);
    std::vector<std::string> parts;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (same(fields[i].at, defaults[i].at)) continue;
      parts.push_back(fmt::format("{}={}", fields[i].name, field(fields[i].at)));
    }
    return parts.empty() ? "" : " {" + join(parts, ", ") + "}";
  }

 private:
  const PrintOptions& options_;
};

std::string value_name(const Graph& graph, ValueId id) {
  return id == kNoValue ? "_" : "%" + plain_or_quoted(graph.value(id).name);
}

std::string quant_text(const QuantParams& q) {
  std::string out = fmt::format(" q({}", to_string(q.dtype));
  if (q.bits != static_cast<int>(size_of(q.dtype)) * 8) out += fmt::format(":{}", q.bits);
  if (q.scheme == Scheme::kPow2) return out + fmt::format(" fix{})", q.fix_point());
  const auto int_text = [](int32_t z) { return std::to_string(z); };
  if (q.per_tensor()) {
    out += " " + print_number(q.scale[0]);
    if (q.zero_point[0] != 0) out += fmt::format(" z{}", q.zero_point[0]);
  } else {
    out += fmt::format(" axis{} {}", q.axis, list(q.scale, text_of_number<float>));
    if (!q.symmetric()) out += " z" + list(q.zero_point, int_text);
  }
  return out + ")";
}

std::string declared(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return fmt::format("{} : {}{}", value_name(graph, id), type_text(value.dtype, value.shape),
                     value.quant ? quant_text(*value.quant) : "");
}

std::string node_line(const Graph& graph, const Node& node, const Printer& printer) {
  std::vector<std::string> outputs, inputs;
  for (ValueId id : node.outputs) outputs.push_back(id == kNoValue ? "_" : declared(graph, id));
  for (ValueId id : node.inputs) inputs.push_back(value_name(graph, id));
  return fmt::format("{} = {}({}){}{}\n", join(outputs, ", "), syntax::op_word(node.op), join(inputs, ", "),
                     printer.attributes(node.op), node.name.empty() ? "" : " " + quoted(node.name));
}

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  const Printer printer(options);
  std::string out = fmt::format("graph {}\n", quoted(graph.name));
  for (const auto& [key, value] : graph.metadata)
    out += fmt::format("meta {} = {}\n", quoted(key), quoted(value));
  for (ValueId id : graph.inputs) out += fmt::format("input {}\n", declared(graph, id));
  std::vector<bool> printed(graph.values().size(), false);
  const auto print_constant = [&](ValueId id) {
    if (id == kNoValue || !graph.value(id).is_constant() || printed[index_of(id)]) return;
    printed[index_of(id)] = true;
    out += fmt::format("const {} = {}\n", declared(graph, id), printer.elements(*graph.value(id).constant));
  };
  // A graph in the middle of a rewrite may be out of order; one with a cycle is printed as it stands.
  const Result<std::vector<NodeId>> order = topological_order(graph);
  for (NodeId id : order.ok() ? *order : graph.live_nodes()) {
    const Node& node = graph.node(id);
    for (ValueId input : node.inputs) print_constant(input);  // beside their first use
    out += node_line(graph, node, printer);
  }
  for (uint32_t i = 0; i < graph.values().size(); ++i) print_constant(ValueId{i});
  for (ValueId id : graph.outputs) out += fmt::format("output {}\n", value_name(graph, id));
  return out;
}

bool equal(const Op& a, const Op& b) {
  if (a.index() != b.index()) return false;
  const std::vector<syntax::Field> x = syntax::fields_of(a), y = syntax::fields_of(b);
  return std::equal(x.begin(), x.end(), y.begin(),
                    [](const syntax::Field& p, const syntax::Field& q) { return same(p.at, q.at); });
}

}  // namespace tandem::ir
