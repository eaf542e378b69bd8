// SPDX-License-Identifier: Apache-2.0
// Internal to the room: walks folders in an order that does not depend on the file system, and tells images
// from junk.
#pragma once

#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"

namespace tandem::data::detail {

struct Listing {
  std::vector<std::string> folders;  // names, sorted by bytes, without hidden and system ones
  std::vector<std::string> files;    // likewise
  std::vector<Skipped> skipped;      // broken links and special files
  std::vector<Skipped> ignored;
};

// What a folder holds; symbolic links are followed.
Result<Listing> list_folder(const std::string& path);

// Appends every image below a folder as a sample with `label`, sorted by bytes of the path. Files with a name
// that is no image's are ignored, those of known kinds that cannot be decoded are skipped.
Status collect_images(const std::string& folder, int32_t label, Dataset& dataset);

// "ok" by name: .jpg .jpeg .jpe .jfif .png .webp .bmp .dib .pbm .pgm .ppm .pnm, any case.
bool has_image_name(const std::string& name);

}  // namespace tandem::data::detail
