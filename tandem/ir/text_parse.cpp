// SPDX-License-Identifier: Apache-2.0
// Parsing of the text form by recursive descent; every read is bounded by the text.
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

#include "tandem/base/text.hpp"
#include "tandem/ir/ops/rules.hpp"
#include "tandem/ir/text.hpp"
#include "tandem/ir/text_syntax.hpp"

namespace tandem::ir {
namespace {

constexpr int64_t kRepeatedBytesMax = int64_t{256} << 20;  // a few characters must not ask for all memory

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Result<Graph> run();

 private:
  // Characters.
  Error fail(std::string what) const;
  void skip_space();
  char peek();
  bool accept(std::string_view token);
  Status expect(std::string_view token);
  Status open(std::string_view bracket);
  Status close(std::string_view bracket);
  Status end_of_line();
  std::string_view word();
  Result<std::string> string();
  Result<std::string> name();
  template <typename T>
  Result<T> number();
  Status list(const std::function<Status()>& item);

  // Types and tensors.
  Result<DType> dtype();
  Result<std::optional<Shape>> shape();
  Result<QuantParams> quant();
  template <typename T, typename Convert>
  Status elements(Tensor& tensor, bool repeated, Convert&& convert);
  Result<Tensor> tensor_of(DType dtype, const std::optional<Shape>& shape);

  // Attributes.
  Status field(int64_t& v) { return assign(v, number<int64_t>()); }
  Status field(float& v) { return assign(v, number<float>()); }
  Status field(bool& v);
  Status field(std::string& v) { return assign(v, string()); }
  Status field(DType& v) { return assign(v, dtype()); }
  template <typename T>
  Status field(std::vector<T>& v);
  Status field(ConstTensor& v);
  Status field(Activation& v);
  Status field(Window& v);
  Status field(AttributeMap& v);
  Status field(const syntax::EnumField& v);
  template <typename E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
  Status field(E& v) {
    return field(syntax::EnumField{reinterpret_cast<uint8_t*>(&v), EnumNames<E>::names.data(),
                                   EnumNames<E>::names.size()});
  }
  Result<AttributeValue> attribute();
  Status braced(const std::function<Status(const std::string&)>& entry);
  Status fields(Op& op);
  template <typename T>
  Status assign(T& to, Result<T> from) {
    to = TANDEM_TRY(std::move(from));
    return {};
  }

  // Statements.
  Status statement();
  Result<Value> declaration();
  Result<ValueId> reference();
  Status add_value(Value value, ValueId& id);
  Status constant();
  Status node();

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;  // of brackets, inside of which lines do not end statements
  int64_t repeated_bytes_ = 0;
  Graph graph_;
};

Error Parser::fail(std::string what) const {
  const std::string_view before = text_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? at_ + 1 : at_ - newline;
  return bad_input(fmt::format("line {}, column {}: {}", line, column, what));
}

void Parser::skip_space() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return;
      if (depth_ == 0) return;
    } else if (c == '\n' ? depth_ == 0 : c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

char Parser::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Parser::accept(std::string_view token) {
  skip_space();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

Status Parser::expect(std::string_view token) {
  if (accept(token)) return {};
  return fail(fmt::format("expected '{}'", token));
}

Status Parser::open(std::string_view bracket) {
  TANDEM_TRY(expect(bracket));
  ++depth_;
  return {};
}

Status Parser::close(std::string_view bracket) {
  TANDEM_TRY(expect(bracket));
  --depth_;
  return {};
}

Status Parser::end_of_line() {
  skip_space();
  if (at_ < text_.size() && text_[at_] != '\n') return fail("expected the end of the line");
  return {};
}

std::string_view Parser::word() {
  skip_space();
  const size_t start = at_;
  const auto is_word_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

Result<std::string> Parser::string() {
  TANDEM_TRY(expect("\""));
  std::string out;
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = at_ < text_.size() ? text_[at_++] : '\0';
    if (escape == '"' || escape == '\\') {
      out += escape;
    } else if (escape == 'n') {
      out += '\n';
    } else if (escape == 'x' && at_ + 2 <= text_.size()) {
      unsigned byte = 0;
      const char* first = text_.data() + at_;
      if (std::from_chars(first, first + 2, byte, 16).ptr != first + 2)
        return fail("expected two hexadecimal digits");
      out += static_cast<char>(byte);
      at_ += 2;
    } else {
      return fail("unknown escape in a string");
    }
  }
  return fail("a string has no end");
}

Result<std::string> Parser::name() {
  if (peek() == '"') return string();
  const size_t start = at_;
  while (at_ < text_.size() && syntax::is_name_char(text_[at_])) ++at_;
  if (at_ == start) return fail("expected a name");
  return std::string(text_.substr(start, at_ - start));
}

template <typename T>
Result<T> Parser::number() {
  skip_space();
  T value{};
  const char* first = text_.data() + at_;
  const auto [end, code] = std::from_chars(first, text_.data() + text_.size(), value);
  if (code == std::errc::result_out_of_range) return fail("the number is out of range");
  if (code != std::errc()) return fail(std::is_integral_v<T> ? "expected an integer" : "expected a number");
  at_ += static_cast<size_t>(end - first);
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value)
      return std::numeric_limits<T>::quiet_NaN();  // all NaNs print alike, so all read alike
  }
  return value;
}

// [item, item, ...]
Status Parser::list(const std::function<Status()>& item) {
  TANDEM_TRY(open("["));
  if (peek() != ']') {
    do TANDEM_TRY(item());
    while (accept(","));
  }
  return close("]");
}

Result<DType> Parser::dtype() {
  const size_t start = at_;
  const std::optional<DType> found = dtype_from_string(word());
  if (found) return *found;
  at_ = start;
  skip_space();
  return fail("expected an element type such as f32");
}

Result<std::optional<Shape>> Parser::shape() {
  TANDEM_TRY(open("["));
  if (accept("*")) {
    TANDEM_TRY(close("]"));
    return std::optional<Shape>();
  }
  Shape shape;
  if (peek() != ']') {
    do {
      if (shape.rank() == rules::kMaxRank) return fail("the rank is above the limit");
      const int64_t dim = accept("?") ? kDynamic : TANDEM_TRY(number<int64_t>());
      if (dim < kDynamic || (dim == kDynamic && text_[at_ - 1] != '?'))
        return fail("a dimension is negative");
      shape.push_back(dim);
    } while (accept(","));
  }
  if (!rules::check_size(shape).ok()) return fail("the shape is too large");
  TANDEM_TRY(close("]"));
  return std::optional<Shape>(std::move(shape));
}

Result<QuantParams> Parser::quant() {
  TANDEM_TRY(open("("));
  QuantParams q;
  q.dtype = TANDEM_TRY(dtype());
  q.bits = static_cast<int>(size_of(q.dtype)) * 8;
  if (accept(":")) q.bits = TANDEM_TRY(number<int>());
  if (accept("fix")) {
    const int fix_point = TANDEM_TRY(number<int>());
    if (fix_point < -100 || fix_point > 100) return fail("the fix point is outside [-100, 100]");
    q = QuantParams::pow2(fix_point, q.dtype, q.bits);
  } else if (accept("axis")) {
    q.axis = TANDEM_TRY(number<int64_t>());
    if (q.axis < 0) return fail("the axis is negative");
    TANDEM_TRY(field(q.scale));
    q.zero_point.assign(q.scale.size(), 0);
    if (accept("z")) TANDEM_TRY(field(q.zero_point));
  } else {
    q.scale = {TANDEM_TRY(number<float>())};
    if (accept("z")) q.zero_point = {TANDEM_TRY(number<int32_t>())};
  }
  TANDEM_TRY(close(")"));
  if (const Status valid = tandem::verify(q, kDynamic); !valid.ok()) return fail(valid.error().what());
  return q;
}

template <typename T, typename Convert>
Status Parser::elements(Tensor& tensor, bool repeated, Convert&& convert) {
  using Stored = decltype(convert(T{}));
  const std::span<Stored> to(reinterpret_cast<Stored*>(tensor.data()),
                             static_cast<size_t>(tensor.elements()));
  if (repeated) {
    std::fill(to.begin(), to.end(), convert(TANDEM_TRY(number<T>())));
    return {};
  }
  size_t i = 0;
  const Status listed = list([&]() -> Status {
    if (i == to.size()) return fail(fmt::format("more than {} elements", to.size()));
    to[i++] = convert(TANDEM_TRY(number<T>()));
    return {};
  });
  if (!listed.ok()) return listed;
  if (i < to.size()) return fail(fmt::format("{} elements, expected {}", i, to.size()));
  return {};
}

Result<Tensor> Parser::tensor_of(DType dtype, const std::optional<Shape>& shape) {
  if (!shape || !shape->is_static()) return fail("a constant needs a static shape");
  if (accept("sha256:"))
    return fail("the constant was printed as a hash of its elements and cannot be read back");
  const int64_t count = shape->elements();
  const bool repeated = peek() != '[';
  if (repeated) {
    repeated_bytes_ +=
        count <= kRepeatedBytesMax ? count * static_cast<int64_t>(size_of(dtype)) : kRepeatedBytesMax + 1;
    if (repeated_bytes_ > kRepeatedBytesMax) return fail("the constants written as one number are too large");
  } else if (count > static_cast<int64_t>(text_.size() - at_)) {
    return fail(fmt::format("fewer than {} elements", count));
  }
  Tensor tensor(dtype, *shape);
  const auto as_is = [](auto v) { return v; };
  Status status;
  switch (dtype) {
    case DType::kF32: status = elements<float>(tensor, repeated, as_is); break;
    case DType::kF64: status = elements<double>(tensor, repeated, as_is); break;
    case DType::kF16: status = elements<float>(tensor, repeated, f32_to_f16); break;
    case DType::kBF16: status = elements<float>(tensor, repeated, f32_to_bf16); break;
    case DType::kI8: status = elements<int8_t>(tensor, repeated, as_is); break;
    case DType::kU8: status = elements<uint8_t>(tensor, repeated, as_is); break;
    case DType::kI16: status = elements<int16_t>(tensor, repeated, as_is); break;
    case DType::kU16: status = elements<uint16_t>(tensor, repeated, as_is); break;
    case DType::kI32: status = elements<int32_t>(tensor, repeated, as_is); break;
    case DType::kU32: status = elements<uint32_t>(tensor, repeated, as_is); break;
    case DType::kI64: status = elements<int64_t>(tensor, repeated, as_is); break;
    case DType::kU64: status = elements<uint64_t>(tensor, repeated, as_is); break;
    case DType::kBool:
      status = elements<int>(tensor, repeated, [](int v) { return static_cast<uint8_t>(v != 0); });
      break;
  }
  TANDEM_TRY(std::move(status));
  return tensor;
}

Status Parser::field(bool& v) {
  const std::string_view text = word();
  if (text != "true" && text != "false") return fail("expected true or false");
  v = text == "true";
  return {};
}

template <typename T>
Status Parser::field(std::vector<T>& v) {
  v.clear();
  return list([&]() -> Status {
    if constexpr (std::is_same_v<T, std::string>)
      v.push_back(TANDEM_TRY(string()));
    else
      v.push_back(TANDEM_TRY(number<T>()));
    return {};
  });
}

Status Parser::field(ConstTensor& v) {
  v = nullptr;
  if (accept("none")) return {};
  const DType type = TANDEM_TRY(dtype());
  const std::optional<Shape> dims = TANDEM_TRY(shape());
  TANDEM_TRY(expect("="));
  v = std::make_shared<const Tensor>(TANDEM_TRY(tensor_of(type, dims)));
  return {};
}

Status Parser::field(const syntax::EnumField& v) {
  const std::string text(word());
  for (size_t i = 0; i < v.count; ++i) {
    if (v.names[i] != text) continue;
    *const_cast<uint8_t*>(v.value) =
        static_cast<uint8_t>(i);  // it belongs to an op of ours, which is not const
    return {};
  }
  const std::vector<std::string> known(v.names, v.names + v.count);
  return fail(fmt::format("unknown word '{}'", text)).hint(did_you_mean(text, known));
}

Status Parser::field(Activation& v) {
  v = {};
  TANDEM_TRY(field(v.kind));
  if (peek() != '(') return {};
  TANDEM_TRY(open("("));
  v.alpha = TANDEM_TRY(number<float>());
  TANDEM_TRY(expect(","));
  v.beta = TANDEM_TRY(number<float>());
  return close(")");
}

// {name=..., name=...}; calls entry(name) with the value next.
Status Parser::braced(const std::function<Status(const std::string&)>& entry) {
  TANDEM_TRY(open("{"));
  if (peek() != '}') {
    do {
      const std::string key = TANDEM_TRY(name());
      TANDEM_TRY(expect("="));
      TANDEM_TRY(entry(key));
    } while (accept(","));
  }
  return close("}");
}

Status Parser::field(Window& v) {
  v = {};
  return braced([&](const std::string& key) -> Status {
    if (key == "kernel") return field(v.kernel);
    if (key == "strides") return field(v.strides);
    if (key == "dilations") return field(v.dilations);
    if (key == "pads") return field(v.pads);
    if (key == "auto_pad") return field(v.auto_pad);
    return fail(fmt::format("a window has no '{}'", key));
  });
}

Result<AttributeValue> Parser::attribute() {
  const auto read = [this](auto value) -> Result<AttributeValue> {
    TANDEM_TRY(field(value));
    return AttributeValue(std::move(value));
  };
  if (peek() == '"') return read(std::string());
  if (accept("ints")) return read(std::vector<int64_t>());
  if (accept("floats")) return read(std::vector<double>());
  if (accept("float")) return AttributeValue(TANDEM_TRY(number<double>()));
  if (accept("strings")) return read(std::vector<std::string>());
  if (accept("tensor")) return read(ConstTensor());
  if (accept("encoded")) return AttributeValue(EncodedAttribute{TANDEM_TRY(string())});
  return AttributeValue(TANDEM_TRY(number<int64_t>()));
}

Status Parser::field(AttributeMap& v) {
  v.clear();
  return braced([&](const std::string& key) -> Status {
    if (v.count(key) > 0) return fail(fmt::format("attribute '{}' is given twice", key));
    v.emplace(key, TANDEM_TRY(attribute()));
    return {};
  });
}

Status Parser::fields(Op& op) {
  const std::vector<syntax::Field> fields = syntax::fields_of(op);
  return braced([&](const std::string& key) -> Status {
    std::vector<std::string> known;
    for (const syntax::Field& candidate : fields) {
      known.emplace_back(candidate.name);
      if (candidate.name != key) continue;
      return std::visit(
          [this](const auto& at) {
            using T = std::decay_t<decltype(at)>;
            if constexpr (!std::is_pointer_v<T>)
              return field(at);
            else
              return field(
                  *const_cast<std::remove_const_t<std::remove_pointer_t<T>>*>(at));  // op is not const
          },
          candidate.at);
    }
    return fail(fmt::format("{} has no attribute '{}'", syntax::op_word(op), key))
        .hint(did_you_mean(key, known));
  });
}

Result<Value> Parser::declaration() {
  TANDEM_TRY(expect("%"));
  Value value;
  value.name = TANDEM_TRY(name());
  if (value.name.empty()) return fail("a value needs a name");
  TANDEM_TRY(expect(":"));
  value.dtype = TANDEM_TRY(dtype());
  value.shape = TANDEM_TRY(shape());
  if (accept("q")) value.quant = TANDEM_TRY(quant());
  return value;
}

Status Parser::add_value(Value value, ValueId& id) {
  if (graph_.find_value(value.name) != kNoValue)
    return fail(fmt::format("value '{}' is declared twice", value.name));
  id = graph_.add_value(std::move(value));
  return {};
}

Result<ValueId> Parser::reference() {
  TANDEM_TRY(expect("%"));
  const std::string wanted = TANDEM_TRY(name());
  const ValueId id = graph_.find_value(wanted);
  if (id == kNoValue) return fail(fmt::format("value '{}' is not declared before this", wanted));
  return id;
}

Status Parser::constant() {
  Value value = TANDEM_TRY(declaration());
  TANDEM_TRY(expect("="));
  value.constant = std::make_shared<const Tensor>(TANDEM_TRY(tensor_of(value.storage(), value.shape)));
  ValueId id;
  return add_value(std::move(value), id);
}

Status Parser::node() {
  std::vector<std::optional<Value>> outputs;
  do {
    if (accept("_"))
      outputs.emplace_back();
    else
      outputs.push_back(TANDEM_TRY(declaration()));
  } while (accept(","));
  TANDEM_TRY(expect("="));
  Node node;
  const std::string op_word(word());
  std::optional<Op> op = syntax::op_named(op_word);
  if (!op)
    return fail(fmt::format("unknown op '{}'", op_word)).hint(did_you_mean(op_word, syntax::op_names()));
  node.op = *std::move(op);
  TANDEM_TRY(open("("));
  if (peek() != ')') {
    do node.inputs.push_back(accept("_") ? kNoValue : TANDEM_TRY(reference()));
    while (accept(","));
  }
  TANDEM_TRY(close(")"));
  if (peek() == '{') TANDEM_TRY(fields(node.op));
  if (peek() == '"') node.name = TANDEM_TRY(string());
  for (std::optional<Value>& output : outputs) {
    ValueId id = kNoValue;
    if (output) TANDEM_TRY(add_value(*std::move(output), id));
    node.outputs.push_back(id);
  }
  graph_.add_node(std::move(node));
  return {};
}

Status Parser::statement() {
  const char first = peek();
  if (first == '%' || first == '_') return node();
  const std::string keyword(word());
  if (keyword == "graph") return assign(graph_.name, string());
  if (keyword == "const") return constant();
  if (keyword == "meta") {
    const std::string key = TANDEM_TRY(string());
    TANDEM_TRY(expect("="));
    if (graph_.metadata.count(key) > 0) return fail(fmt::format("metadata '{}' is given twice", key));
    return assign(graph_.metadata[key], string());
  }
  if (keyword == "input") {
    Value value = TANDEM_TRY(declaration());
    ValueId id;
    TANDEM_TRY(add_value(std::move(value), id));
    graph_.inputs.push_back(id);
    return {};
  }
  if (keyword == "output") {
    graph_.outputs.push_back(TANDEM_TRY(reference()));
    return {};
  }
  return fail(fmt::format("unknown statement '{}'", keyword))
      .hint(did_you_mean(keyword, {"graph", "meta", "input", "const", "output"}));
}

Result<Graph> Parser::run() {
  while (true) {
    const char next = peek();
    if (at_ >= text_.size()) break;
    if (next == '\n') {
      ++at_;
      continue;
    }
    TANDEM_TRY(statement());
    TANDEM_TRY(end_of_line());
  }
  return std::move(graph_);
}

}  // namespace

Result<Graph> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace tandem::ir
