// SPDX-License-Identifier: Apache-2.0
// Requantize: reals to integers (with the change to channels last in the same pass), integers to reals,
// integers to integers.
#include <algorithm>

#include "tandem/exec/lower.hpp"
#include "tandem/exec/rows.hpp"
#include "tandem/exec/table.hpp"

namespace tandem::exec {
namespace {

// True when a reader of the current node's output works channels last.
bool wanted_channels_last(const Lowering& l) {
  const ir::ValueId made = l.node().outputs[0];
  for (const ir::NodeId id : l.graph().live_nodes()) {
    const ir::Node& n = l.graph().node(id);
    if (std::find(n.inputs.begin(), n.inputs.end(), made) == n.inputs.end()) continue;
    if (std::holds_alternative<ir::Conv>(n.op) || std::holds_alternative<ir::Pool>(n.op) ||
        std::holds_alternative<ir::GlobalPool>(n.op)) {
      return true;
    }
  }
  return false;
}

// Plain reals to channels last integers: pixels are gathered into rows and stored.
void emit_quantize_moving(Lowering& l, BufferId x, BufferId y) {
  const Shape& shape = l.out_shape();
  const int64_t batch = shape[0], channels = shape[1],
                pixels = shape.elements() / std::max<int64_t>(batch * channels, 1);
  l.emit("own quantize", {x}, {y}, [=, to = Lowering::row_type(l.out())](Pointers p) -> Status {
    alignas(64) float row[kRowMax];
    const bool bytes_of_colour = channels == 3 && size_of(to.dtype) == 1;
    const int64_t at_once = bytes_of_colour ? kRowMax : std::max<int64_t>(kRowMax / channels, 1);
    const float* in = reinterpret_cast<const float*>(p[index_of(x)]);
    std::byte* out = p[index_of(y)];
    const size_t width = size_of(to.dtype);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t first = 0; first < pixels; first += at_once) {
        const int64_t count = std::min(at_once, pixels - first);
        std::byte* pixels_out = out + static_cast<size_t>((n * pixels + first) * channels) * width;
        if (bytes_of_colour) {
          // Whole planes are rounded fastest; bytes are then cheap to interleave.
          std::byte planes[3][kRowMax];
          for (int64_t c = 0; c < 3; ++c) {
            kernels().store(in + (n * channels + c) * pixels + first, to, count, planes[c]);
          }
          const std::byte* sources[3] = {planes[0], planes[1], planes[2]};
          kernels().interleave3(sources, width, count, pixels_out);
          continue;
        }
        for (int64_t c = 0; c < channels; ++c) {
          const float* plane = in + (n * channels + c) * pixels + first;
          for (int64_t i = 0; i < count; ++i) row[i * channels + c] = plane[i];
        }
        kernels().store(row, to, count * channels, pixels_out);
      }
    }
    return {};
  });
}

}  // namespace

LowerResult lower(Lowering& l, const ir::Requantize&) {
  const ir::Value &in = l.in(0), &out = l.out();
  if (in.quant == out.quant) return lower_view(l);
  if (lower_table(l)) return Lowered{};
  if (!Lowering::is_row_value(in) || !Lowering::is_row_value(out)) return Lowered::no("dtype has no kernel");
  const Layout layout = l.layout_of_input(0);
  const Shape& shape = l.out_shape();
  if (!in.quant && layout == Layout::kPlain && shape.rank() >= 3 && shape.rank() <= 5 &&
      !layouts_agree(shape) && shape[1] <= kRowMax && wanted_channels_last(l)) {
    const BufferId x = l.read(0, Layout::kPlain);
    emit_quantize_moving(l, x, l.write(0, Layout::kChannelsLast));
    return Lowered{};
  }
  if (!out.quant) {
    // The same bytes that any other reader of the reals gets.
    l.make_view(0, l.read_real(0, layout), layout);
    return Lowered{};
  }
  const BufferId x = l.read_real(0, layout), y = l.write(0, layout);
  l.emit("own quantize", {x}, {y},
         [=, to = Lowering::row_type(out), count = shape.elements()](Pointers p) -> Status {
           kernels().store(reinterpret_cast<const float*>(p[index_of(x)]), to, count, p[index_of(y)]);
           return {};
         });
  return Lowered{};
}

}  // namespace tandem::exec
