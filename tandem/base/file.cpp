// SPDX-License-Identifier: Apache-2.0
// POSIX files behind Result.
#include "tandem/base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tandem {
namespace {

std::string errno_text(int code) { return std::strerror(code); }

Error cannot(const char* verb, const std::string& path, int code) {
  return io_error(fmt::format("cannot {} '{}'", verb, path)).because(errno_text(code));
}

struct OpenFile {
  int fd = -1;
  uint64_t size_bytes = 0;
};

Result<OpenFile> open_regular(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot("open", path, errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int code = errno;
    ::close(fd);
    return cannot("read", path, code);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return io_error(fmt::format("cannot read '{}'", path))
        .because(S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file");
  }
  return OpenFile{fd, static_cast<uint64_t>(info.st_size)};
}

}  // namespace

Result<std::string> read_file(const std::string& path, uint64_t limit_bytes) {
  const OpenFile file = TANDEM_TRY(open_regular(path));
  if (file.size_bytes > limit_bytes) {
    ::close(file.fd);
    return bad_input(fmt::format("'{}' is too large", path))
        .because(fmt::format("it has {} bytes, the limit is {}", file.size_bytes, limit_bytes));
  }
  // Files that the kernel makes up (/proc) say that they have 0 bytes.
  constexpr size_t kPieceBytes = 65536;
  const bool sizeless = file.size_bytes == 0;
  std::string content(file.size_bytes, '\0');
  size_t done = 0;
  while (sizeless ? done < limit_bytes : done < content.size()) {
    if (done == content.size()) content.resize(done + std::min<uint64_t>(kPieceBytes, limit_bytes - done));
    const ssize_t n = ::read(file.fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int code = errno;
      ::close(file.fd);
      return cannot("read", path, code);
    }
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  ::close(file.fd);
  content.resize(done);
  return content;
}

Status write_file(const std::string& path, std::string_view content) {
  AtomicFile file = TANDEM_TRY(AtomicFile::create(path));
  TANDEM_TRY(file.write(content));
  return file.commit();
}

Status make_directories(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return io_error(fmt::format("cannot make directory '{}'", path)).because(code.message());
  return {};
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  AtomicFile file;
  file.path_ = path;
  file.temporary_ = path + ".tmp-XXXXXX";
  file.fd_ = ::mkostemp(file.temporary_.data(), O_CLOEXEC);
  if (file.fd_ < 0) {
    const int code = errno;
    file.temporary_.clear();
    return cannot("write", path, code).hint("check that the directory exists, is writable and has space");
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("write", path_, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status AtomicFile::commit() {
  // mkostemp makes 0600; the user's umask decides as for any other new file.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd_, 0666 & ~mask) != 0 || ::fsync(fd_) != 0) return cannot("write", path_, errno);
  if (::close(std::exchange(fd_, -1)) != 0) return cannot("write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot("write", path_, errno);
  temporary_.clear();
  return {};
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const OpenFile file = TANDEM_TRY(open_regular(path));
  MappedFile mapped;
  mapped.size_ = file.size_bytes;
  if (file.size_bytes > 0) {
    void* address = ::mmap(nullptr, file.size_bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (address == MAP_FAILED) {
      const int code = errno;
      ::close(file.fd);
      mapped.size_ = 0;
      return cannot("map", path, code);
    }
    mapped.address_ = address;
  }
  ::close(file.fd);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(const_cast<void*>(address_), size_);
}

}  // namespace tandem
