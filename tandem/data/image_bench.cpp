// SPDX-License-Identifier: Apache-2.0
// What one photo costs on one thread: decoding, resizing with crop, normalising, and all three.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "tandem/data/image.hpp"
#include "tandem/data/preprocess.hpp"

namespace tandem::data {
namespace {

// Smooth waves with some grain: about as many bytes as a photo of the size at quality 80.
Image photo(int64_t width, int64_t height) {
  Image image = Image::make(width, height);
  uint32_t noise = 1;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        noise = noise * 1664525 + 1013904223;
        const double wave =
            std::sin(0.05 * static_cast<double>(x * (c + 1))) + std::cos(0.07 * static_cast<double>(y));
        image.rgb[static_cast<size_t>((y * width + x) * 3 + c)] =
            static_cast<uint8_t>(128 + 50 * wave + static_cast<double>(noise >> 28));
      }
    }
  }
  return image;
}

std::string jpeg(const benchmark::State& state) {
  return *encode_jpeg(photo(state.range(0), state.range(1)), 80);
}

Image decoded(const std::string& file, const DecodeOptions& options) {
  return *decode_image(std::as_bytes(std::span(file)), options);
}

void BM_Decode(benchmark::State& state) {
  const std::string file = jpeg(state);
  for (auto _ : state) benchmark::DoNotOptimize(decoded(file, decode_options(Preprocess{})));
}

void BM_Fit(benchmark::State& state) {
  const Image image = photo(state.range(0), state.range(1));
  const Preprocess p;
  for (auto _ : state) benchmark::DoNotOptimize(fit(p, image));
}

void BM_Normalize(benchmark::State& state) {
  const Preprocess p;
  const Image image = *fit(p, photo(300, 260));
  std::vector<float> out(static_cast<size_t>(p.elements()));
  for (auto _ : state) {
    normalize(p, image, PixelLayout::kNchw, out);
    benchmark::DoNotOptimize(out.data());
  }
}

void BM_DecodeFitNormalize(benchmark::State& state) {
  const std::string file = jpeg(state);
  const Preprocess p;
  std::vector<float> out(static_cast<size_t>(p.elements()));
  for (auto _ : state) {
    const auto status = apply(p, decoded(file, decode_options(p)), PixelLayout::kNchw, out);
    benchmark::DoNotOptimize(status.ok());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["photos_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

BENCHMARK(BM_Decode)->Args({320, 224})->Args({1600, 1200})->Args({4000, 3000})->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Fit)->Args({320, 224})->Args({1600, 1200})->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Normalize)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecodeFitNormalize)
    ->Args({320, 224})
    ->Args({1600, 1200})
    ->Args({4000, 3000})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tandem::data
