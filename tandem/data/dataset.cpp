// SPDX-License-Identifier: Apache-2.0
// Seeded splitting and limiting, loading of samples, checks.
#include "tandem/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/base/check.hpp"
#include "tandem/base/rng.hpp"
#include "tandem/data/labels.hpp"

namespace tandem::data {
namespace {

// Streams of the seed, so that a split and a limit with one seed are independent choices.
constexpr uint64_t kSplitStream = 1, kLimitStream = 2;

// Sample numbers by class, each class in a seeded order. Unlabelled samples form one class.
std::vector<std::vector<size_t>> shuffled_by_class(const Dataset& dataset, uint64_t seed, uint64_t stream) {
  std::vector<std::vector<size_t>> groups(dataset.class_names.size() + 1);
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    const int32_t label = dataset.samples[i].label;
    groups[label == kNoLabel ? dataset.class_names.size() : static_cast<size_t>(label)].push_back(i);
  }
  const Rng root = Rng(seed).fork(stream);
  for (size_t c = 0; c < groups.size(); ++c) {
    Rng rng = root.fork(c);
    rng.shuffle(groups[c]);
  }
  return groups;
}

// How many of each class: in proportion by largest remainder, then at least one of each where the limit
// allows.
std::vector<size_t> quotas(const std::vector<std::vector<size_t>>& groups, size_t total, size_t limit) {
  std::vector<size_t> quota(groups.size()), order;
  std::vector<uint64_t> remainder(groups.size());
  size_t given = 0;
  for (size_t c = 0; c < groups.size(); ++c) {
    const uint64_t share = uint64_t{groups[c].size()} * limit;
    quota[c] = share / total;
    remainder[c] = share % total;
    given += quota[c];
    order.push_back(c);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainder[a] > remainder[b]; });
  for (size_t i = 0; given < limit; ++i, ++given) ++quota[order[i]];
  for (size_t c = 0; c < groups.size(); ++c) {
    if (quota[c] > 0 || groups[c].empty()) continue;
    auto largest = std::max_element(quota.begin(), quota.end());
    if (*largest < 2) break;
    --*largest;
    quota[c] = 1;
  }
  return quota;
}

void keep(Dataset& dataset, std::vector<size_t> chosen) {
  std::sort(chosen.begin(), chosen.end());
  std::vector<Sample> samples;
  samples.reserve(chosen.size());
  for (const size_t i : chosen) samples.push_back(std::move(dataset.samples[i]));
  dataset.samples = std::move(samples);
}

}  // namespace

std::string Dataset::name(size_t sample) const {
  TANDEM_CHECK(sample < samples.size());
  const Sample& s = samples[sample];
  return s.path.empty() ? fmt::format("{}[{}]", idx->name(), s.index) : s.path;
}

std::vector<int64_t> Dataset::class_counts() const {
  std::vector<int64_t> counts(class_names.size());
  for (const Sample& sample : samples) {
    if (sample.label != kNoLabel) ++counts[static_cast<size_t>(sample.label)];
  }
  return counts;
}

Dataset limited(Dataset dataset, int64_t limit, uint64_t seed) {
  if (limit <= 0 || static_cast<size_t>(limit) >= dataset.samples.size()) return dataset;
  const auto groups = shuffled_by_class(dataset, seed, kLimitStream);
  const auto quota = quotas(groups, dataset.samples.size(), static_cast<size_t>(limit));
  std::vector<size_t> chosen;
  for (size_t c = 0; c < groups.size(); ++c) {
    chosen.insert(chosen.end(), groups[c].begin(), groups[c].begin() + static_cast<std::ptrdiff_t>(quota[c]));
  }
  keep(dataset, std::move(chosen));
  return dataset;
}

Split split_stratified(Dataset dataset, double fraction, uint64_t seed) {
  TANDEM_CHECK(fraction > 0 && fraction < 1);
  std::vector<size_t> first, second;
  for (const auto& group : shuffled_by_class(dataset, seed, kSplitStream)) {
    if (group.empty()) continue;
    const auto size = static_cast<int64_t>(group.size());
    int64_t moved = std::llround(fraction * static_cast<double>(size));
    moved = std::min(std::max<int64_t>(moved, 1), size - 1);
    second.insert(second.end(), group.begin(), group.begin() + moved);
    first.insert(first.end(), group.begin() + moved, group.end());
  }
  Split split;
  split.second.class_names = dataset.class_names;
  split.second.idx = dataset.idx;
  split.second.samples = dataset.samples;
  split.first = std::move(dataset);
  keep(split.first, std::move(first));
  keep(split.second, std::move(second));
  return split;
}

Result<Image> load_image(const Dataset& dataset, size_t sample, const DecodeOptions& options) {
  TANDEM_CHECK(sample < dataset.samples.size());
  const Sample& s = dataset.samples[sample];
  if (s.path.empty()) return dataset.idx->image(s.index);
  return read_image(s.path, options);
}

Status refuse_skipped(std::span<const Skipped> skipped) {
  if (skipped.empty()) return {};
  constexpr size_t kShown = 10;
  std::string list;
  for (size_t i = 0; i < std::min(kShown, skipped.size()); ++i) {
    list += fmt::format("{}{}: {}", i == 0 ? "" : "\n  ", skipped[i].path, skipped[i].reason);
  }
  if (skipped.size() > kShown) list += fmt::format("\n  and {} more", skipped.size() - kShown);
  return Error(ErrorCode::kGateFailed, fmt::format("{} image(s) cannot be used", skipped.size()))
      .because(std::move(list))
      .hint("repair or remove them, or leave out --strict to go on without them");
}

Status check_same_classes(std::span<const std::string> expected, std::span<const std::string> found) {
  if (std::equal(expected.begin(), expected.end(), found.begin(), found.end())) return {};
  std::vector<std::string> a(expected.begin(), expected.end()), b(found.begin(), found.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const char* what = expected.size() != found.size() ? "the number of classes changed"
                     : a == b                        ? "the order of the classes changed"
                                                     : "the names of the classes changed";
  return bad_input(what).because(fmt::format("expected: {}\n  found: {}", list_of(expected), list_of(found)));
}

}  // namespace tandem::data
