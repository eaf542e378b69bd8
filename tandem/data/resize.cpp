// SPDX-License-Identifier: Apache-2.0
// Separable resampling: weights once per output column and row, then two passes of multiply-add. The 8-bit
// path uses 22-bit fixed-point weights because that is what Pillow rounds with, and equality is worth more
// than a faster format.
#include "tandem/data/resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tandem/base/check.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define TANDEM_DATA_HAS_AVX2 1
#endif

namespace tandem::data {
namespace {

// 8 bits for the pixel, 2 for the overshoot of the cubic, the rest of 32 for the weight (Pillow, Resample.c).
constexpr int kWeightBits = 32 - 8 - 2;
constexpr int32_t kHalf = int32_t{1} << (kWeightBits - 1);

double triangle(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

// R. Keys, Cubic convolution interpolation for digital image processing, 1981, equation 15 (a = -1/2).
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// For each output position: the first source position and `taps` weights (zero behind the last one used).
struct Weights {
  int64_t taps = 0;
  std::vector<int64_t> first;
  std::vector<int64_t> count;
  std::vector<double> real;

  int64_t begin() const { return first.front(); }
  int64_t end() const {
    int64_t last = 0;
    for (size_t i = 0; i < first.size(); ++i) last = std::max(last, first[i] + count[i]);
    return last;
  }
};

struct Axis {
  int64_t source = 0;        // pixels
  double covered_begin = 0;  // the part of them that makes the target
  double covered_end = 0;
  int64_t target = 0;
  int64_t window_begin = 0;
  int64_t window_size = 0;
};

Weights make_weights(const Axis& axis, Filter filter, bool antialias) {
  const double scale = (axis.covered_end - axis.covered_begin) / static_cast<double>(axis.target);
  const double stretch = antialias ? std::max(scale, 1.0) : 1.0;
  const double support = (filter == Filter::kBilinear ? 1.0 : 2.0) * stretch;
  Weights weights;
  weights.taps = std::min(axis.source, static_cast<int64_t>(std::ceil(support)) * 2 + 1);
  const auto size = static_cast<size_t>(axis.window_size), taps = static_cast<size_t>(weights.taps);
  weights.first.resize(size);
  weights.count.resize(size);
  weights.real.assign(size * taps, 0.0);
  for (size_t i = 0; i < size; ++i) {
    const double center =
        axis.covered_begin + (static_cast<double>(axis.window_begin + static_cast<int64_t>(i)) + 0.5) * scale;
    const auto first = std::max(int64_t{0}, static_cast<int64_t>(center - support + 0.5));
    const auto last = std::min(axis.source, static_cast<int64_t>(center + support + 0.5));
    double* w = &weights.real[i * taps];
    double sum = 0;
    for (int64_t k = 0; k < last - first; ++k) {
      const double x = (static_cast<double>(first + k) - center + 0.5) / stretch;
      w[k] = filter == Filter::kBilinear ? triangle(x) : cubic(x);
      sum += w[k];
    }
    for (int64_t k = 0; k < last - first && sum != 0; ++k) w[k] /= sum;
    weights.first[i] = first;
    weights.count[i] = last - first;
  }
  return weights;
}

std::vector<int32_t> fixed_point(const std::vector<double>& real) {
  std::vector<int32_t> fixed(real.size());
  for (size_t i = 0; i < real.size(); ++i) {
    const double scaled = real[i] * (int32_t{1} << kWeightBits);
    fixed[i] = static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  return fixed;
}

// The loops are written once and compiled for the base instruction set and for AVX2; the results are equal
// because they are integers.
using Int4 = int32_t __attribute__((vector_size(16)));
using Byte4 = uint8_t __attribute__((vector_size(4)));

[[gnu::always_inline]] inline uint8_t to_byte(int32_t sum) {
  const int32_t level = sum >> kWeightBits;
  return static_cast<uint8_t>(level < 0 ? 0 : level > 255 ? 255 : level);
}

// One row: row [source * 3 bytes and one spare] | out [weights * 3 bytes and one spare]. Works on R, G, B and
// the byte behind them at once.
[[gnu::always_inline]] inline void horizontal_row(const uint8_t* row, const Weights& weights,
                                                  const int32_t* fixed, uint8_t* out) {
  const size_t size = weights.first.size();
  for (size_t i = 0; i < size; ++i) {
    const uint8_t* pixel = row + weights.first[i] * 3;
    const int32_t* w = fixed + i * static_cast<size_t>(weights.taps);
    const int64_t count = weights.count[i];
    Int4 sum = {kHalf, kHalf, kHalf, kHalf};
    for (int64_t k = 0; k < count; ++k) {
      Byte4 bytes;
      std::memcpy(&bytes, pixel + k * 3, 4);
      sum += __builtin_convertvector(bytes, Int4) * w[k];
    }
    for (int c = 0; c < 3; ++c) out[i * 3 + static_cast<size_t>(c)] = to_byte(sum[c]);
  }
}

// One output row of `bytes` bytes from `count` rows `stride` bytes apart.
[[gnu::always_inline]] inline void vertical_row(const uint8_t* rows, size_t stride, const int32_t* w,
                                                int64_t count, uint8_t* out, size_t bytes) {
  constexpr size_t kBlock = 128;
  int32_t sums[kBlock];
  for (size_t begin = 0; begin < bytes; begin += kBlock) {
    const size_t size = std::min(kBlock, bytes - begin);
    for (size_t i = 0; i < size; ++i) sums[i] = kHalf;
    for (int64_t k = 0; k < count; ++k) {
      const uint8_t* row = rows + static_cast<size_t>(k) * stride + begin;
      const int32_t weight = w[k];
      for (size_t i = 0; i < size; ++i) sums[i] += row[i] * weight;
    }
    for (size_t i = 0; i < size; ++i) out[begin + i] = to_byte(sums[i]);
  }
}

struct Kernels {
  void (*horizontal_row)(const uint8_t*, const Weights&, const int32_t*, uint8_t*);
  void (*vertical_row)(const uint8_t*, size_t, const int32_t*, int64_t, uint8_t*, size_t);
};

void horizontal_row_base(const uint8_t* row, const Weights& weights, const int32_t* fixed, uint8_t* out) {
  horizontal_row(row, weights, fixed, out);
}
void vertical_row_base(const uint8_t* rows, size_t stride, const int32_t* w, int64_t count, uint8_t* out,
                       size_t bytes) {
  vertical_row(rows, stride, w, count, out, bytes);
}
#ifdef TANDEM_DATA_HAS_AVX2
// The compilers convert the four bytes one by one; written out it takes a third of the time.
__attribute__((target("avx2"))) void horizontal_row_avx2(const uint8_t* row, const Weights& weights,
                                                         const int32_t* fixed, uint8_t* out) {
  const size_t size = weights.first.size();
  const auto taps = static_cast<size_t>(weights.taps);
  for (size_t i = 0; i < size; ++i) {
    const uint8_t* pixel = row + weights.first[i] * 3;
    const int32_t* w = fixed + i * taps;
    const int64_t count = weights.count[i];
    __m128i sum = _mm_set1_epi32(kHalf);
    for (int64_t k = 0; k < count; ++k) {
      int32_t bytes;
      std::memcpy(&bytes, pixel + k * 3, 4);
      const __m128i levels = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
      sum = _mm_add_epi32(sum, _mm_mullo_epi32(levels, _mm_set1_epi32(w[k])));
    }
    const __m128i words = _mm_packus_epi32(_mm_srai_epi32(sum, kWeightBits), _mm_setzero_si128());
    const int32_t result = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    std::memcpy(out + i * 3, &result, 4);
  }
}
__attribute__((target("avx2"))) void vertical_row_avx2(const uint8_t* rows, size_t stride, const int32_t* w,
                                                       int64_t count, uint8_t* out, size_t bytes) {
  vertical_row(rows, stride, w, count, out, bytes);
}
#endif

Kernels kernels([[maybe_unused]] bool portable) {
#ifdef TANDEM_DATA_HAS_AVX2
  if (!portable && __builtin_cpu_supports("avx2")) return {horizontal_row_avx2, vertical_row_avx2};
#endif
  return {horizontal_row_base, vertical_row_base};
}

struct Plan {
  Weights columns;
  Weights rows;
  int64_t width = 0;  // of the result
  int64_t height = 0;
  bool portable = false;
};

// Two passes, rounding to 8 bits after each, like Pillow. A pass that changes nothing is the identity in
// fixed point too (one weight of exactly 1), so Pillow's skipping of it needs no case here but speed.
Image resize_fixed(const Image& image, const Plan& plan) {
  const Kernels run = kernels(plan.portable);
  const std::vector<int32_t> column_weights = fixed_point(plan.columns.real);
  const std::vector<int32_t> row_weights = fixed_point(plan.rows.real);
  const int64_t first_row = plan.rows.begin(), end_row = plan.rows.end();
  const size_t stride = static_cast<size_t>(plan.width) * 3;
  // One byte more: the row kernel writes four a pixel, of which the next pixel covers the last.
  std::vector<uint8_t> middle(static_cast<size_t>(end_row - first_row) * stride + 1);
  std::vector<uint8_t> padded;
  for (int64_t y = first_row; y < end_row; ++y) {
    const auto row = image.row(y);
    const uint8_t* source = row.data();
    if (y + 1 == image.height) {
      // The row kernel reads one byte behind a pixel: only the last row of the image has none there.
      padded.assign(row.begin(), row.end());
      padded.push_back(0);
      source = padded.data();
    }
    run.horizontal_row(source, plan.columns, column_weights.data(),
                       &middle[static_cast<size_t>(y - first_row) * stride]);
  }
  Image result = Image::make(plan.width, plan.height);
  for (int64_t y = 0; y < plan.height; ++y) {
    const auto i = static_cast<size_t>(y);
    run.vertical_row(&middle[static_cast<size_t>(plan.rows.first[i] - first_row) * stride], stride,
                     &row_weights[i * static_cast<size_t>(plan.rows.taps)], plan.rows.count[i],
                     result.row(y).data(), stride);
  }
  return result;
}

// Two passes in float, one rounding at the end.
Image resize_float(const Image& image, const Plan& plan) {
  const std::vector<float> column_weights(plan.columns.real.begin(), plan.columns.real.end());
  const std::vector<float> row_weights(plan.rows.real.begin(), plan.rows.real.end());
  const int64_t first_row = plan.rows.begin(), end_row = plan.rows.end();
  const size_t stride = static_cast<size_t>(plan.width) * 3;
  std::vector<float> middle(static_cast<size_t>(end_row - first_row) * stride);
  for (int64_t y = first_row; y < end_row; ++y) {
    const uint8_t* source = image.row(y).data();
    float* out = &middle[static_cast<size_t>(y - first_row) * stride];
    for (size_t i = 0; i < plan.columns.first.size(); ++i, out += 3) {
      const uint8_t* pixel = source + plan.columns.first[i] * 3;
      const float* w = &column_weights[i * static_cast<size_t>(plan.columns.taps)];
      float sum[3] = {0, 0, 0};
      for (int64_t k = 0; k < plan.columns.count[i]; ++k) {
        for (int c = 0; c < 3; ++c) sum[c] += static_cast<float>(pixel[k * 3 + c]) * w[k];
      }
      for (int c = 0; c < 3; ++c) out[c] = sum[c];
    }
  }
  Image result = Image::make(plan.width, plan.height);
  std::vector<float> sums(stride);
  for (int64_t y = 0; y < plan.height; ++y) {
    const auto i = static_cast<size_t>(y);
    std::fill(sums.begin(), sums.end(), 0.5f);
    for (int64_t k = 0; k < plan.rows.count[i]; ++k) {
      const float* row = &middle[static_cast<size_t>(plan.rows.first[i] - first_row + k) * stride];
      const float weight = row_weights[i * static_cast<size_t>(plan.rows.taps) + static_cast<size_t>(k)];
      for (size_t x = 0; x < stride; ++x) sums[x] += row[x] * weight;
    }
    uint8_t* out = result.row(y).data();
    for (size_t x = 0; x < stride; ++x)
      out[x] = static_cast<uint8_t>(std::min(std::max(sums[x], 0.0f), 255.0f));
  }
  return result;
}

}  // namespace

const char* to_string(Filter filter) { return filter == Filter::kBilinear ? "bilinear" : "bicubic"; }

Image resize(const Image& image, const ResizeOptions& options) {
  TANDEM_CHECK(image.width > 0 && image.height > 0 && options.width > 0 && options.height > 0);
  const Box window = options.window.value_or(Box{0, 0, options.width, options.height});
  TANDEM_CHECK(window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0 &&
               window.width <= options.width - window.x && window.height <= options.height - window.y);
  const Image::Extent& covered = image.covered;
  const bool whole =
      covered == Image::Extent{0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
  if (whole && options.width == image.width && options.height == image.height) return crop(image, window);
  Plan plan;
  plan.width = window.width;
  plan.height = window.height;
  plan.portable = options.portable;
  plan.columns =
      make_weights({image.width, covered.left, covered.right, options.width, window.x, window.width},
                   options.filter, options.antialias);
  plan.rows =
      make_weights({image.height, covered.top, covered.bottom, options.height, window.y, window.height},
                   options.filter, options.antialias);
  return options.antialias ? resize_fixed(image, plan) : resize_float(image, plan);
}

Image crop(const Image& image, const Box& box) {
  TANDEM_CHECK(box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
               box.width <= image.width - box.x && box.height <= image.height - box.y);
  if (box.width == image.width && box.height == image.height) return image;
  Image result = Image::make(box.width, box.height);
  for (int64_t y = 0; y < box.height; ++y) {
    const auto source =
        image.row(box.y + y).subspan(static_cast<size_t>(box.x) * 3, static_cast<size_t>(box.width) * 3);
    std::copy(source.begin(), source.end(), result.row(y).begin());
  }
  return result;
}

}  // namespace tandem::data
