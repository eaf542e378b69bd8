// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either load or give an error, and what loads can be written and loads again.
// Seeds are made here by the exporter, so the corpus needs no files.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

}  // namespace
}  // namespace tandem

extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes) {
  if (index > 2) return false;
  const std::string seed = index == 0   ? tandem::quantized_network()
                           : index == 1 ? tandem::shape_computation()
                                        : tandem::odds_and_ends();
  bytes->assign(seed.begin(), seed.end());
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = tandem::onnx_io::load_bytes({reinterpret_cast<const char*>(data), size});
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
