// SPDX-License-Identifier: Apache-2.0
// Ops that move elements.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

// Far beyond any network; they bound what a hostile file can make the importer allocate.
constexpr int64_t kMaxBlock = 1024;
constexpr int64_t kMaxChannels = int64_t{1} << 20;

}  // namespace

Result<ir::Op> import_transpose(Import& in) { return ir::Op(ir::Transpose{in.attributes.integers("perm")}); }
Status export_op(Export& out, const ir::Transpose& op) {
  ir::AttributeMap attributes;
  if (!op.perm.empty()) attributes["perm"] = op.perm;
  out.emit("Transpose", std::move(attributes));
  return {};
}

Result<ir::Op> import_concat(Import& in) {
  if (in.inputs.empty()) return bad_input("it has no input");
  if (in.version < 4) return ir::Op(ir::Concat{in.attributes.integer("axis", 1)});
  return ir::Op(ir::Concat{in.attributes.required_integer("axis")});
}
Status export_op(Export& out, const ir::Concat& op) {
  out.emit("Concat", {{"axis", op.axis}});
  return {};
}

Result<ir::Op> import_split(Import& in) {
  ir::Split op{in.attributes.integer("axis", 0)};
  if (in.version < 2) return unsupported("Split of opset 1");
  if (in.version < 13) {
    in.keep_inputs(1);
    if (in.attributes.has("split")) in.set_input(1, in.integers("split", in.attributes.integers("split")));
  } else if (in.version >= 18 && in.attributes.has("num_outputs")) {
    const int64_t count = in.attributes.integer("num_outputs", 0);
    if (count != static_cast<int64_t>(in.outputs.size())) {
      return bad_input(
          fmt::format("num_outputs is {}, but the node has {} outputs", count, in.outputs.size()));
    }
  }
  return ir::Op(op);
}

Status export_op(Export& out, const ir::Split& op) {
  ir::AttributeMap attributes{{"axis", op.axis}};
  if (!out.has_input(1)) {
    // Below 18, parts without stated extents must be equal; since, their number is an attribute.
    const auto x = out.input_shape(0);
    const int64_t parts = static_cast<int64_t>(out.node().outputs.size());
    const auto axis = x ? normalize_axis(op.axis, x->rank()) : Result<size_t>(bad_input("unknown rank"));
    const bool equal = axis.ok() && (*x)[*axis] != kDynamic && (*x)[*axis] % parts == 0;
    if (!equal) out.require(18, "Split into parts that are not known to be equal");
    if (out.at_least(18)) attributes["num_outputs"] = parts;
  }
  out.emit("Split", std::move(attributes));
  return {};
}

Result<ir::Op> import_slice(Import& in) {
  if (in.version < 10) {
    in.keep_inputs(1);
    const std::vector<int64_t> starts = in.attributes.required_integers("starts");
    const std::vector<int64_t> ends = in.attributes.required_integers("ends");
    in.set_input(1, in.integers("starts", starts));
    in.set_input(2, in.integers("ends", ends));
    if (in.attributes.has("axes")) in.set_input(3, in.integers("axes", in.attributes.integers("axes")));
  }
  return ir::Op(ir::Slice{});
}
Status export_op(Export& out, const ir::Slice&) {
  out.emit("Slice");
  return {};
}

Result<ir::Op> import_pad(Import& in) {
  ir::Pad op;
  if (in.version < 2) return unsupported("Pad of opset 1");
  const std::string mode = in.attributes.text("mode", "constant");
  const auto known = ir::enum_from_name<ir::PadMode>(mode);
  if (!known) return bad_input("attribute 'mode' is '" + mode + "'");
  op.mode = *known;
  if (in.version < 11) {
    in.keep_inputs(1);
    in.set_input(1, in.integers("pads", in.attributes.required_integers("pads")));
    if (in.attributes.has("value")) in.set_input(2, in.scalar("value", in.attributes.real("value", 0), 0));
  }
  return ir::Op(op);
}
Status export_op(Export& out, const ir::Pad& op) {
  ir::AttributeMap attributes;
  if (op.mode != ir::PadMode::kConstant) attributes["mode"] = std::string(ir::enum_name(op.mode));
  if (op.mode == ir::PadMode::kWrap) out.require(19, "Pad in mode wrap");
  if (out.has_input(3)) out.require(18, "Pad with axes");
  out.emit("Pad", std::move(attributes));
  return {};
}

Result<ir::Op> import_expand(Import&) { return ir::Op(ir::Expand{}); }
Status export_op(Export& out, const ir::Expand&) {
  out.emit("Expand");
  return {};
}

Result<ir::Op> import_tile(Import& in) {
  if (in.version < 6) return unsupported("Tile along one axis (before opset 6)");
  return ir::Op(ir::Tile{});
}
Status export_op(Export& out, const ir::Tile&) {
  out.emit("Tile");
  return {};
}

Result<ir::Op> import_depth_to_space(Import& in) {
  ir::DepthToSpace op{.blocksize = in.attributes.required_integer("blocksize")};
  const std::string mode = in.attributes.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return bad_input("attribute 'mode' is '" + mode + "', not DCR or CRD");
  if (mode == "CRD") op.mode = ir::DepthToSpaceMode::kCrd;
  return ir::Op(op);
}
Status export_op(Export& out, const ir::DepthToSpace& op) {
  out.emit("DepthToSpace", {{"blocksize", op.blocksize},
                            {"mode", std::string(op.mode == ir::DepthToSpaceMode::kCrd ? "CRD" : "DCR")}});
  return {};
}

Result<ir::Op> import_space_to_depth(Import& in) {
  const std::string mode = in.attributes.text("mode", "DCR");  // since a recent opset
  if (mode != "DCR" && mode != "CRD") return bad_input("attribute 'mode' is '" + mode + "', not DCR or CRD");
  const ir::SpaceToDepth op{in.attributes.required_integer("blocksize")};
  if (mode == "DCR") return ir::Op(op);
  // CRD has the same channels with the block's place running fastest: a permutation of DCR's.
  const auto x = in.shape(0);
  if (!x || x->rank() != 4 || (*x)[1] == kDynamic || op.blocksize < 1 || op.blocksize > kMaxBlock)
    return unsupported("SpaceToDepth in mode CRD of a number of channels that is not known");
  const int64_t channels = (*x)[1], places = op.blocksize * op.blocksize;
  if (channels > kMaxChannels / places) return unsupported("SpaceToDepth in mode CRD of too many channels");
  std::vector<int64_t> source;
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t place = 0; place < places; ++place) source.push_back(place * channels + channel);
  }
  const ir::ValueId blocks = in.emit(op, {in.inputs[0]}, "blocks");
  const ir::ValueId order = in.integers("channel_order", source);
  in.inputs = {blocks, order};
  return ir::Op(ir::Gather{1});
}
Status export_op(Export& out, const ir::SpaceToDepth& op) {
  out.emit("SpaceToDepth", {{"blocksize", op.blocksize}});
  return {};
}

Result<ir::Op> import_trilu(Import& in) { return ir::Op(ir::Trilu{in.attributes.flag("upper", true)}); }
Status export_op(Export& out, const ir::Trilu& op) {
  out.require(14, "Trilu");
  out.emit("Trilu", {{"upper", int64_t{op.upper}}});
  return {};
}

}  // namespace tandem::onnx_io
