// SPDX-License-Identifier: Apache-2.0
// Streaming histogram with doubling bins.
#include "tandem/quant/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tandem::quant {
namespace {

// Below it, one over the width would not be a float.
constexpr int kExponentMin = -126;
constexpr size_t kLanes = 16;
// Values looked at together: they stay in a near cache between finding their range and counting them, and
// their counts fit 16 bits.
constexpr size_t kBlock = 16384;
// From here on, clearing and adding up the tables of count_places() is worth it.
constexpr size_t kManyPlaces = 4096;

// The smallest exponent e with magnitude < kBins * 2^e.
int exponent_for(float magnitude) {
  int e = 0;
  std::frexp(magnitude, &e);              // magnitude < 2^e
  return std::max(e - 11, kExponentMin);  // kBins = 2^11
}

void merge_pairs(std::span<int64_t> bins) {
  for (size_t i = 0; i < bins.size() / 2; ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
  std::fill(bins.begin() + static_cast<ptrdiff_t>(bins.size() / 2), bins.end(), 0);
}

struct Range {
  float low = 0, high = 0;
  bool finite = true;  // otherwise low and high mean nothing
};

// Lanes are independent, so that the compiler needs no permission to reorder.
Range range_of(std::span<const float> x) {
  std::array<float, kLanes> low, high;
  std::array<uint32_t, kLanes> magnitude{};
  low.fill(x[0]);
  high.fill(x[0]);
  const auto look = [&](size_t i, size_t lane) {
    low[lane] = x[i] < low[lane] ? x[i] : low[lane];
    high[lane] = x[i] > high[lane] ? x[i] : high[lane];
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu;
    magnitude[lane] = std::max(magnitude[lane], bits);
  };
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) look(i + lane, lane);
  }
  for (; i < x.size(); ++i) look(i, 0);
  constexpr uint32_t kInfinity = 0x7f800000u;
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end()),
          *std::max_element(magnitude.begin(), magnitude.end()) < kInfinity};
}

// The place of each value in bins_. Exact: the width is a power of two.
void places_of(std::span<const float> x, float inverse_width, std::array<uint16_t, kBlock>& places) {
  constexpr float kLast = Histogram::kBins - 1;
  for (size_t i = 0; i < x.size(); ++i) {
    const float scaled = std::abs(x[i]) * inverse_width;
    const auto bin = static_cast<int32_t>(scaled < kLast ? scaled : kLast);
    places[i] = static_cast<uint16_t>(bin + (x[i] < 0 ? Histogram::kBins : 0));
  }
}

// Neighbours are often alike (zeros after a ReLU), and an increment has to wait for the one before of the
// same count: four tables take turns.
void count_places(std::span<const uint16_t> places, std::span<int64_t> bins) {
  if (places.size() < kManyPlaces) {
    for (const uint16_t place : places) ++bins[place];
    return;
  }
  constexpr size_t kTables = 4;
  std::array<std::array<uint16_t, size_t{2} * Histogram::kBins>, kTables> tables{};
  size_t i = 0;
  for (; i + kTables <= places.size(); i += kTables) {
    for (size_t t = 0; t < kTables; ++t) ++tables[t][places[i + t]];
  }
  for (; i < places.size(); ++i) ++tables[0][places[i]];
  for (size_t b = 0; b < bins.size(); ++b) {
    bins[b] += int64_t{tables[0][b]} + tables[1][b] + tables[2][b] + tables[3][b];
  }
}

}  // namespace

double Histogram::width() const { return exponent_ == kUnset ? 0 : std::ldexp(1.0, exponent_); }

void Histogram::widen(int exponent) {
  if (exponent_ == kUnset) {
    exponent_ = exponent;  // Only zeros so far, and zeros are in bin 0 at every width.
    return;
  }
  // After 12 doublings everything is in bin 0.
  for (int i = 0; exponent_ < exponent; ++exponent_, ++i) {
    if (i < 12) {
      merge_pairs(std::span(bins_).first(kBins));
      merge_pairs(std::span(bins_).last(kBins));
    }
  }
}

void Histogram::add(std::span<const float> values) {
  for (size_t i = 0; i < values.size(); i += kBlock) {
    add_block(values.subspan(i, std::min(kBlock, values.size() - i)), true);
  }
}

void Histogram::add_extremes(std::span<const float> values) {
  for (size_t i = 0; i < values.size(); i += kBlock) {
    add_block(values.subspan(i, std::min(kBlock, values.size() - i)), false);
  }
}

void Histogram::add_range(float low, float high, int64_t finite) {
  // Adding 0 turns -0 into 0, which would otherwise depend on the order.
  min_ = (count_ == 0 ? low : std::min(min_, low)) + 0.0f;
  max_ = (count_ == 0 ? high : std::max(max_, high)) + 0.0f;
  count_ += finite;
  const float magnitude = std::max(std::abs(low), std::abs(high));
  if (magnitude == 0) return;
  const int exponent = exponent_for(magnitude);
  if (exponent_ == kUnset || exponent > exponent_) widen(exponent);
}

void Histogram::add_block(std::span<const float> block, bool counts) {
  const Range range = range_of(block);
  if (!range.finite) {
    // Rare: the finite ones alone.
    std::array<float, kBlock> kept;
    const auto end =
        std::copy_if(block.begin(), block.end(), kept.begin(), [](float x) { return std::isfinite(x); });
    const auto finite = static_cast<size_t>(end - kept.begin());
    not_finite_ += static_cast<int64_t>(block.size() - finite);
    if (finite > 0) add_block(std::span<const float>(kept).first(finite), counts);
    return;
  }
  add_range(range.low, range.high, static_cast<int64_t>(block.size()));
  if (!counts) return;
  if (range.low == range.high) {
    const int bin =
        exponent_ == kUnset ? 0 : static_cast<int>(std::abs(double{range.low}) * std::ldexp(1.0, -exponent_));
    bins_[static_cast<size_t>(std::min(bin, kBins - 1) + (range.low < 0 ? kBins : 0))] +=
        static_cast<int64_t>(block.size());
    return;
  }
  std::array<uint16_t, kBlock> places;
  places_of(block, std::ldexp(1.0f, -exponent_), places);
  count_places(std::span<const uint16_t>(places).first(block.size()), bins_);
}

void Histogram::merge(const Histogram& other) {
  not_finite_ += other.not_finite_;
  if (other.count_ == 0) return;
  Histogram theirs = other;
  if (theirs.exponent_ != kUnset) {
    if (exponent_ == kUnset || theirs.exponent_ > exponent_)
      widen(theirs.exponent_);
    else
      theirs.widen(exponent_);
  }
  for (size_t i = 0; i < bins_.size(); ++i) bins_[i] += theirs.bins_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
}

double Histogram::magnitude_quantile(double fraction) const {
  if (count_ == 0 || exponent_ == kUnset) return 0;
  const double wanted = fraction * static_cast<double>(count_);
  int64_t seen = 0;
  for (int i = 0; i < kBins; ++i) {
    seen += positive(i) + negative(i);
    if (static_cast<double>(seen) >= wanted) {
      const double edge = (i + 1) * width();
      return std::min(edge, static_cast<double>(std::max(std::abs(min_), std::abs(max_))));
    }
  }
  return std::max(std::abs(min_), std::abs(max_));
}

}  // namespace tandem::quant
