// SPDX-License-Identifier: Apache-2.0
// Runs a libFuzzer target where there is no libFuzzer (g++): mutates seeds for a while, or replays files.
//   x_fuzz --seconds 10 --seed 1 --corpus DIR      x_fuzz FILE...
// Same seed and corpus, same sequence of inputs. On a crash the input is left in
// crash-<program>-<seed>-<run>.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tandem/base/rng.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// A target may bring seeds of its own: called with 0, 1, 2... until it returns false.
extern "C" __attribute__((weak)) bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kInputBytesMax = size_t{1} << 20;
constexpr size_t kPoolMax = 512;
constexpr unsigned kHangSeconds = 60;  // One input must not take longer, sanitizers included.

// What the crash handlers read; they may call only async-signal-safe functions.
const uint8_t* current_data = nullptr;
size_t current_size = 0;
char crash_path[512];

void keep_current_input() {
  if (current_data == nullptr) return;
  const int fd = ::open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return;
  const uint8_t* data = current_data;
  size_t left = current_size;
  while (left > 0) {
    const ssize_t n = ::write(fd, data, left);
    if (n <= 0) break;
    data += n;
    left -= static_cast<size_t>(n);
  }
  ::close(fd);
  current_data = nullptr;
  const char text[] = "\nfailing input kept in: ";
  static_cast<void>(!::write(STDERR_FILENO, text, sizeof text - 1));
  size_t length = 0;
  while (crash_path[length] != '\0') ++length;
  static_cast<void>(!::write(STDERR_FILENO, crash_path, length));
  static_cast<void>(!::write(STDERR_FILENO, "\n", 1));
}

void on_signal(int number) {
  keep_current_input();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void install_handlers() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  __sanitizer_set_death_callback(keep_current_input);
  for (const int number : {SIGABRT, SIGALRM}) ::signal(number, on_signal);
#else
  for (const int number : {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(number, on_signal);
#endif
}

void run_one(const Bytes& input, const std::string& kept_as) {
  std::snprintf(crash_path, sizeof crash_path, "%s", kept_as.c_str());
  // An exact heap copy, so that a read beyond the end is seen.
  const Bytes exact(input);
  static const uint8_t kEmpty = 0;
  current_data = exact.empty() ? &kEmpty : exact.data();
  current_size = exact.size();
  ::alarm(kHangSeconds);
  LLVMFuzzerTestOneInput(current_data, current_size);
  ::alarm(0);
  current_data = nullptr;
}

bool read_bytes(const std::filesystem::path& path, Bytes& bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return true;
}

// Sorted by name, because directory order differs between machines.
std::vector<Bytes> read_corpus(const std::string& directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.file_size() <= kInputBytesMax) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    Bytes bytes;
    if (corpus.size() < kPoolMax && read_bytes(path, bytes)) corpus.push_back(std::move(bytes));
  }
  return corpus;
}

// Numbers that lengths, counts and offsets go wrong at.
void overwrite_number(Bytes& input, tandem::Rng& rng) {
  static constexpr uint64_t kNumbers[] = {0,          1,           0x7f,      0x80,       0xff,
                                          0x7fff,     0x8000,      0xffff,    0x7fffffff, 0x80000000,
                                          0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX, 0x4000000000000000};
  if (input.empty()) return;
  const uint64_t number = kNumbers[rng.below(std::size(kNumbers))];
  const size_t width = size_t{1} << rng.below(4);
  const bool big_endian = rng.below(2) == 0;
  const size_t at = rng.below(input.size());
  for (size_t i = 0; i < width && at + i < input.size(); ++i) {
    input[at + i] = static_cast<uint8_t>(number >> (8 * (big_endian ? width - 1 - i : i)));
  }
}

void mutate_once(Bytes& input, const std::vector<Bytes>& pool, tandem::Rng& rng) {
  const auto spot = [&] { return static_cast<std::ptrdiff_t>(rng.below(input.size() + 1)); };
  switch (rng.below(8)) {
    case 0:  // Bit flip.
      if (!input.empty()) input[rng.below(input.size())] ^= static_cast<uint8_t>(1u << rng.below(8));
      break;
    case 1:  // Any byte.
      if (!input.empty()) input[rng.below(input.size())] = static_cast<uint8_t>(rng.below(256));
      break;
    case 2:  // Truncate.
      input.resize(rng.below(input.size() + 1));
      break;
    case 3: {  // Insert noise.
      Bytes noise(1 + rng.below(16));
      for (uint8_t& byte : noise) byte = static_cast<uint8_t>(rng.below(256));
      input.insert(input.begin() + spot(), noise.begin(), noise.end());
      break;
    }
    case 4: {  // Splice: a piece of another input.
      const Bytes& other = pool[rng.below(pool.size())];
      if (other.empty()) break;
      const size_t from = rng.below(other.size());
      const size_t length = 1 + rng.below(std::min<size_t>(other.size() - from, 4096));
      const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
      input.insert(input.begin() + spot(), first, first + static_cast<std::ptrdiff_t>(length));
      break;
    }
    case 5: {  // Remove a piece.
      const auto begin = spot();
      const size_t left = input.size() - static_cast<size_t>(begin);
      const auto length = static_cast<std::ptrdiff_t>(rng.below(std::min<size_t>(left, 64) + 1));
      input.erase(input.begin() + begin, input.begin() + begin + length);
      break;
    }
    case 6: {  // Repeat a piece.
      const auto begin = spot();
      const size_t left = input.size() - static_cast<size_t>(begin);
      const auto length = static_cast<std::ptrdiff_t>(rng.below(std::min<size_t>(left, 256) + 1));
      const Bytes piece(input.begin() + begin, input.begin() + begin + length);
      input.insert(input.begin() + begin, piece.begin(), piece.end());
      break;
    }
    default: overwrite_number(input, rng); break;
  }
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
}

struct Options {
  double seconds = 10;
  uint64_t seed = 1;
  std::vector<std::string> corpus;
  std::vector<std::string> files;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--seconds" && has_value) {
      options.seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--seed" && has_value) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--corpus" && has_value) {
      options.corpus.push_back(argv[++i]);
    } else if (argument.starts_with("-")) {
      std::fprintf(stderr, "usage: %s [--seconds N] [--seed N] [--corpus DIR] | FILE...\n", argv[0]);
      return false;
    } else {
      options.files.push_back(argument);
    }
  }
  return true;
}

int replay(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    Bytes bytes;
    if (!read_bytes(file, bytes)) {
      std::fprintf(stderr, "cannot read '%s'\n", file.c_str());
      return 7;
    }
    std::fprintf(stderr, "replaying %s (%zu bytes)\n", file.c_str(), bytes.size());
    run_one(bytes, file + ".again");
  }
  return 0;
}

std::vector<Bytes> collect_seeds(const Options& options) {
  std::vector<Bytes> pool;
  for (const std::string& directory : options.corpus) {
    for (Bytes& bytes : read_corpus(directory)) pool.push_back(std::move(bytes));
  }
  if (tandem_fuzz_seed != nullptr) {
    Bytes bytes;
    for (size_t index = 0; tandem_fuzz_seed(index, &bytes); ++index) pool.push_back(bytes);
  }
  if (pool.empty()) pool.push_back({});
  return pool;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return 2;
  install_handlers();
  if (!options.files.empty()) return replay(options.files);

  std::vector<Bytes> pool = collect_seeds(options);
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  std::fprintf(stderr, "%s: seed %llu, %zu seed inputs, %g seconds\n", name.c_str(),
               static_cast<unsigned long long>(options.seed), pool.size(), options.seconds);
  tandem::Rng rng(options.seed);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t runs = 0;
  const auto kept_as = [&] {
    return "crash-" + name + "-" + std::to_string(options.seed) + "-" + std::to_string(runs);
  };
  for (size_t i = 0; i < pool.size(); ++i, ++runs) run_one(pool[i], kept_as());
  const size_t seeds = pool.size();
  while (elapsed() < options.seconds) {
    Bytes input = pool[rng.below(pool.size())];
    // Mostly few changes: many of them at once rarely get past the first check.
    for (size_t changes = 1 + rng.below(size_t{1} << rng.below(5)); changes > 0; --changes) {
      mutate_once(input, pool, rng);
    }
    run_one(input, kept_as());
    ++runs;
    // No coverage to go by: mutants of mutants now and then reach what one step cannot. Seeds are never
    // replaced.
    if (runs % 64 == 0 && input.size() <= 65536) {
      if (pool.size() < kPoolMax + seeds) {
        pool.push_back(std::move(input));
      } else {
        pool[seeds + rng.below(kPoolMax)] = std::move(input);
      }
    }
  }
  std::fprintf(stderr, "%s: %llu runs in %.1f s, no failure\n", name.c_str(),
               static_cast<unsigned long long>(runs), elapsed());
  return 0;
}
