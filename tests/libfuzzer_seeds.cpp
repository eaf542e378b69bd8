// SPDX-License-Identifier: Apache-2.0
// Gives libFuzzer the seeds that a target brings itself (tandem_fuzz_seed): before the run they are written
// into the first corpus folder of the command line. Without such a folder libFuzzer starts from nothing, as
// ever.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

extern "C" __attribute__((weak)) bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes);

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (tandem_fuzz_seed == nullptr) return 0;
  for (int i = 1; i < *argc; ++i) {
    const std::filesystem::path folder = (*argv)[i];
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) continue;
    std::vector<uint8_t> seed;
    for (size_t n = 0; tandem_fuzz_seed(n, &seed); ++n) {
      std::ofstream file(folder / ("seed-" + std::to_string(n)), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
    }
    return 0;
  }
  return 0;
}
