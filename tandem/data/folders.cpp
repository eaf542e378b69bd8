// SPDX-License-Identifier: Apache-2.0
// Folders through std::filesystem without its exceptions; every listing is sorted.
#include "tandem/data/folders.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>

namespace tandem::data::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::array kImageExtensions = {"jpg", "jpeg", "jpe", "jfif", "png", "webp",
                                         "bmp", "dib",  "pbm", "pgm",  "ppm", "pnm"};
// Kinds of image that a user means as such and that we do not read.
constexpr std::array kOtherExtensions = {"gif", "tif", "tiff", "heic", "heif", "avif",
                                         "jp2", "jxl", "psd",  "tga",  "svg",  "ico"};
constexpr std::array kSystemNames = {"__MACOSX",   "Thumbs.db", "desktop.ini",
                                     "lost+found", "@eaDir",    "$RECYCLE.BIN"};

std::string extension_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {};
  std::string extension = name.substr(dot + 1);
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

template <size_t N>
bool among(const std::array<const char*, N>& names, const std::string& text) {
  return std::find_if(names.begin(), names.end(), [&](const char* name) { return text == name; }) !=
         names.end();
}

// Device and inode of the folders above: a link back to one of them would never end.
struct FolderId {
  dev_t device;
  ino_t inode;
  friend bool operator==(const FolderId&, const FolderId&) = default;
};

Status walk(const std::string& folder, std::vector<FolderId>& above, int32_t label, Dataset& dataset) {
  constexpr size_t kMaxDepth = 64;
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return io_error(fmt::format("cannot read folder '{}'", folder));
  const FolderId id{info.st_dev, info.st_ino};
  if (above.size() >= kMaxDepth || std::find(above.begin(), above.end(), id) != above.end()) {
    dataset.skipped.push_back({folder, "a link that leads back to a folder above"});
    return {};
  }
  above.push_back(id);
  Listing listing = TANDEM_TRY(list_folder(folder));
  const auto move_to = [](std::vector<Skipped>& from, std::vector<Skipped>& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_to(listing.skipped, dataset.skipped);
  move_to(listing.ignored, dataset.ignored);
  for (const std::string& name : listing.files) {
    const std::string path = folder + "/" + name;
    if (has_image_name(name)) {
      dataset.samples.push_back({path, -1, label});
    } else if (among(kOtherExtensions, extension_of(name))) {
      dataset.skipped.push_back({path, fmt::format("{} images cannot be read", extension_of(name))});
    } else {
      dataset.ignored.push_back({path, "its name is not that of an image"});
    }
  }
  for (const std::string& name : listing.folders)
    TANDEM_TRY(walk(folder + "/" + name, above, label, dataset));
  above.pop_back();
  return {};
}

}  // namespace

bool has_image_name(const std::string& name) { return among(kImageExtensions, extension_of(name)); }

Result<Listing> list_folder(const std::string& path) {
  Listing listing;
  std::error_code code;
  fs::directory_iterator entries(path, code);
  if (code) return io_error(fmt::format("cannot read folder '{}'", path)).because(code.message());
  for (; entries != fs::directory_iterator(); entries.increment(code)) {
    if (code) break;
    const std::string name = entries->path().filename().string();
    const std::string full = path + "/" + name;
    if (name.front() == '.') {
      listing.ignored.push_back({full, "hidden"});
      continue;
    }
    if (among(kSystemNames, name)) {
      listing.ignored.push_back({full, "made by the operating system"});
      continue;
    }
    std::error_code status_code;
    const auto status = entries->status(status_code);
    if (fs::is_directory(status)) {
      listing.folders.push_back(name);
    } else if (fs::is_regular_file(status)) {
      listing.files.push_back(name);
    } else if (!fs::exists(status)) {
      listing.skipped.push_back({full, "a link to nothing"});
    } else {
      listing.skipped.push_back({full, "not a regular file"});
    }
  }
  if (code) return io_error(fmt::format("cannot read folder '{}'", path)).because(code.message());
  std::sort(listing.folders.begin(), listing.folders.end());
  std::sort(listing.files.begin(), listing.files.end());
  const auto by_path = [](const Skipped& a, const Skipped& b) { return a.path < b.path; };
  std::sort(listing.skipped.begin(), listing.skipped.end(), by_path);
  std::sort(listing.ignored.begin(), listing.ignored.end(), by_path);
  return listing;
}

Status collect_images(const std::string& folder, int32_t label, Dataset& dataset) {
  const auto before = static_cast<std::ptrdiff_t>(dataset.samples.size());
  std::vector<FolderId> above;
  TANDEM_TRY(walk(folder, above, label, dataset));
  std::sort(dataset.samples.begin() + before, dataset.samples.end(),
            [](const Sample& a, const Sample& b) { return a.path < b.path; });
  return {};
}

}  // namespace tandem::data::detail
