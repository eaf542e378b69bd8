// SPDX-License-Identifier: Apache-2.0
// Dataset: a list of labelled images, made from class folders, IDX files or a CSV, always in the same order.
// Images are listed here, not decoded; loader.hpp decodes them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/data/idx.hpp"
#include "tandem/data/image.hpp"

namespace tandem::data {

inline constexpr int32_t kNoLabel = -1;

struct Sample {
  std::string path;    // empty: image `index` of Dataset::idx
  int64_t index = -1;  // position in Dataset::idx
  int32_t label = kNoLabel;
};

struct Skipped {
  std::string path;
  std::string reason;
};

struct Dataset {
  std::vector<std::string> class_names;  // index = label; empty when there are no labels
  std::vector<Sample> samples;
  std::vector<Skipped> skipped;  // meant as images and not usable: counted, listed, an error when strict
  std::vector<Skipped> ignored;  // hidden files, system files, texts: listed when asked
  std::shared_ptr<const IdxImages> idx;

  // For messages: the path, or "train-images-idx3-ubyte.gz[17]".
  std::string name(size_t sample) const;
  // Samples per class.
  std::vector<int64_t> class_counts() const;
};

struct Datasets {
  Dataset train;
  Dataset val;
  // What was decided and the user should know: a split, a class without images, a blank line in labels.txt.
  std::vector<std::string> notes;
};

struct DatasetOptions {
  uint64_t seed = 42;
  double val_fraction = 0.2;  // of each class, where the data brings no validation part
  int64_t train_limit = 0;    // 0: all; else at most so many, seeded and stratified
  int64_t val_limit = 0;
  int64_t classes_min = 2;            // 1 where the data adds to classes that are known already
  bool allow_absolute_paths = false;  // in a CSV; the user vouches for it
};

// `path` is one of
//   a folder with train/ and val/ (or validation/, valid/, test/), each with a folder a class
//   a folder with a folder a class: split by seed, each class in proportion
//   a folder with train-images-idx3-ubyte[.gz], train-labels-idx1-ubyte[.gz] and their t10k- pair
//   one images-idx3 file with its labels-idx1 file beside it: split by seed
//   a .csv of path,label[,split]; paths relative to its folder
// Class order: by bytes of the folder name (of the label in a CSV, by value if all are whole numbers), or
// that of labels.txt beside the data. Within a class, by bytes of the path. classes_min classes at least, one
// image each at least.
Result<Datasets> open_datasets(const std::string& path, const DatasetOptions& options = {});

// The same as one dataset for measuring: the validation part where the data brings one, else everything. One
// class is enough; val_limit counts.
Result<Dataset> open_labelled(const std::string& path, const DatasetOptions& options = {},
                              std::vector<std::string>* notes = nullptr);

// For inference and calibration: files and folders (searched to any depth) and images-idx3 files or folders
// of them (alone), without labels. Sorted within each path; paths in the order given.
Result<Dataset> open_unlabelled(std::span<const std::string> paths);

// A seeded choice of at most `limit` samples (0: all), each class in proportion and with at least one where
// the limit allows; order kept. A larger limit chooses a superset within each class.
Dataset limited(Dataset dataset, int64_t limit, uint64_t seed);

// Moves a seeded `fraction` of each class (rounded, at least one, never all) to the second dataset; order
// kept. A class with one image stays in the first.
struct Split {
  Dataset first;
  Dataset second;
};
Split split_stratified(Dataset dataset, double fraction, uint64_t seed);

// Decodes a sample. Errors name it.
Result<Image> load_image(const Dataset& dataset, size_t sample, const DecodeOptions& options = {});

// Ok when nothing was skipped; else an error that lists what and why (for --strict).
Status refuse_skipped(std::span<const Skipped> skipped);

// Refuses another number and another order of classes, showing both lists (for resuming and extending).
Status check_same_classes(std::span<const std::string> expected, std::span<const std::string> found);

}  // namespace tandem::data
