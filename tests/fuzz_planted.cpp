// SPDX-License-Identifier: Apache-2.0
// A fuzz target with a planted fault: proves that tests/fuzz_main.cpp finds one and keeps the input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes);
extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes) {
  if (index > 0) return false;
  *bytes = {'a', 'b', 'c', 'd'};
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 3 && data[0] == 'a' && data[2] != 'c') std::abort();
  return 0;
}
