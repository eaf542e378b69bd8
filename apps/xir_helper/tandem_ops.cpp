// SPDX-License-Identifier: Apache-2.0
// Definitions of the XIR ops "tandem.*": operators that XIR 2.5 lacks. libxir loads this library
// (OPS_LIBRARY) and writes the definitions into every file, so that such a file opens wherever libxir is.
// Inputs are what the op of the IR has; the output is what the attributes say.
#include <mutex>
#include <utility>
#include <xir/op/op.hpp>
#include <xir/op/op_def.hpp>
#include <xir/tensor/tensor.hpp>

#include "tandem/ir/op.hpp"

namespace tandem::xir_helper {
namespace {

// The tensor keeps the name that libxir gave it, which is the op's.
void infer_from_attributes(xir::Op* op) {
  auto tensor = xir::Tensor::create(op->get_name(), op->get_attr<std::vector<int32_t>>("shape"),
                                    xir::DataType(op->get_attr<std::string>("data_type")));
  op->replace_output_tensor(std::move(tensor));
}

void define(xir::OpDefFactory* factory, std::string_view name) {
  xir::OpDef definition("tandem." + std::string(name));
  definition
      .add_input_arg(xir::OpArgDef{"input", xir::OpArgDef::REPEATED, xir::DataType::FLOAT,
                                   "the inputs of the operator, in its order"})
      .add_attr(xir::AttrDefBuilder<std::vector<int>>::build("shape", xir::AttrDef::REQUIRED, 0,
                                                             "the shape of the output"))
      .add_attr(xir::AttrDefBuilder<std::string>::build("data_type", xir::AttrDef::REQUIRED,
                                                        "the element type of the output"))
      .add_attr(xir::AttrDefBuilder<std::string>::build("tandem.text", xir::AttrDef::REQUIRED,
                                                        "the operator in the text form of Tandem's IR"))
      .set_annotation("An operator that XIR has no form of. Runs on the CPU.")
      .set_shape_infer(infer_from_attributes);
  factory->register_h(definition);
}

template <size_t... I>
void define_all(xir::OpDefFactory* factory, std::index_sequence<I...>) {
  (define(factory, std::variant_alternative_t<I, ir::AnyOp>::kName), ...);
}

}  // namespace
}  // namespace tandem::xir_helper

// The entry that libxir looks for.
extern "C" void register_ops(xir::OpDefFactory* factory);
void register_ops(xir::OpDefFactory* factory) {
  using tandem::ir::AnyOp;
  tandem::xir_helper::define_all(factory, std::make_index_sequence<std::variant_size_v<AnyOp>>());
  for (const std::string_view name : tandem::ir::EnumNames<tandem::ir::UnaryKind>::names)
    tandem::xir_helper::define(factory, name);
  for (const std::string_view name : tandem::ir::EnumNames<tandem::ir::BinaryKind>::names)
    tandem::xir_helper::define(factory, name);
}
