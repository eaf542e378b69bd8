// SPDX-License-Identifier: Apache-2.0
// TensorProto and AttributeProto to Tensor and AttributeValue and back; external data stays within the
// model's folder.
#pragma once

#include <map>
#include <string>

#include "tandem/base/file.hpp"
#include "tandem/ir/ops/opaque.hpp"

namespace onnx {
class TensorProto;
class SparseTensorProto;
class AttributeProto;
}  // namespace onnx

namespace tandem::onnx_io {

// Where external data may lie, and the files of it that are open already.
class ExternalData {
 public:
  // Empty: external data is refused.
  explicit ExternalData(std::string base_dir) : base_dir_(std::move(base_dir)) {}
  // `length` bytes from `offset` on; both were stated by the file. Error when the path leaves the folder.
  Result<std::span<const std::byte>> bytes(const std::string& location, uint64_t offset, uint64_t length);

 private:
  std::string base_dir_;
  std::map<std::string, MappedFile> open_;
};

// Errors: kUnsupported for element types that Tandem has not, kBadInput when data and dims disagree.
Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, ExternalData& external);
// Sparse tensors become dense.
Result<Tensor> tensor_from_sparse(const onnx::SparseTensorProto& proto, ExternalData& external);
void tensor_to_proto(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto);

// A place in a file beside the model.
struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
};
// Only says where the data lie.
void external_tensor_to_proto(const Tensor& tensor, const std::string& name, const ExternalPlace& place,
                              onnx::TensorProto& proto);

// Attributes without a plain form (sub-graphs, tensors of strings) stay encoded.
Result<ir::AttributeValue> attribute_from_proto(const onnx::AttributeProto& proto, ExternalData& external);
Status attribute_to_proto(const std::string& name, const ir::AttributeValue& value,
                          onnx::AttributeProto& proto);

}  // namespace tandem::onnx_io
