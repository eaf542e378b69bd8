// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either load or give an error, and what loads can be written and loads again.
// Seeds are made here by the exporter, so the corpus needs no files. Bytes that begin with 'M' (which no
// model does) are a script instead: it changes fields of a seed through protobuf's reflection, to get past
// the outer structure.
#include <google/protobuf/message.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem {
namespace {

struct Maker {
  ir::Graph graph;
  ir::ValueId input(Shape shape) { return graph.add_input({.name = "x", .shape = std::move(shape)}); }
  ir::ValueId add(ir::Op op, std::vector<ir::ValueId> inputs,
                  std::optional<QuantParams> quant = std::nullopt) {
    const ir::ValueId id = graph.add_value({.quant = std::move(quant)});
    graph.add_node({.op = std::move(op), .inputs = std::move(inputs), .outputs = {id}});
    return id;
  }
  ir::ValueId integers(std::vector<int64_t> values) {
    return graph.add_constant("i", Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
  }
  std::string bytes(ir::ValueId output) {
    graph.outputs = {output};
    return onnx_io::to_bytes(graph).value();
  }
};

std::string quantized_network() {
  Maker m;
  const auto x =
      m.add(ir::Requantize{}, {m.input(Shape{kDynamic, 2, 5, 5})}, QuantParams::affine(DType::kU8, 0.5f, 7));
  const auto w = m.graph.add_constant("w", std::make_shared<const Tensor>(DType::kI8, Shape{4, 2, 3, 3}),
                                      QuantParams::affine_per_axis(DType::kI8, 0, {1, 2, 3, 4}));
  const auto b = m.graph.add_constant("b", std::make_shared<const Tensor>(DType::kI32, Shape{4}),
                                      QuantParams::affine_per_axis(DType::kI32, 0, {1, 2, 3, 4}));
  const auto c =
      m.add(ir::Conv{.window = {.pads = {0, 0, 1, 1}}, .activation = {ir::ActivationKind::kClip, 0, 6}},
            {x, w, b}, QuantParams::affine(DType::kU8, 0.25f, 0));
  const auto p = m.add(ir::GlobalPool{}, {c}, QuantParams::affine(DType::kU8, 0.125f, 0));
  const auto f = m.add(ir::Flatten{1}, {p}, QuantParams::affine(DType::kU8, 0.125f, 0));
  const auto fc = m.graph.add_constant("fc", Tensor(DType::kF32, Shape{4, 3}));
  return m.bytes(m.add(ir::Softmax{}, {m.add(ir::Gemm{}, {f, fc})}));
}

std::string shape_computation() {
  Maker m;
  const auto x = m.input(Shape{kDynamic, 4, 6, 6});
  const auto batch = m.add(ir::Slice{}, {m.add(ir::ShapeOf{}, {x}), m.integers({0}), m.integers({1})});
  const auto shape = m.add(ir::Concat{0}, {batch, m.integers({-1})});
  const auto flat = m.add(ir::Reshape{}, {x, shape});
  return m.bytes(
      m.add(ir::Reduce{ir::ReduceKind::kMean}, {m.add(ir::Transpose{{1, 0}}, {flat}), m.integers({1})}));
}

std::string odds_and_ends() {
  Maker m;
  const auto x = m.input(Shape{1, 4, 6, 6});
  const auto pool = m.add(
      ir::Pool{.window = {.kernel = {3, 3}, .strides = {2, 2}, .auto_pad = ir::AutoPad::kSameUpper}}, {x});
  const auto pad = m.add(ir::Pad{}, {pool, m.integers({0, 0, 1, 1, 0, 0, 1, 1})});
  const auto scales = m.graph.add_constant("s", Tensor::of<float>(Shape{4}, {1, 1, 2, 2}));
  const auto resized = m.add(ir::Resize{}, {pad, ir::kNoValue, scales});
  const auto picked = m.add(ir::Gather{1}, {resized, m.integers({0, 3})});
  ir::Opaque opaque{.domain = "com.acme", .op_type = "Magic", .version = 2};
  opaque.attributes = {
      {"a", 0.5}, {"b", int64_t{3}}, {"c", std::string("text")}, {"d", std::vector<int64_t>{1, 2}}};
  return m.bytes(m.add(std::move(opaque), {m.add(ir::Cast{DType::kF16}, {picked})}));
}

constexpr size_t kSeeds = 3;
std::string seed(size_t index) {
  return index == 0 ? quantized_network() : index == 1 ? shape_computation() : odds_and_ends();
}

class Script {
 public:
  Script(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool done() const { return at_ >= size_; }
  size_t next() { return done() ? 0 : data_[at_++]; }
  size_t below(size_t bound) { return bound == 0 ? 0 : (next() * 256 + next()) % bound; }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

class FieldChanger {
 public:
  FieldChanger(onnx::ModelProto& model, Script& script) : model_(model), script_(script) {
    for (const auto& node : model.graph().node()) {
      names_.insert(names_.end(), node.input().begin(), node.input().end());
      names_.insert(names_.end(), node.output().begin(), node.output().end());
      names_.push_back(node.op_type());
    }
    for (const char* op : {"Conv", "Reshape", "Gemm", "MaxPool", "Slice", "Resize", "Pad", "Split", "TopK",
                           "Upsample", "OneHot", "QuantizeLinear", "DequantizeLinear", "BatchNormalization",
                           "Einsum", "Range", "ConstantOfShape", ""}) {
      names_.emplace_back(op);
    }
  }

  void change() {
    google::protobuf::Message* message = &model_;
    if (script_.below(8) != 0) message = model_.mutable_graph();  // the envelope is soon known
    for (int depth = 0; depth < 12; ++depth) {
      const auto* reflection = message->GetReflection();
      std::vector<const google::protobuf::FieldDescriptor*> fields;
      reflection->ListFields(*message, &fields);
      if (fields.empty() || script_.below(12) == 0) return change_any(*message);
      const auto* field = fields[script_.below(fields.size())];
      if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE)
        return change_field(*message, field);
      if (!field->is_repeated()) {
        message = reflection->MutableMessage(message, field);
        continue;
      }
      const int size = reflection->FieldSize(*message, field);
      const int index = static_cast<int>(script_.below(static_cast<size_t>(size)));
      switch (script_.below(10)) {
        case 0: return reflection->RemoveLast(message, field);
        case 1:
          return reflection->SwapElements(message, field, index,
                                          static_cast<int>(script_.below(static_cast<size_t>(size))));
        case 2: {
          google::protobuf::Message* copy = reflection->AddMessage(message, field);
          copy->CopyFrom(reflection->GetRepeatedMessage(*message, field, index));
          message = copy;
          break;
        }
        default: message = reflection->MutableRepeatedMessage(message, field, index);
      }
    }
  }

 private:
  // A field that need not be set yet.
  void change_any(google::protobuf::Message& message) {
    const auto* descriptor = message.GetDescriptor();
    if (descriptor->field_count() == 0) return;
    change_field(
        message,
        descriptor->field(static_cast<int>(script_.below(static_cast<size_t>(descriptor->field_count())))));
  }

  int64_t number() {
    static constexpr int64_t kNumbers[] = {
        0,  1,  2,  3,  4,   5,   6,   7,     8,         9,         10,        11,        13,
        16, 64, -1, -2, 127, 128, 255, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t{1} << 40};
    return kNumbers[script_.below(std::size(kNumbers))];
  }

  template <typename Set, typename Add>
  void put(google::protobuf::Message& message, const google::protobuf::FieldDescriptor* field, Set set,
           Add add) {
    const auto* reflection = message.GetReflection();
    if (!field->is_repeated()) return set(reflection);
    const int size = reflection->FieldSize(message, field);
    if (size > 0 && script_.below(4) == 0) return reflection->RemoveLast(&message, field);
    add(reflection,
        size > 0 && script_.below(3) != 0 ? static_cast<int>(script_.below(static_cast<size_t>(size))) : -1);
  }

  void change_field(google::protobuf::Message& message, const google::protobuf::FieldDescriptor* field) {
    using Field = google::protobuf::FieldDescriptor;
    using Reflection = google::protobuf::Reflection;
    if (script_.below(8) == 0) return message.GetReflection()->ClearField(&message, field);
    switch (field->cpp_type()) {
      case Field::CPPTYPE_INT32: {
        const int32_t v = static_cast<int32_t>(number());
        return put(
            message, field, [&](const Reflection* r) { r->SetInt32(&message, field, v); },
            [&](const Reflection* r, int i) {
              i < 0 ? r->AddInt32(&message, field, v) : r->SetRepeatedInt32(&message, field, i, v);
            });
      }
      case Field::CPPTYPE_INT64: {
        const int64_t v = number();
        return put(
            message, field, [&](const Reflection* r) { r->SetInt64(&message, field, v); },
            [&](const Reflection* r, int i) {
              i < 0 ? r->AddInt64(&message, field, v) : r->SetRepeatedInt64(&message, field, i, v);
            });
      }
      case Field::CPPTYPE_FLOAT: {
        const float v = static_cast<float>(number()) / 3;
        return put(
            message, field, [&](const Reflection* r) { r->SetFloat(&message, field, v); },
            [&](const Reflection* r, int i) {
              i < 0 ? r->AddFloat(&message, field, v) : r->SetRepeatedFloat(&message, field, i, v);
            });
      }
      case Field::CPPTYPE_STRING: {
        std::string v = names_[script_.below(names_.size())];
        if (script_.below(6) == 0) v = std::string(script_.below(40), static_cast<char>(script_.next()));
        return put(
            message, field, [&](const Reflection* r) { r->SetString(&message, field, v); },
            [&](const Reflection* r, int i) {
              i < 0 ? r->AddString(&message, field, v) : r->SetRepeatedString(&message, field, i, v);
            });
      }
      case Field::CPPTYPE_ENUM:
        if (!field->is_repeated()) {
          const auto* type = field->enum_type();
          message.GetReflection()->SetEnum(
              &message, field,
              type->value(static_cast<int>(script_.below(static_cast<size_t>(type->value_count())))));
        }
        return;
      default: return;
    }
  }

  onnx::ModelProto& model_;
  Script& script_;
  std::vector<std::string> names_;
};

std::string scripted(const uint8_t* data, size_t size) {
  static const std::vector<std::string> seeds = {seed(0), seed(1), seed(2)};
  Script script(data, size);
  onnx::ModelProto model;
  if (!model.ParseFromString(seeds[script.next() % kSeeds])) std::abort();
  for (int changes = 0; !script.done() && changes < 16; ++changes) FieldChanger(model, script).change();
  return model.SerializeAsString();
}

}  // namespace
}  // namespace tandem

extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes) {
  if (index >= 2 * tandem::kSeeds) return false;
  std::string seed = index < tandem::kSeeds ? tandem::seed(index) : "M";
  for (size_t i = 0; index >= tandem::kSeeds && i < 40; ++i)
    seed.push_back(static_cast<char>(index - tandem::kSeeds + 37 * i));
  bytes->assign(seed.begin(), seed.end());
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] == 'M') bytes = tandem::scripted(data + 1, size - 1);
  const auto graph = tandem::onnx_io::load_bytes(bytes);
  if (!graph.ok()) return 0;
  const auto written = tandem::onnx_io::to_bytes(*graph);
  if (!written.ok()) return 0;  // ONNX cannot say it, and the error says why.
  const auto again = tandem::onnx_io::load_bytes(*written);
  if (!again.ok()) {
    std::fprintf(stderr, "written, but refused: %s\n", again.error().message().c_str());
    std::abort();
  }
  return 0;
}
