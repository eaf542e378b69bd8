// SPDX-License-Identifier: Apache-2.0
// Reading of untrusted models: bytes of files go through the helper, bytes in exchange form through the
// importer. What loads must verify, and must be writable again or be refused with a message.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tandem/ir/verify.hpp"
#include "tandem/testing/op_cases.hpp"
#include "tandem/xir_io/xir_io.hpp"

namespace {

using tandem::xir_io::LoadedModel;

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "xir_fuzz: %s\n", what);
  abort();
}

void check(const LoadedModel& loaded) {
  if (!tandem::ir::verify(loaded.graph).ok()) fail("a loaded graph does not verify");
  const auto written = tandem::xir_io::export_model(loaded.graph);
  if (written.ok() && !tandem::xir_io::from_wire(tandem::xir_io::to_wire(*written)).ok())
    fail("a written model cannot be read");
}

}  // namespace

// Seeds: pieces of the op table, once as exchange form and once as a file.
extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes);
bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes) {
  static const std::vector<tandem::testing::OpCase> cases = tandem::testing::op_cases();
  constexpr size_t kStep = 9;  // every ninth case is enough variety
  const size_t which = index / 2 * kStep;
  if (which >= cases.size()) return false;
  bytes->assign(1, static_cast<uint8_t>(index % 2));
  const auto model = tandem::xir_io::export_model(tandem::testing::build(cases[which], 1).graph);
  if (!model.ok()) return true;
  const auto file = index % 2 == 0 ? tandem::Result<std::string>(tandem::xir_io::to_wire(*model))
                                   : tandem::xir_io::to_bytes(tandem::testing::build(cases[which], 1).graph);
  if (file.ok()) bytes->insert(bytes->end(), file->begin(), file->end());
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A process for every input would be slow: one in 64 of those that ask for it.
  const bool file = data[0] % 2 == 1;
  if (file && (size * 2654435761u >> 8) % 64 != 0) return 0;
  if (file) {
    const auto loaded = tandem::xir_io::load_model_bytes(rest);
    if (loaded.ok()) check(*loaded);
    return 0;
  }
  const auto model = tandem::xir_io::from_wire(rest);
  if (!model.ok()) return 0;
  const auto loaded = tandem::xir_io::import_model(*model);
  if (loaded.ok()) check(*loaded);
  return 0;
}
