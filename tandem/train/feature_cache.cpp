// SPDX-License-Identifier: Apache-2.0
// The mapped file: one page of header, then row-major f32.
#include "tandem/train/feature_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tandem/base/check.hpp"

namespace tandem::train {
namespace {

constexpr char kMagic[16] = "tandem.features";
constexpr uint64_t kVersion = 1;
constexpr size_t kHeaderBytes = 4096;
constexpr int64_t kFileBytesMax = int64_t{1} << 42;

struct Header {
  char magic[16];
  uint64_t version;
  char key[128];
  int64_t rows, columns;
  std::atomic<int64_t> rows_done;
};
static_assert(sizeof(Header) <= kHeaderBytes && std::atomic<int64_t>::is_always_lock_free);

Header* header_of(void* address) { return static_cast<Header*>(address); }
float* data_of(void* address) { return reinterpret_cast<float*>(static_cast<char*>(address) + kHeaderBytes); }

bool matches(const Header& header, const std::string& key, int64_t rows, int64_t columns) {
  const int64_t done = header.rows_done.load(std::memory_order_relaxed);
  return std::memcmp(header.magic, kMagic, sizeof(kMagic)) == 0 && header.version == kVersion &&
         std::strncmp(header.key, key.c_str(), sizeof(header.key)) == 0 && header.rows == rows &&
         header.columns == columns && done >= 0 && done <= rows;
}

}  // namespace

Result<FeatureCache> FeatureCache::open(const std::string& path, const std::string& key, int64_t rows, int64_t columns) {
  TANDEM_CHECK(rows >= 0 && columns > 0 && key.size() < sizeof(Header::key), "feature cache of a bad size or key");
  int64_t data_bytes = 0;
  if (__builtin_mul_overflow(rows, columns * static_cast<int64_t>(sizeof(float)), &data_bytes) || data_bytes > kFileBytesMax) {
    return bad_input(fmt::format("features of {} images with {} values each do not fit a file", rows, columns));
  }
  const size_t bytes = kHeaderBytes + static_cast<size_t>(data_bytes);
  const auto cannot = [&](const char* verb, int code) {
    return io_error(fmt::format("cannot {} the feature cache '{}'", verb, path)).because(std::strerror(code));
  };
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return cannot("open", errno);
  struct stat info {};
  bool fresh = ::fstat(fd, &info) != 0 || static_cast<size_t>(info.st_size) != bytes;
  if (fresh) {
    // Blocks are claimed now: writing to a mapping on a full disk would end in SIGBUS. A file system without this call
    // (EOPNOTSUPP) is taken at its word.
    int code = ::ftruncate(fd, 0) == 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
    if (code == 0) code = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    if (code != 0 && code != EOPNOTSUPP && code != EINVAL) {
      ::close(fd);
      ::unlink(path.c_str());
      return cannot("make room for", code).hint(fmt::format("it needs {} MB", bytes >> 20));
    }
  }
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int map_errno = errno;
  ::close(fd);
  if (address == MAP_FAILED) return cannot("map", map_errno);
  FeatureCache cache;
  cache.address_ = address;
  cache.bytes_ = bytes;
  cache.rows_ = rows;
  cache.columns_ = columns;
  Header& header = *header_of(address);
  if (fresh || !matches(header, key, rows, columns)) {
    header.rows_done.store(0, std::memory_order_relaxed);
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.version = kVersion;
    std::memset(header.key, 0, sizeof(header.key));
    std::memcpy(header.key, key.data(), key.size());
    header.rows = rows;
    header.columns = columns;
  }
  return cache;
}

FeatureCache::FeatureCache(FeatureCache&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      rows_(other.rows_),
      columns_(other.columns_) {}

FeatureCache& FeatureCache::operator=(FeatureCache&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(rows_, other.rows_);
  std::swap(columns_, other.columns_);
  return *this;
}

FeatureCache::~FeatureCache() {
  if (address_ != nullptr) ::munmap(address_, bytes_);
}

int64_t FeatureCache::rows_done() const { return header_of(address_)->rows_done.load(std::memory_order_acquire); }

void FeatureCache::append(std::span<const float> features) {
  const int64_t done = rows_done();
  const int64_t added = static_cast<int64_t>(features.size()) / columns_;
  TANDEM_CHECK(added * columns_ == static_cast<int64_t>(features.size()) && done + added <= rows_, "rows do not fit");
  if (added == 0) return;
  std::memcpy(data_of(address_) + done * columns_, features.data(), features.size_bytes());
  header_of(address_)->rows_done.store(done + added, std::memory_order_release);
}

std::span<const float> FeatureCache::row(int64_t i) const {
  TANDEM_CHECK(i >= 0 && i < rows_done(), "row is not there");
  return {data_of(address_) + i * columns_, static_cast<size_t>(columns_)};
}

std::span<const float> FeatureCache::all() const {
  return {data_of(address_), static_cast<size_t>(rows_done() * columns_)};
}

}  // namespace tandem::train
