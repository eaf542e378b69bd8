// SPDX-License-Identifier: Apache-2.0
// BatchLoader: decodes and preprocesses on threads of its own while the caller computes, and hands out
// batches in order. What comes out does not depend on the number of threads; memory does not depend on the
// number of images.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/base/result.hpp"
#include "tandem/base/rng.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::data {

struct Augment {
  bool flip = false;  // mirrored left to right, one time in two
  // A random part of 35 to 100 % of the area, sides 3:4 to 4:3, resized to the input's size, in place of the
  // model's rule.
  bool crop = false;
  bool any() const { return flip || crop; }
};

struct LoaderOptions {
  int64_t batch = 16;
  size_t threads = 2;
  int64_t ahead = 2;  // batches prepared before they are asked for
  PixelLayout layout = PixelLayout::kNchw;
  bool levels = false;        // u8 before normalisation (write_levels) in place of f32
  std::vector<size_t> order;  // sample numbers to visit; empty: all, in order
  Augment augment;
  uint64_t seed = 42;  // with epoch and sample number it decides each augmentation
  uint64_t epoch = 0;
  bool strict = false;                  // an image that cannot be used is an error
  const CancelToken* cancel = nullptr;  // must outlive the loader
};

struct Batch {
  Tensor images;  // f32 or u8 [B,C,H,W] or [B,H,W,C]; B below the asked size only in the last one
  std::vector<int32_t> labels;  // kNoLabel where there is none
  std::vector<size_t> samples;  // numbers in the dataset
};

class BatchLoader {
 public:
  // Starts at once. The dataset must outlive the loader. Preconditions: batch, threads and ahead above 0, a
  // valid preprocess, sample numbers inside the dataset.
  BatchLoader(const Dataset& dataset, const Preprocess& preprocess, LoaderOptions options);
  BatchLoader(BatchLoader&&) noexcept;
  BatchLoader& operator=(BatchLoader&&) = delete;
  ~BatchLoader();  // stops the threads after the images they are at

  // The next batch, or nothing after the last one. Images that cannot be used are left out and the following
  // ones move up. Errors: kInterrupted when cancelled; with strict, the first such image; kBadInput when
  // there was no usable one at all. One thread calls it.
  Result<std::optional<Batch>> next();

  // What was left out so far, in order.
  const std::vector<Skipped>& skipped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One decoded image as the model wants it, augmented by `rng` (which is not used when nothing is to be
// augmented).
Result<Image> fit_augmented(const Preprocess& preprocess, const Image& image, const Augment& augment,
                            Rng rng);

}  // namespace tandem::data
