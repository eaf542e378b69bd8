// SPDX-License-Identifier: Apache-2.0
// Names become ids, constants become tensors, nodes go through their importers in topological order.
#include "tandem/onnx_io/build_graph.hpp"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tandem/onnx_io/dimension_names.hpp"
#include "tandem/onnx_io/import.hpp"
#include "tandem/onnx_io/inline_functions.hpp"

namespace tandem::onnx_io {
namespace {

using ir::ValueId;

struct FileNodeRef {
  const onnx::NodeProto* proto;
  const OpsetMap* opsets;
  std::vector<std::string> captures;  // outer values that its sub-graphs read
};

std::string label(const onnx::NodeProto& node) {
  if (!node.name().empty()) return fmt::format("node '{}' ({})", node.name(), node.op_type());
  if (node.output_size() > 0) return fmt::format("the {} that makes '{}'", node.op_type(), node.output(0));
  return "a nameless " + node.op_type();
}

// Names that a sub-graph reads and does not define itself.
void collect_captures(const onnx::GraphProto& graph, const std::unordered_set<std::string>& outer_scope,
                      std::set<std::string>& captures) {
  std::unordered_set<std::string> own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const auto& node : graph.node()) own.insert(node.output().begin(), node.output().end());
  const auto read = [&](const std::string& name) {
    if (!name.empty() && own.count(name) == 0 && outer_scope.count(name) == 0) captures.insert(name);
  };
  for (const auto& output : graph.output()) read(output.name());
  std::unordered_set<std::string> scope = outer_scope;
  scope.insert(own.begin(), own.end());
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) read(input);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_captures(attribute.g(), scope, captures);
      for (const auto& inner : attribute.graphs()) collect_captures(inner, scope, captures);
    }
  }
}

bool has_nan(const Tensor& tensor) {
  const auto any = [](auto values, auto is_nan) {
    for (auto v : values) {
      if (is_nan(v)) return true;
    }
    return false;
  };
  switch (tensor.dtype()) {
    case DType::kF32: return any(tensor.as<float>(), [](float v) { return std::isnan(v); });
    case DType::kF64: return any(tensor.as<double>(), [](double v) { return std::isnan(v); });
    case DType::kF16: return any(tensor.as<uint16_t>(), [](uint16_t v) { return std::isnan(f16_to_f32(v)); });
    case DType::kBF16:
      return any(tensor.as<uint16_t>(), [](uint16_t v) { return std::isnan(bf16_to_f32(v)); });
    default: return false;
  }
}

class Builder {
 public:
  Builder(onnx::ModelProto& model, ExternalData& external, const LoadOptions& options, LoadReport& report)
      : model_(model),
        file_(*model.mutable_graph()),
        external_(external),
        options_(options),
        report_(report),
        functions_(model) {}

  Result<ir::Graph> run() {
    for (const auto& import : model_.opset_import())
      opsets_[normal_domain(import.domain())] = import.version();
    if (opsets_.count("") == 0) opsets_[""] = report_.opset;
    graph_.name = file_.name();
    for (const auto& entry : model_.metadata_props()) graph_.metadata[entry.key()] = entry.value();
    keep_dimension_names(declared_dimensions(), graph_);
    std::vector<FunctionInliner::Call> calls;
    for (const auto& node : file_.node()) TANDEM_TRY(functions_.expand({&node, &opsets_}, calls));
    for (const auto& call : calls) nodes_.push_back({call.node, call.opsets, {}});
    TANDEM_TRY(add_initializers());
    TANDEM_TRY(add_inputs());
    TANDEM_TRY(add_node_outputs());
    collect_uses();
    const std::vector<size_t> order = TANDEM_TRY(sorted());
    for (size_t index : order) {
      if (!nodes_[index].proto) continue;  // a Constant, already a value
      auto imported = import_node(nodes_[index]);
      if (!imported.ok())
        return std::move(imported).error().context("importing " + label(*nodes_[index].proto));
    }
    TANDEM_TRY(add_outputs());
    return std::move(graph_);
  }

 private:
  void notice(std::string text) { report_.notices.push_back(std::move(text)); }

  Status define(const std::string& name, ValueId id, const std::string& by) {
    if (values_.emplace(name, id).second) return {};
    return bad_input(fmt::format("value '{}' is defined twice", name))
        .because("the second definition is by " + by);
  }

  Status add_constant(const std::string& name, Tensor tensor, const std::string& by) {
    if (has_nan(tensor)) notice(fmt::format("constant '{}' contains NaN", name));
    return define(name, graph_.add_constant(name, std::move(tensor)), by);
  }

  Status add_initializers() {
    std::unordered_set<std::string> inputs;
    for (const auto& input : file_.input()) inputs.insert(input.name());
    const bool overridable = report_.ir_version >= 4;
    for (auto& proto : *file_.mutable_initializer()) {
      if (proto.name().empty()) return bad_input("an initializer has no name");
      if (overridable && inputs.count(proto.name()) > 0) {
        if (options_.keep_overridable_inputs) {
          notice(
              fmt::format("initializer '{}' is also an input: it stays an input, and its default is dropped",
                          proto.name()));
          continue;
        }
        notice(fmt::format(
            "initializer '{}' is also an input that a caller could override; it is read as a constant",
            proto.name()));
      }
      Tensor tensor = TANDEM_TRY(tensor_from_proto(proto, external_));
      TANDEM_TRY(add_constant(proto.name(), std::move(tensor), "an initializer"));
      proto.clear_raw_data();  // a large model is not held twice
    }
    for (const auto& proto : file_.sparse_initializer()) {
      Tensor tensor = TANDEM_TRY(tensor_from_sparse(proto, external_));
      TANDEM_TRY(add_constant(proto.values().name(), std::move(tensor), "a sparse initializer"));
    }
    return {};
  }

  // dtype and shape of a tensor type; error for sequences, optionals and foreign element types.
  Status read_type(const onnx::TypeProto& type, const std::string& what, ir::Value& value) {
    if (!type.has_tensor_type()) {
      const char* kind = type.has_sequence_type()   ? "a sequence"
                         : type.has_optional_type() ? "an optional"
                         : type.has_map_type()      ? "a map"
                                                    : "no tensor";
      return unsupported(fmt::format("{} is {}; only tensors are supported", what, kind));
    }
    const auto& tensor = type.tensor_type();
    const auto dtype = dtype_from_onnx(tensor.elem_type());
    if (!dtype)
      return unsupported(fmt::format("{} has element type {}", what, onnx_type_name(tensor.elem_type())));
    value.dtype = *dtype;
    if (!tensor.has_shape()) return {};
    Shape shape;
    for (const auto& dim : tensor.shape().dim()) {
      shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : kDynamic);
    }
    value.shape = std::move(shape);
    return {};
  }

  // Of inputs and outputs, unless all are what save() writes for nameless ones.
  DimensionNames declared_dimensions() const {
    DimensionNames names;
    const auto collect = [&](const onnx::ValueInfoProto& info) {
      std::vector<std::string> dimensions;
      bool named = false;
      for (const auto& dim : info.type().tensor_type().shape().dim()) {
        const bool usual = dimensions.empty() && dim.dim_param() == "N";
        named |= !dim.dim_param().empty() && !usual;
        dimensions.push_back(dim.dim_param());
      }
      if (named) names[info.name()] = std::move(dimensions);
    };
    for (const auto& info : file_.input()) collect(info);
    for (const auto& info : file_.output()) collect(info);
    return names;
  }

  Status add_inputs() {
    for (const auto& proto : file_.input()) {
      if (proto.name().empty()) return bad_input("a graph input has no name");
      if (values_.count(proto.name()) > 0 && graph_.value(values_[proto.name()]).is_constant()) continue;
      ir::Value value;
      value.name = proto.name();
      TANDEM_TRY(read_type(proto.type(), "graph input '" + proto.name() + "'", value));
      TANDEM_TRY(define(proto.name(), graph_.add_input(std::move(value)), "a graph input"));
    }
    return {};
  }

  // Constant nodes become constants at once, so importers see their values wherever they stand in the file.
  Result<bool> add_constant_node(const onnx::NodeProto& node) {
    if (node.op_type() != "Constant" || !normal_domain(node.domain()).empty() || node.output_size() != 1)
      return false;
    if (node.attribute_size() != 1) return bad_input(label(node) + " needs exactly one attribute, its value");
    auto value = attribute_from_proto(node.attribute(0), external_);
    if (!value.ok()) return std::move(value).error().context(label(node));
    Tensor tensor;
    if (const auto* t = std::get_if<ConstTensor>(&*value))
      tensor = (*t)->clone();
    else if (const auto* f = std::get_if<double>(&*value))
      tensor = Tensor::scalar<float>(static_cast<float>(*f));
    else if (const auto* i = std::get_if<int64_t>(&*value))
      tensor = Tensor::scalar<int64_t>(*i);
    else if (const auto* ints = std::get_if<std::vector<int64_t>>(&*value)) {
      tensor = Tensor::of<int64_t>(Shape{static_cast<int64_t>(ints->size())}, *ints);
    } else if (const auto* reals = std::get_if<std::vector<double>>(&*value)) {
      tensor = Tensor::of<float>(Shape{static_cast<int64_t>(reals->size())},
                                 std::vector<float>(reals->begin(), reals->end()));
    } else {
      return false;  // strings: Opaque
    }
    TANDEM_TRY(add_constant(node.output(0), std::move(tensor), label(node)));
    return true;
  }

  Status add_node_outputs() {
    for (FileNodeRef& ref : nodes_) {
      const onnx::NodeProto& node = *ref.proto;
      if (TANDEM_TRY(add_constant_node(node))) {
        ref.proto = nullptr;
        continue;
      }
      for (const std::string& name : node.output()) {
        if (name.empty()) continue;
        ir::Value value;
        value.name = name;
        TANDEM_TRY(define(name, graph_.add_value(std::move(value)), label(node)));
      }
      std::set<std::string> captures;
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) collect_captures(attribute.g(), {}, captures);
        for (const auto& inner : attribute.graphs()) collect_captures(inner, {}, captures);
      }
      ref.captures.assign(captures.begin(), captures.end());
    }
    return {};
  }

  void collect_uses() {
    for (const FileNodeRef& ref : nodes_) {
      if (!ref.proto) continue;
      used_.insert(ref.proto->input().begin(), ref.proto->input().end());
      used_.insert(ref.captures.begin(), ref.captures.end());
    }
    for (const auto& output : file_.output()) used_.insert(output.name());
  }

  // Kahn's order, ties by the order of the file. Also finds unknown names and cycles.
  Result<std::vector<size_t>> sorted() {
    std::unordered_map<std::string, size_t> maker;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].proto) continue;
      for (const auto& name : nodes_[i].proto->output()) maker.emplace(name, i);
    }
    std::vector<std::vector<size_t>> followers(nodes_.size());
    std::vector<int> missing(nodes_.size(), 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].proto) continue;
      std::set<std::string> reads(nodes_[i].proto->input().begin(), nodes_[i].proto->input().end());
      reads.insert(nodes_[i].captures.begin(), nodes_[i].captures.end());
      for (const std::string& name : reads) {
        if (name.empty()) continue;
        if (values_.count(name) == 0) {
          return bad_input(
              fmt::format("{} reads '{}', which nothing defines", label(*nodes_[i].proto), name));
        }
        const auto found = maker.find(name);
        if (found == maker.end()) continue;
        followers[found->second].push_back(i);
        ++missing[i];
      }
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (missing[i] == 0) ready.push(i);
    }
    std::vector<size_t> order;
    while (!ready.empty()) {
      const size_t next = ready.top();
      ready.pop();
      order.push_back(next);
      for (size_t follower : followers[next]) {
        if (--missing[follower] == 0) ready.push(follower);
      }
    }
    if (order.size() == nodes_.size()) return order;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (missing[i] > 0) {
        return bad_input("the graph has a cycle")
            .because(label(*nodes_[i].proto) + " needs a value that depends on its own output");
      }
    }
    return internal_error("sorting lost a node");
  }

  std::string unique_node_name(const onnx::NodeProto& node) {
    std::string name = node.name();
    if (name.empty())
      name = node.output_size() > 0 && !node.output(0).empty() ? node.output(0) : node.op_type();
    std::string candidate = name;
    for (size_t n = node_names_.size(); !node_names_.insert(candidate).second; ++n)
      candidate = fmt::format("{}_{}", name, n);
    return candidate;
  }

  Result<Import> make_import(const FileNodeRef& ref) {
    const onnx::NodeProto& node = *ref.proto;
    Import in{.graph = graph_,
              .report = report_,
              .name = unique_node_name(node),
              .domain = normal_domain(node.domain()),
              .op_type = node.op_type()};
    const auto version = ref.opsets->find(in.domain);
    in.version = version == ref.opsets->end() ? 0 : version->second;
    ir::AttributeMap attributes;
    for (const auto& attribute : node.attribute()) {
      ir::AttributeValue value = TANDEM_TRY(attribute_from_proto(attribute, external_));
      if (!attributes.emplace(attribute.name(), std::move(value)).second) {
        return bad_input(fmt::format("attribute '{}' is given twice", attribute.name()));
      }
    }
    in.attributes = Attributes(std::move(attributes));
    if (in.version < 6) in.attributes.ignore("consumed_inputs");  // a hint for buffers
    for (const auto& name : node.input()) in.inputs.push_back(name.empty() ? ir::kNoValue : values_.at(name));
    while (!in.inputs.empty() && in.inputs.back() == ir::kNoValue) in.inputs.pop_back();
    for (const auto& name : node.output()) {
      in.outputs.push_back(name.empty() ? ir::kNoValue : values_.at(name));
      in.output_used.push_back(used_.count(name) > 0);
    }
    return in;
  }

  Status import_node(const FileNodeRef& ref) {
    Import in = TANDEM_TRY(make_import(ref));
    const std::vector<ValueId> file_inputs = in.inputs;
    const std::vector<ValueId> file_outputs = in.outputs;
    const ImportFunction import = ref.captures.empty() ? find_importer(in.domain, in.op_type) : nullptr;
    Result<ir::Op> op =
        import ? import(in) : Result<ir::Op>(unsupported("an operator that Tandem does not know"));
    if (op.ok()) TANDEM_TRY(in.attributes.status());
    if (op.ok() && in.too_many_inputs) {
      op = bad_input(fmt::format("{} of opset {} takes fewer inputs than the {} that are given", in.op_type,
                                 in.version, file_inputs.size()))
               .hint("state the opset that the model was written for");
    }
    const ValueId guessed = guessed_input(file_inputs);
    if (op.ok() && guessed != ir::kNoValue) {
      // The guess may be wrong; then the node cannot be read either.
      const auto probe = infer_outputs(*op, in);
      if (!probe.ok()) op = unsupported(probe.error().what());
    }
    if (!op.ok() && op.error().code() != ErrorCode::kUnsupported && guessed == ir::kNoValue)
      return std::move(op).error();
    if (!op.ok()) {
      const std::string full = in.domain.empty() ? in.op_type : in.domain + "::" + in.op_type;
      std::string reason = op.error().what();
      if (guessed != ir::kNoValue)
        reason += fmt::format(" (the type of '{}' is not known)", graph_.value(guessed).name);
      report_.opaque_ops.push_back(fmt::format("{} (node '{}'): {}", full, in.name, reason));
      in.inputs = file_inputs;
      in.outputs = file_outputs;
      op = ir::Op(make_opaque(ref, in));
    } else {
      for (const std::string& name : in.attributes.unread())
        in.notice(fmt::format("attribute '{}' has no meaning here and is ignored", name));
      if (guessed != ir::kNoValue) guessed_.insert(file_outputs.begin(), file_outputs.end());
    }
    return add_node(ref, in, std::move(op).value());
  }

  // An input whose dtype is a guess because an operator that is not known made it; kNoValue when all are
  // known.
  ValueId guessed_input(const std::vector<ValueId>& inputs) const {
    for (ValueId id : inputs) {
      if (id != ir::kNoValue && guessed_.count(id) > 0) return id;
    }
    return ir::kNoValue;
  }

  Result<std::vector<ir::OutputInfo>> infer_outputs(const ir::Op& op, const Import& in) const {
    const ir::Node node{.op = op, .inputs = in.inputs, .outputs = in.outputs};
    return ir::infer(op, ir::input_infos(graph_, node), in.outputs.size());
  }

  ir::Opaque make_opaque(const FileNodeRef& ref, Import& in) {
    ir::Opaque opaque{
        .domain = in.domain, .op_type = in.op_type, .version = in.version, .attributes = in.attributes.map()};
    if (!ref.captures.empty()) {
      // What sub-graphs read by name becomes inputs as well, so that nothing renames or removes it unseen.
      opaque.attributes["tandem.captures"] = ref.captures;
      for (const std::string& name : ref.captures) in.inputs.push_back(values_.at(name));
    }
    return opaque;
  }

  Status add_node(const FileNodeRef& ref, Import& in, ir::Op op) {
    const bool opaque = std::holds_alternative<ir::Opaque>(op);
    ir::Node node{
        .name = in.name, .op = std::move(op), .inputs = std::move(in.inputs), .outputs = in.outputs};
    const ir::NodeId id = graph_.add_node(std::move(node));
    if (opaque) return type_opaque_outputs(*ref.proto);
    const ir::Node& added = graph_.node(id);
    const auto inferred =
        TANDEM_TRY(ir::infer(added.op, ir::input_infos(graph_, added), added.outputs.size()));
    for (size_t i = 0; i < added.outputs.size() && i < inferred.size(); ++i) {
      if (added.outputs[i] == ir::kNoValue) continue;
      ir::Value& value = graph_.value(added.outputs[i]);
      value.dtype = inferred[i].dtype;
      value.shape = inferred[i].shape;
    }
    return {};
  }

  // Nothing can be inferred behind an Opaque, so there the file's own annotations count.
  Status type_opaque_outputs(const onnx::NodeProto& node) {
    if (annotations_.empty()) {
      for (const auto& info : file_.value_info()) annotations_.emplace(info.name(), &info);
      for (const auto& info : file_.output()) annotations_.emplace(info.name(), &info);
    }
    for (const auto& name : node.output()) {
      if (name.empty()) continue;
      const auto found = annotations_.find(name);
      if (found == annotations_.end() || !found->second->has_type()) {
        guessed_.insert(values_.at(name));
        continue;
      }
      ir::Value& value = graph_.value(values_.at(name));
      if (const Status read = read_type(found->second->type(), "value '" + name + "'", value); !read.ok()) {
        notice(read.error().what() + "; it is carried as it is");
        guessed_.insert(values_.at(name));
      }
    }
    return {};
  }

  Status add_outputs() {
    for (const auto& proto : file_.output()) {
      const auto found = values_.find(proto.name());
      if (found == values_.end())
        return bad_input(fmt::format("graph output '{}' is made by nothing", proto.name()));
      if (proto.has_type()) {
        ir::Value declared;
        TANDEM_TRY(read_type(proto.type(), "graph output '" + proto.name() + "'", declared));
      }
      graph_.outputs.push_back(found->second);
    }
    return {};
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& file_;
  ExternalData& external_;
  const LoadOptions& options_;
  LoadReport& report_;
  FunctionInliner functions_;
  ir::Graph graph_;
  OpsetMap opsets_;
  std::vector<FileNodeRef> nodes_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> annotations_;
  std::unordered_set<std::string> used_;
  std::set<ValueId>
      guessed_;  // values whose dtype is not known: from Opaque nodes, and what follows from them
  std::set<std::string> node_names_;
};

}  // namespace

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

Result<ir::Graph> build_graph(onnx::ModelProto& model, ExternalData& external, const LoadOptions& options,
                              LoadReport& report) {
  return Builder(model, external, options, report).run();
}

}  // namespace tandem::onnx_io
