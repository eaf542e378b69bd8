// SPDX-License-Identifier: Apache-2.0
// Any bytes as an image list, as labels, as IDX images and labels and as preprocessing: parsed or refused
// with a reason.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tandem/data/csv.hpp"
#include "tandem/data/idx.hpp"
#include "tandem/data/labels.hpp"
#include "tandem/data/preprocess.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto list = tandem::data::parse_image_list(bytes, false); list.ok()) {
    for (const auto& entry : *list) {
      if (entry.path.empty() || entry.label.empty() || entry.path[0] == '/') std::abort();
    }
  }
  if (const auto labels = tandem::data::parse_labels(bytes); labels.ok() && labels->names.empty())
    std::abort();
  if (const auto images = tandem::data::IdxImages::parse(bytes, "fuzz");
      images.ok() && (*images)->count() > 0) {
    const tandem::data::Image image = (*images)->image((*images)->count() - 1);
    if (image.width < 1 || image.height < 1) std::abort();
  }
  static_cast<void>(tandem::data::parse_idx_labels(bytes, "fuzz").ok());
  if (const auto preprocess = tandem::data::parse_preprocess(bytes); preprocess.ok()) {
    if (!(*tandem::data::preprocess_from_json(tandem::data::to_json(*preprocess)) == *preprocess))
      std::abort();
  }
  return 0;
}

extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes) {
  std::string seed;
  switch (index) {
    case 0: seed = "path,label\na.jpg,cat\n\"b, c.jpg\",\"do\"\"g\"\n"; break;
    case 1: seed = "x.png,1\ny.png,2\n\n"; break;
    case 2: seed = std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x01", 16) + "abcd"; break;
    case 3: seed = std::string("\0\0\x08\x01\0\0\0\x03", 8) + "abc"; break;
    case 4: seed = tandem::data::to_json(tandem::data::Preprocess{}).dump(); break;
    // gzip of the labels above, stored.
    case 5:
      seed = std::string(
          "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x0b\0\xf4\xff\0\0\x08\x01\0\0\0\x03"
          "abc",
          26);
      break;
    default: return false;
  }
  bytes->assign(seed.begin(), seed.end());
  return true;
}
