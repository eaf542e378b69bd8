// SPDX-License-Identifier: Apache-2.0
// ModelMaker: small ONNX files for the tests of this room, written without our own exporter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/ir/ops/opaque.hpp"

namespace onnx {
class ModelProto;
}

namespace tandem::onnx_io {

class ModelMaker {
 public:
  explicit ModelMaker(int64_t opset = 17, int64_t ir_version = 8);
  ModelMaker(ModelMaker&&) noexcept;
  ~ModelMaker();
  // A dimension of -1 is symbolic.
  ModelMaker& input(const std::string& name, const std::vector<int64_t>& dims, DType dtype = DType::kF32);
  // Without a shape.
  ModelMaker& output(const std::string& name, DType dtype = DType::kF32);
  ModelMaker& initializer(const std::string& name, const Tensor& tensor);
  ModelMaker& floats(const std::string& name, const std::vector<int64_t>& dims, float value);
  ModelMaker& node(const std::string& op_type, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const ir::AttributeMap& attributes = {},
                   const std::string& name = "", const std::string& domain = "");
  ModelMaker& opset(const std::string& domain, int64_t version);
  onnx::ModelProto& proto() { return *proto_; }
  std::string bytes() const;

 private:
  std::unique_ptr<onnx::ModelProto> proto_;
};

}  // namespace tandem::onnx_io
