// SPDX-License-Identifier: Apache-2.0
// Says what a file that is no readable ONNX model is instead, or where it is cut off.
#pragma once

#include <string_view>

#include "tandem/base/result.hpp"

namespace tandem::onnx_io {

// Ok for bytes that look like a whole protobuf message. Errors: empty, a git-lfs pointer, an HTML page,
// another known format, no protobuf, or truncated (with the byte offset).
Status check_file_kind(std::string_view bytes);

}  // namespace tandem::onnx_io
