// SPDX-License-Identifier: Apache-2.0
// The safetensors format: 8 bytes of header length, a JSON header, raw little-endian tensors. For checkpoints and heads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tandem/base/result.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

std::string to_safetensors(const TensorFile& file);
// Checks lengths, dtypes, shapes and that tensors lie inside the data without overlap.
Result<TensorFile> from_safetensors(std::string_view bytes);

Status save_safetensors(const TensorFile& file, const std::string& path);
Result<TensorFile> load_safetensors(const std::string& path);

}  // namespace tandem
