// SPDX-License-Identifier: Apache-2.0
// Reads the operator names of an ONNX file straight from the wire format, so that the judge counts what the
// file says and not what the importer made of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::ops {

struct ModelNames {
  int64_t opset = 0;                   // of the default domain, or of the only domain that is imported
  std::vector<std::string> operators;  // "Conv", "ai.onnx.ml::Normalizer"; each once, in order of appearance
};

// Whatever can be read; stops at the first byte that makes no sense.
ModelNames model_names(std::string_view bytes);

}  // namespace tandem::ops
