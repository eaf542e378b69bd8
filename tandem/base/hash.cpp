// SPDX-License-Identifier: Apache-2.0
// SHA-256 as written in FIPS 180-4 section 6.2; constants are the fractional parts of roots of primes
// (section 4.2.2).
#include "tandem/base/hash.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tandem/base/file.hpp"

namespace tandem {
namespace {

constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t read_big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {
}

void Sha256::compress(const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = read_big_endian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> change = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += change[i];
}

void Sha256::update(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  size_t filled = length_bytes_ % 64;
  length_bytes_ += left;
  if (filled > 0) {
    const size_t taken = std::min(left, 64 - filled);
    if (taken > 0) std::memcpy(pending_.data() + filled, data, taken);
    data += taken;
    left -= taken;
    filled += taken;
    if (filled < 64) return;
    compress(pending_.data());
  }
  for (; left >= 64; data += 64, left -= 64) compress(data);
  if (left > 0) std::memcpy(pending_.data(), data, left);
}

void Sha256::update(std::string_view text) { update(std::as_bytes(std::span(text))); }

Sha256& Sha256::add(std::string_view part) {
  add(uint64_t{part.size()});
  update(part);
  return *this;
}

Sha256& Sha256::add(uint64_t part) {
  std::array<std::byte, 8> bytes;
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(part >> (8 * i));
  update(bytes);
  return *this;
}

std::array<uint8_t, 32> Sha256::digest() const {
  Sha256 end = *this;
  // One bit, zeros up to 56 modulo 64, then the length in bits.
  const size_t filled = length_bytes_ % 64;
  const size_t zeros = (filled < 56 ? 56 : 120) - filled;
  std::array<std::byte, 72> tail{};
  tail[0] = std::byte{0x80};
  for (size_t i = 0; i < 8; ++i)
    tail[zeros + i] = static_cast<std::byte>((length_bytes_ * 8) >> (56 - 8 * i));
  end.update(std::span<const std::byte>(tail.data(), zeros + 8));
  std::array<uint8_t, 32> digest;
  for (size_t i = 0; i < 32; ++i) digest[i] = static_cast<uint8_t>(end.state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string Sha256::hex() const {
  std::string text;
  for (const uint8_t byte : digest()) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_hex(std::string_view content) {
  Sha256 hash;
  hash.update(content);
  return hash.hex();
}

Result<std::string> sha256_file_hex(const std::string& path) {
  const MappedFile file = TANDEM_TRY(MappedFile::open(path));
  return sha256_hex(file.text());
}

}  // namespace tandem
