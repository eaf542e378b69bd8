// SPDX-License-Identifier: Apache-2.0
// Tables of 256.
#include "tandem/exec/table.hpp"

#include <array>

#include "tandem/ref/ref.hpp"

namespace tandem::exec {
namespace {

using Table = std::array<uint8_t, 256>;

bool is_byte(const ir::Value& v) { return v.quant && v.quant->per_tensor() && size_of(v.quant->dtype) == 1; }

// All 256 stored values, by their bit pattern.
Tensor all_bytes(DType dtype) {
  Tensor t(dtype, Shape{1, 1, 1, 256});
  for (size_t i = 0; i < 256; ++i) t.data()[i] = static_cast<std::byte>(i);
  return t;
}

void emit_map(Lowering& l, BufferId x, BufferId y, int64_t count, const Table& table) {
  l.emit("own table", {x}, {y}, [=](Pointers p) -> Status {
    kernels().map(table.data(), reinterpret_cast<const uint8_t*>(p[index_of(x)]), count,
                  reinterpret_cast<uint8_t*>(p[index_of(y)]));
    return {};
  });
}

}  // namespace

bool lower_table(Lowering& l) {
  if (!is_byte(l.in(0)) || !is_byte(l.out())) return false;
  const Tensor bytes = all_bytes(l.in(0).storage());
  std::vector<const Tensor*> inputs{&bytes};
  std::vector<const QuantParams*> quant{&*l.in(0).quant};
  for (size_t i = 1; i < l.input_count(); ++i) {
    if (l.has_input(i) && !l.in(i).is_constant()) return false;
    inputs.push_back(l.has_input(i) ? l.in(i).constant.get() : nullptr);
    quant.push_back(l.has_input(i) && l.in(i).quant ? &*l.in(i).quant : nullptr);
  }
  const std::array<const QuantParams*, 1> out_quant{&*l.out().quant};
  const Result<std::vector<Tensor>> made = ref::run_stored(l.node().op, inputs, quant, out_quant);
  if (!made.ok() || made->size() != 1 || (*made)[0].size_bytes() != 256) return false;
  Table table{};
  for (size_t i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>((*made)[0].data()[i]);
  const Layout layout = l.layout_of_input(0);
  const BufferId x = l.read(0, layout);
  emit_map(l, x, l.write(0, layout), l.out_shape().elements(), table);
  return true;
}

BufferId requantized(Lowering& l, BufferId from, const QuantParams& a, const QuantParams& b) {
  if (a == b) return from;
  const Tensor reals = dequantize(all_bytes(a.dtype), a);
  const Tensor stored = quantize(reals, b);
  Table table{};
  for (size_t i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(stored.data()[i]);
  const Buffer source = l.buffer(from);
  const BufferId to = l.temporary(b.dtype, source.shape, source.layout);
  emit_map(l, from, to, source.shape.elements(), table);
  return to;
}

}  // namespace tandem::exec
