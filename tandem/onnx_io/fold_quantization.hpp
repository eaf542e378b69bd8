// SPDX-License-Identifier: Apache-2.0
// Quantize/dequantize pairs become QuantParams on values; what cannot fold stays explicit.
#pragma once

#include "tandem/ir/graph.hpp"
#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem::onnx_io {

// metadata key under which the exporter keeps what ONNX cannot say of quantization; see
// fold_quantization.cpp.
inline constexpr const char* kQuantMetadata = "tandem.quant";

// Folds, in node order, by these rules:
//   DequantizeLinear of a constant                  -> a constant with QuantParams.
//   constant -> Quantize -> Dequantize              -> the same, quantized here.
//   node output -> Quantize -> Dequantize, and nothing else reads the node output: the output itself carries
//   QuantParams. anything else -> Quantize -> Dequantize         -> Requantize makes a new value that carries
//   them.
// A pair folds when scale and zero point are constant, valid, and the same on both sides, and the integers
// between are read by nothing else. Consumes kQuantMetadata: names of values that are pow2, narrow, or
// quantized graph inputs.
void fold_quantization(ir::Graph& graph, LoadReport& report);

}  // namespace tandem::onnx_io
