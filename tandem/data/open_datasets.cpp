// SPDX-License-Identifier: Apache-2.0
// From what lies at a path to datasets: tells the forms apart, reads each into Parts, then splits, limits and
// checks.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "tandem/base/file.hpp"
#include "tandem/data/csv.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/data/folders.hpp"
#include "tandem/data/labels.hpp"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;
using detail::Listing;

constexpr const char* kForms =
    "give a folder with train/ and val/, a folder with a folder a class, IDX files, or a .csv of path,label";

// Before splitting: all images, or training and validation apart.
struct Parts {
  Dataset train;
  std::optional<Dataset> val;
  std::vector<std::string> notes;
};

bool is_folder(const std::string& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

bool is_file(const std::string& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

bool contains(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Form: folders of class folders.

// The class folders of `root` become labels by their place in `names`; with names unset, in order of their
// bytes.
Result<Dataset> read_class_folders(const std::string& root, const std::vector<std::string>& names) {
  Dataset dataset;
  dataset.class_names = names;
  Listing listing = TANDEM_TRY(detail::list_folder(root));
  dataset.ignored = std::move(listing.ignored);
  dataset.skipped = std::move(listing.skipped);
  for (const std::string& file : listing.files) {
    if (file == "labels.txt") continue;
    const std::string path = root + "/" + file;
    if (detail::has_image_name(file)) {
      dataset.skipped.push_back({path, "it lies in no class folder"});
    } else {
      dataset.ignored.push_back({path, "its name is not that of an image"});
    }
  }
  for (size_t label = 0; label < names.size(); ++label) {
    if (!contains(listing.folders, names[label])) continue;
    TANDEM_TRY(detail::collect_images(root + "/" + names[label], static_cast<int32_t>(label), dataset));
  }
  return dataset;
}

Result<std::vector<std::string>> class_folders(const std::string& root) {
  Listing listing = TANDEM_TRY(detail::list_folder(root));
  if (listing.folders.empty()) {
    return bad_input(fmt::format("'{}' holds no class folder", root))
        .because(fmt::format("it holds {} file(s) and no folder", listing.files.size()))
        .hint(kForms);
  }
  return std::move(listing.folders);
}

// A class folder without images is no class; it is said.
Result<std::vector<std::string>> drop_empty_classes(const std::string& root, std::vector<std::string> names,
                                                    std::vector<std::string>& notes) {
  const Dataset all = TANDEM_TRY(read_class_folders(root, names));
  const auto counts = all.class_counts();
  std::vector<std::string> kept;
  for (size_t i = 0; i < names.size(); ++i) {
    if (counts[i] > 0) {
      kept.push_back(names[i]);
    } else {
      notes.push_back(fmt::format("class '{}' has no image in '{}' and is left out", names[i], root));
    }
  }
  return kept;
}

Result<Parts> read_folders(const std::string& root, const std::string& train,
                           const std::optional<std::string>& val) {
  Parts parts;
  const auto labels = TANDEM_TRY(find_labels(root));
  if (labels) append(parts.notes, labels->notes);
  std::vector<std::string> names = TANDEM_TRY(class_folders(train));
  names = TANDEM_TRY(order_classes(std::move(names), labels));
  names = TANDEM_TRY(drop_empty_classes(train, std::move(names), parts.notes));
  if (val) {
    const std::vector<std::string> val_names = TANDEM_TRY(class_folders(*val));
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> unknown;
    std::set_difference(val_names.begin(), val_names.end(), sorted.begin(), sorted.end(),
                        std::back_inserter(unknown));
    if (!unknown.empty()) {
      return bad_input(
                 fmt::format("'{}' has classes that training does not have: {}", *val, list_of(unknown)))
          .because(fmt::format("training: {}\n  validation: {}", list_of(sorted), list_of(val_names)))
          .hint("give both folders the same class folders");
    }
    parts.val = TANDEM_TRY(read_class_folders(*val, names));
  }
  parts.train = TANDEM_TRY(read_class_folders(train, names));
  return parts;
}

// Form: IDX.

// The file as named or with .gz; nothing when neither exists.
std::optional<std::string> plain_or_packed(const std::string& path) {
  if (is_file(path)) return path;
  if (is_file(path + ".gz")) return path + ".gz";
  return std::nullopt;
}

std::optional<std::string> idx_images_in(const std::string& folder, const std::string& prefix) {
  for (const char* name : {"-images-idx3-ubyte", "-images.idx3-ubyte"}) {
    if (auto path = plain_or_packed(folder + "/" + prefix + name)) return path;
  }
  return std::nullopt;
}

bool is_idx_name(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name.find("images-idx3") != std::string::npos || name.find("images.idx3") != std::string::npos;
}

Result<Dataset> read_idx_images(const std::string& path) {
  Dataset dataset;
  dataset.idx = TANDEM_TRY(IdxImages::open(path));
  dataset.samples.resize(static_cast<size_t>(dataset.idx->count()));
  for (size_t i = 0; i < dataset.samples.size(); ++i) dataset.samples[i].index = static_cast<int64_t>(i);
  return dataset;
}

// Images and the labels file beside them: images-idx3 becomes labels-idx1 in the name.
Result<Dataset> read_idx_pair(const std::string& images_path) {
  const fs::path path(images_path);
  std::string name = path.filename().string();
  const size_t at = name.find("images");
  name.replace(at, std::string("images").size(), "labels");
  const size_t rank = name.find("idx3");
  if (rank != std::string::npos) name.replace(rank, 4, "idx1");
  if (fs::path(name).extension() == ".gz") name.resize(name.size() - 3);
  const auto labels_path = plain_or_packed((path.parent_path() / name).string());
  if (!labels_path) {
    return bad_input(fmt::format("IDX images '{}' have no labels", images_path))
        .because(fmt::format("neither '{}' nor '{}.gz' lies beside them", name, name));
  }
  Dataset dataset = TANDEM_TRY(read_idx_images(images_path));
  const auto labels = TANDEM_TRY(read_idx_labels(*labels_path));
  if (labels.size() != dataset.samples.size()) {
    return bad_input(fmt::format("'{}' and '{}' do not belong together", images_path, *labels_path))
        .because(fmt::format("there are {} images and {} labels", dataset.samples.size(), labels.size()));
  }
  for (size_t i = 0; i < labels.size(); ++i) dataset.samples[i].label = labels[i];
  return dataset;
}

int32_t largest_label(const Dataset& dataset) {
  int32_t largest = kNoLabel;
  for (const Sample& sample : dataset.samples) largest = std::max(largest, sample.label);
  return largest;
}

// Names of the numbers 0..largest: labels.txt, or the numbers themselves.
Result<std::vector<std::string>> names_of_numbers(int64_t largest, const std::optional<Labels>& labels) {
  if (labels) {
    if (static_cast<int64_t>(labels->names.size()) <= largest) {
      return bad_input("labels.txt names too few classes")
          .because(
              fmt::format("the data has label {}, labels.txt names {}", largest, list_of(labels->names)));
    }
    return labels->names;
  }
  std::vector<std::string> names;
  for (int64_t i = 0; i <= largest; ++i) names.push_back(std::to_string(i));
  return names;
}

void note_missing_classes(const Dataset& train, std::vector<std::string>& notes) {
  const auto counts = train.class_counts();
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 0)
      notes.push_back(fmt::format("class '{}' has no training image", train.class_names[c]));
  }
}

Result<Parts> read_idx(const std::string& train_images, const std::optional<std::string>& val_images) {
  Parts parts;
  parts.train = TANDEM_TRY(read_idx_pair(train_images));
  int32_t largest = largest_label(parts.train);
  if (val_images) {
    parts.val = TANDEM_TRY(read_idx_pair(*val_images));
    largest = std::max(largest, largest_label(*parts.val));
  }
  const auto labels = TANDEM_TRY(find_labels(fs::path(train_images).parent_path().string()));
  if (labels) append(parts.notes, labels->notes);
  parts.train.class_names = TANDEM_TRY(names_of_numbers(largest, labels));
  if (parts.val) parts.val->class_names = parts.train.class_names;
  note_missing_classes(parts.train, parts.notes);
  return parts;
}

// Form: CSV.

std::optional<int64_t> whole_number(const std::string& text) {
  constexpr int64_t kLargest = 99'999;
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0 || value > kLargest) return std::nullopt;
  if (std::to_string(value) != text) return std::nullopt;  // "007" is a name
  return value;
}

// Label texts to label numbers, with the names of the numbers.
struct LabelTable {
  std::vector<std::string> names;
  std::map<std::string, int32_t> number;
};

Result<LabelTable> label_table(const std::vector<ImageListEntry>& entries,
                               const std::optional<Labels>& labels) {
  std::set<std::string> texts;
  for (const auto& entry : entries) texts.insert(entry.label);
  std::vector<std::pair<int64_t, std::string>> numbers;
  for (const auto& text : texts) {
    if (const auto value = whole_number(text)) numbers.emplace_back(*value, text);
  }
  LabelTable table;
  const std::vector<std::string> found(texts.begin(), texts.end());
  if (numbers.size() < texts.size()) {
    table.names = TANDEM_TRY(order_classes(found, labels));
  } else {
    std::sort(numbers.begin(), numbers.end());
    if (labels) {
      // Numbers count the lines of labels.txt.
      table.names = TANDEM_TRY(names_of_numbers(numbers.back().first, labels));
      for (const auto& [value, text] : numbers) table.number[text] = static_cast<int32_t>(value);
      return table;
    }
    for (const auto& [value, text] : numbers) table.names.push_back(text);
  }
  for (size_t i = 0; i < table.names.size(); ++i) table.number[table.names[i]] = static_cast<int32_t>(i);
  return table;
}

Result<Parts> read_csv(const std::string& path, const DatasetOptions& options) {
  constexpr uint64_t kCsvLimitBytes = uint64_t{1} << 30;
  const std::string text = TANDEM_TRY(read_file(path, kCsvLimitBytes));
  const auto entries =
      TANDEM_TRY(parse_image_list(text, options.allow_absolute_paths).context(fmt::format("'{}'", path)));
  if (entries.empty()) return bad_input(fmt::format("'{}' lists no image", path));
  const fs::path folder = fs::path(path).parent_path();
  const auto labels = TANDEM_TRY(find_labels(folder.empty() ? "." : folder.string()));
  const LabelTable table = TANDEM_TRY(label_table(entries, labels));
  Parts parts;
  if (labels) append(parts.notes, labels->notes);
  const bool split_given = std::any_of(entries.begin(), entries.end(),
                                       [](const auto& entry) { return entry.part != Part::kUnsaid; });
  parts.train.class_names = table.names;
  if (split_given) {
    parts.val.emplace();
    parts.val->class_names = table.names;
  }
  for (const auto& entry : entries) {
    Dataset& dataset = split_given && entry.part == Part::kVal ? *parts.val : parts.train;
    Sample sample{(folder / entry.path).lexically_normal().string(), -1, table.number.at(entry.label)};
    if (is_file(sample.path)) {
      dataset.samples.push_back(std::move(sample));
    } else {
      dataset.skipped.push_back({sample.path, fmt::format("no such file (CSV line {})", entry.line)});
    }
  }
  const auto in_order = [](const Sample& a, const Sample& b) {
    return a.label != b.label ? a.label < b.label : a.path < b.path;
  };
  std::sort(parts.train.samples.begin(), parts.train.samples.end(), in_order);
  if (parts.val) std::sort(parts.val->samples.begin(), parts.val->samples.end(), in_order);
  note_missing_classes(parts.train, parts.notes);
  return parts;
}

// All forms.

Result<Parts> read_folder(const std::string& path) {
  if (const auto train = idx_images_in(path, "train")) return read_idx(*train, idx_images_in(path, "t10k"));
  const Listing listing = TANDEM_TRY(detail::list_folder(path));
  if (!contains(listing.folders, "train")) return read_folders(path, path, std::nullopt);
  for (const char* name : {"val", "validation", "valid", "test"}) {
    if (!contains(listing.folders, name)) continue;
    Parts parts = TANDEM_TRY(read_folders(path, path + "/train", path + "/" + name));
    for (const std::string& other : listing.folders) {
      if (other != "train" && other != name)
        parts.notes.push_back(fmt::format("folder '{}/{}' is not used", path, other));
    }
    return parts;
  }
  if (listing.folders.size() > 1) {
    // A class may well be called "train".
    return read_folders(path, path, std::nullopt);
  }
  return read_folders(path, path + "/train", std::nullopt);
}

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<Parts> read_parts(const std::string& given, const DatasetOptions& options) {
  const std::string path = without_trailing_slash(given);
  std::error_code code;
  if (!fs::exists(path, code)) {
    return io_error(fmt::format("cannot read data '{}'", path)).because("there is no such file or folder");
  }
  if (is_folder(path)) return read_folder(path);
  if (is_idx_name(path)) return read_idx(path, std::nullopt);
  if (fs::path(path).extension() == ".csv" || fs::path(path).extension() == ".CSV")
    return read_csv(path, options);
  return bad_input(fmt::format("'{}' is no labelled data", path)).hint(kForms);
}

std::string quoted(const std::string& path) { return "'" + path + "'"; }

Error no_images(const std::string& where, const Dataset& dataset) {
  std::string reason = fmt::format("{} file(s) cannot be used, {} are no images", dataset.skipped.size(),
                                   dataset.ignored.size());
  if (!dataset.skipped.empty())
    reason += fmt::format("; the first: {}: {}", dataset.skipped[0].path, dataset.skipped[0].reason);
  return bad_input(fmt::format("{} holds no image", where)).because(std::move(reason)).hint(kForms);
}

}  // namespace

Result<Datasets> open_datasets(const std::string& path, const DatasetOptions& options) {
  Parts parts = TANDEM_TRY(read_parts(path, options));
  if (parts.train.samples.empty()) return no_images(quoted(path), parts.train);
  if (static_cast<int64_t>(parts.train.class_names.size()) < options.classes_min) {
    return bad_input(fmt::format("'{}' has one class only", path))
        .because(fmt::format("every image is of class '{}': there is nothing to tell apart",
                             parts.train.class_names[0]))
        .hint("give a folder for each of two classes at least");
  }
  Datasets result;
  result.notes = std::move(parts.notes);
  const auto counts = parts.train.class_counts();
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 1) {
      result.notes.push_back(fmt::format("class '{}' has one image{}", parts.train.class_names[c],
                                         parts.val ? "" : ": it is trained on and not validated"));
    }
  }
  if (parts.val) {
    result.train = std::move(parts.train);
    result.val = *std::move(parts.val);
    if (result.val.samples.empty()) return no_images("the validation part of " + quoted(path), result.val);
  } else {
    if (!(options.val_fraction > 0 && options.val_fraction < 1)) {
      return usage_error(
          fmt::format("a validation fraction of {} is not between 0 and 1", options.val_fraction));
    }
    Split split = split_stratified(std::move(parts.train), options.val_fraction, options.seed);
    result.train = std::move(split.first);
    result.val = std::move(split.second);
    result.notes.push_back(fmt::format(
        "no validation part: {} of {} images of each class in proportion set aside (seed {})",
        result.val.samples.size(), result.train.samples.size() + result.val.samples.size(), options.seed));
    if (result.val.samples.empty()) {
      return bad_input(fmt::format("'{}' has too few images", path))
          .because("no class has two, so none can be set aside");
    }
  }
  result.train = limited(std::move(result.train), options.train_limit, options.seed);
  result.val = limited(std::move(result.val), options.val_limit, options.seed);
  return result;
}

Result<Dataset> open_labelled(const std::string& path, const DatasetOptions& options,
                              std::vector<std::string>* notes) {
  Parts parts = TANDEM_TRY(read_parts(path, options));
  Dataset dataset = parts.val ? *std::move(parts.val) : std::move(parts.train);
  if (dataset.samples.empty()) return no_images(quoted(path), dataset);
  if (notes != nullptr) append(*notes, parts.notes);
  return limited(std::move(dataset), options.val_limit, options.seed);
}

Result<Dataset> open_unlabelled(std::span<const std::string> paths) {
  if (paths.empty()) return usage_error("no image given");
  for (const std::string& given : paths) {
    const std::string path = without_trailing_slash(given);
    auto idx = is_idx_name(path) && is_file(path) ? std::optional(path) : std::nullopt;
    if (!idx && is_folder(path)) {
      idx = idx_images_in(path, "train");
      if (!idx) idx = idx_images_in(path, "t10k");
    }
    if (!idx) continue;
    if (paths.size() > 1)
      return usage_error(fmt::format("IDX images '{}' cannot be mixed with other images", path));
    return read_idx_images(*idx);
  }
  Dataset dataset;
  for (const std::string& given : paths) {
    const std::string path = without_trailing_slash(given);
    std::error_code code;
    if (!fs::exists(path, code)) {
      return io_error(fmt::format("cannot read '{}'", path)).because("there is no such file or folder");
    }
    if (is_folder(path)) {
      TANDEM_TRY(detail::collect_images(path, kNoLabel, dataset));
    } else {
      // Named by the user: an image whatever its name.
      dataset.samples.push_back({path, -1, kNoLabel});
    }
  }
  if (dataset.samples.empty()) return no_images(quoted(paths[0]), dataset);
  return dataset;
}

}  // namespace tandem::data
