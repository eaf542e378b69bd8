// SPDX-License-Identifier: Apache-2.0
// ModelMaker, kept to plain protobuf calls so that it can testify against the exporter.
#include "tandem/onnx_io/model_maker.hpp"

#include <onnx/onnx_pb.h>

#include "tandem/onnx_io/import.hpp"
#include "tandem/onnx_io/tensor_proto.hpp"

namespace tandem::onnx_io {

ModelMaker::ModelMaker(int64_t opset_version, int64_t ir_version)
    : proto_(std::make_unique<onnx::ModelProto>()) {
  proto_->set_ir_version(ir_version);
  opset("", opset_version);
  proto_->mutable_graph()->set_name("made");
}

ModelMaker::ModelMaker(ModelMaker&&) noexcept = default;
ModelMaker::~ModelMaker() = default;

ModelMaker& ModelMaker::input(const std::string& name, const std::vector<int64_t>& dims, DType dtype) {
  auto& info = *proto_->mutable_graph()->add_input();
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(dtype_to_onnx(dtype)));
  tensor.mutable_shape();
  for (int64_t dim : dims) {
    auto& entry = *tensor.mutable_shape()->add_dim();
    if (dim >= 0)
      entry.set_dim_value(dim);
    else
      entry.set_dim_param("N");
  }
  return *this;
}

ModelMaker& ModelMaker::output(const std::string& name, DType dtype) {
  auto& info = *proto_->mutable_graph()->add_output();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(dtype_to_onnx(dtype)));
  return *this;
}

ModelMaker& ModelMaker::initializer(const std::string& name, const Tensor& tensor) {
  auto& proto = *proto_->mutable_graph()->add_initializer();
  proto.set_name(name);
  proto.set_data_type(static_cast<int32_t>(dtype_to_onnx(tensor.dtype())));
  for (int64_t dim : tensor.shape()) proto.add_dims(dim);
  proto.set_raw_data(tensor.data(), tensor.size_bytes());
  return *this;
}

ModelMaker& ModelMaker::floats(const std::string& name, const std::vector<int64_t>& dims, float value) {
  Tensor tensor(DType::kF32, Shape(dims));
  for (float& x : tensor.as<float>()) x = value;
  return initializer(name, tensor);
}

ModelMaker& ModelMaker::node(const std::string& op_type, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs, const ir::AttributeMap& attributes,
                             const std::string& name, const std::string& domain) {
  auto& proto = *proto_->mutable_graph()->add_node();
  proto.set_op_type(op_type);
  proto.set_name(name);
  proto.set_domain(domain);
  for (const auto& input : inputs) proto.add_input(input);
  for (const auto& output : outputs) proto.add_output(output);
  for (const auto& [key, value] : attributes) attribute_to_proto(key, value, *proto.add_attribute()).value();
  return *this;
}

ModelMaker& ModelMaker::opset(const std::string& domain, int64_t version) {
  auto& import = *proto_->add_opset_import();
  import.set_domain(domain);
  import.set_version(version);
  return *this;
}

std::string ModelMaker::bytes() const { return proto_->SerializeAsString(); }

}  // namespace tandem::onnx_io
