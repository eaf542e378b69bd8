// SPDX-License-Identifier: Apache-2.0
// Layers of the networks that matter, one convolution per executable, f32 and u8 x s8; and the head step.
// Names carry the shape: BM_Conv/<type>/<batch>x<in>x<height>x<width>_o<out>k<kernel>s<stride>g<group>.
#include <benchmark/benchmark.h>

#include "tandem/exec/executable.hpp"
#include "tandem/exec/isa.hpp"
#include "tandem/exec/linear_train.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::exec {
namespace {

struct Layer {
  int64_t in, size, out, kernel, stride, group;
};
constexpr Layer kLayers[] = {
    {3, 224, 64, 7, 2, 1},   {64, 56, 64, 3, 1, 1},     {256, 14, 256, 3, 1, 1},   {512, 7, 512, 3, 1, 1},
    {32, 112, 16, 1, 1, 1},  {96, 14, 576, 1, 1, 1},    {576, 14, 96, 1, 1, 1},    {320, 7, 1280, 1, 1, 1},
    {32, 112, 32, 3, 1, 32}, {144, 56, 144, 3, 1, 144}, {672, 14, 672, 5, 1, 672}, {144, 56, 144, 5, 2, 144},
};

ir::Graph layer_graph(const Layer& l, int64_t batch, bool quantized) {
  testing::GraphBuilder b;
  Rng rng(1);
  const ir::ValueId x = b.input("x", {batch, l.in, l.size, l.size});
  ir::Conv conv;
  const int64_t pad = l.kernel / 2;
  conv.window.kernel = {l.kernel, l.kernel};
  conv.window.strides = {l.stride, l.stride};
  conv.window.pads = {pad, pad, pad, pad};
  conv.group = l.group;
  conv.activation = {ir::ActivationKind::kClip, 0, 6};
  Tensor w = testing::random_tensor(rng, DType::kF32, {l.out, l.in / l.group, l.kernel, l.kernel});
  ir::ValueId weights = ir::kNoValue;
  if (quantized) {
    const QuantParams q = QuantParams::affine_per_axis(
        DType::kI8, 0, std::vector<float>(static_cast<size_t>(l.out), 1.0f / 127));
    weights = b.graph().add_constant("w", std::make_shared<const Tensor>(quantize(w.view(), q)), q);
  } else {
    weights = b.constant(std::move(w));
  }
  // A first and a last op take the layout changes, which then are not in the layer's own time.
  ir::Pool first;
  first.window.kernel = {1, 1};
  const ir::ValueId start = b.add(first, {x}, "first");
  const ir::ValueId y =
      b.add(conv, {start, weights, b.constant(testing::random_tensor(rng, DType::kF32, {l.out}))}, "layer");
  if (quantized) {
    b.graph().value(x).quant = b.graph().value(start).quant = QuantParams::affine(DType::kU8, 1.0f / 255, 0);
    b.graph().value(y).quant = QuantParams::affine(DType::kU8, 6.0f / 255, 0);
  }
  b.output(b.add(ir::GlobalPool{}, {y}));
  if (quantized) b.graph().value(b.graph().outputs[0]).quant = QuantParams::affine(DType::kU8, 6.0f / 255, 0);
  return b.finish();
}

void run_layer(benchmark::State& state, Layer layer, int64_t batch, bool quantized) {
  const ir::Graph g = layer_graph(layer, batch, quantized);
  CompileOptions options;
  options.profile = true;
  Executable e = Executable::compile(g, options).value();
  Tensor x(quantized ? DType::kU8 : DType::kF32, {batch, layer.in, layer.size, layer.size});
  const std::vector<TensorView> in{x.view()};
  std::vector<Tensor> out;
  out.emplace_back(quantized ? DType::kU8 : DType::kF32, Shape{batch, layer.out, 1, 1});
  for (auto _ : state) TANDEM_CHECK(e.run_into(in, out).ok());
  for (const NodeReport& r : e.report()) {
    if (r.name != "layer") continue;
    state.SetLabel(r.implementation);
    state.counters["layer_us"] = static_cast<double>(r.ns) / 1e3 / static_cast<double>(r.calls);
    state.counters["gop_per_s"] =
        2.0 * static_cast<double>(r.macs) * static_cast<double>(r.calls) / static_cast<double>(r.ns);
  }
}

void run_head(benchmark::State& state, int64_t inputs, int64_t classes, int64_t batch) {
  Rng rng(1);
  HeadTrainer trainer({make_linear(inputs, classes, AdamW{}, rng)}, HiddenActivation::kNone, AdamW{});
  Tensor samples(DType::kF32, Shape{batch, inputs});
  const std::span<float> x = samples.as<float>();
  for (float& v : x) v = static_cast<float>(rng.normal());
  std::vector<int32_t> labels(static_cast<size_t>(batch));
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int32_t>(i % static_cast<size_t>(classes));
  for (auto _ : state) benchmark::DoNotOptimize(trainer.step(x, labels));
}

const bool registered = [] {
  for (const bool quantized : {false, true}) {
    for (const Layer& l : kLayers) {
      for (const int64_t batch : {1, 4}) {
        const std::string name = fmt::format("BM_Conv/{}/{}x{}x{}x{}_o{}k{}s{}g{}", quantized ? "u8" : "f32",
                                             batch, l.in, l.size, l.size, l.out, l.kernel, l.stride, l.group);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& s) { run_layer(s, l, batch, quantized); });
      }
    }
  }
  for (const int64_t batch : {1, 4, 16}) {
    for (const int64_t classes : {10, 100}) {
      benchmark::RegisterBenchmark(fmt::format("BM_HeadStep/adamw/{}x1280x{}", batch, classes).c_str(),
                                   [=](benchmark::State& s) { run_head(s, 1280, classes, batch); });
    }
  }
  benchmark::AddCustomContext("isa", isa().effective + ", rows " + isa().rows);
  return true;
}();

}  // namespace
}  // namespace tandem::exec
