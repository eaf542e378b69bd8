// SPDX-License-Identifier: Apache-2.0
// Strided copies, with tiles where one side is contiguous along another dimension than the other side.
#include "tandem/exec/strided.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tandem/exec/kernels.hpp"

namespace tandem::exec {
namespace {

struct Dim {
  int64_t extent, to, from;
};

template <typename T>
void copy_row(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

// Two innermost dimensions: `a` is contiguous in `to`, `b` in `from`.
template <typename T>
void copy_plane(const T* from, T* to, const Dim& b, const Dim& a) {
  constexpr int64_t kTile = 16;
  if (a.extent == 3 && b.to == 3 && (sizeof(T) == 1 || sizeof(T) == 4)) {
    const std::byte* planes[3];
    for (int64_t c = 0; c < 3; ++c) planes[c] = reinterpret_cast<const std::byte*>(from + c * a.from);
    kernels().interleave3(planes, sizeof(T), b.extent, reinterpret_cast<std::byte*>(to));
    return;
  }
  if (a.extent <= 4) {  // colour channels: whole pixels at a time
    for (int64_t j = 0; j < b.extent; ++j) {
      for (int64_t i = 0; i < a.extent; ++i) to[j * b.to + i * a.to] = from[j * b.from + i * a.from];
    }
    return;
  }
  for (int64_t j0 = 0; j0 < b.extent; j0 += kTile) {
    const int64_t j1 = std::min(b.extent, j0 + kTile);
    for (int64_t i0 = 0; i0 < a.extent; i0 += kTile) {
      const int64_t i1 = std::min(a.extent, i0 + kTile);
      for (int64_t j = j0; j < j1; ++j) {
        for (int64_t i = i0; i < i1; ++i) to[j * b.to + i * a.to] = from[j * b.from + i * a.from];
      }
    }
  }
}

template <typename T>
void copy_dims(const T* from, T* to, const Dim* dims, size_t count) {
  if (count == 0) {
    *to = *from;
  } else if (count == 1) {
    copy_row(from, dims[0].from, to, dims[0].to, dims[0].extent);
  } else if (count == 2 && dims[1].to == 1 && dims[0].from == 1) {
    copy_plane(from, to, dims[0], dims[1]);
  } else {
    for (int64_t i = 0; i < dims[0].extent; ++i) {
      copy_dims(from + i * dims[0].from, to + i * dims[0].to, dims + 1, count - 1);
    }
  }
}

}  // namespace

StridedCopy simplified(const StridedCopy& copy) {
  std::vector<Dim> dims;
  bool empty = false;
  for (size_t d = 0; d < copy.extent.size(); ++d) {
    if (copy.extent[d] == 0) empty = true;
    if (copy.extent[d] != 1) dims.push_back({copy.extent[d], copy.to_stride[d], copy.from_stride[d]});
  }
  // Outermost first in the order of the destination.
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.to > b.to; });
  std::vector<Dim> joined;
  for (const Dim& d : dims) {
    if (!joined.empty() && joined.back().to == d.to * d.extent && joined.back().from == d.from * d.extent) {
      joined.back() = {joined.back().extent * d.extent, d.to, d.from};
    } else {
      joined.push_back(d);
    }
  }
  // The dimension that is contiguous in the source goes right before the last, so that planes can be tiled.
  if (joined.size() > 2 && joined.back().to == 1 && joined.back().from != 1) {
    const auto it = std::find_if(joined.begin(), joined.end() - 1, [](const Dim& d) { return d.from == 1; });
    if (it != joined.end() - 1) std::rotate(it, it + 1, joined.end() - 1);
  }
  StridedCopy out;
  out.element_bytes = copy.element_bytes;
  if (empty) joined = {{0, 1, 1}};
  for (const Dim& d : joined) {
    out.extent.push_back(d.extent);
    out.to_stride.push_back(d.to);
    out.from_stride.push_back(d.from);
  }
  return out;
}

bool is_contiguous(const StridedCopy& copy) {
  return copy.extent.empty() ||
         (copy.extent.size() == 1 && copy.to_stride[0] == 1 && copy.from_stride[0] == 1);
}

void run(const StridedCopy& copy, const std::byte* from, std::byte* to) {
  Dim dims[16];
  const size_t count = std::min<size_t>(copy.extent.size(), 16);
  for (size_t d = 0; d < count; ++d) dims[d] = {copy.extent[d], copy.to_stride[d], copy.from_stride[d]};
  const auto typed = [&](auto tag) {
    using T = decltype(tag);
    copy_dims(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), dims, count);
  };
  switch (copy.element_bytes) {
    case 1: typed(uint8_t{}); break;
    case 2: typed(uint16_t{}); break;
    case 4: typed(uint32_t{}); break;
    default: typed(uint64_t{}); break;
  }
}

}  // namespace tandem::exec
