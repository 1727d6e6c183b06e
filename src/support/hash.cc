#include "support/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilewright {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2).
constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t read_big_endian(const uint8_t* from) {
  return uint32_t(from[0]) << 24 | uint32_t(from[1]) << 16 | uint32_t(from[2]) << 8 | uint32_t(from[3]);
}

}  // namespace

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
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += added[i];
}

Sha256& Sha256::update(std::string_view bytes) {
  num_bytes_ += bytes.size();
  const uint8_t* from = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  while (left > 0) {
    if (num_pending_ == 0 && left >= 64) {
      compress(from);
      from += 64, left -= 64;
      continue;
    }
    const size_t taken = std::min(left, 64 - num_pending_);
    std::memcpy(pending_.data() + num_pending_, from, taken);
    from += taken, left -= taken, num_pending_ += taken;
    if (num_pending_ < 64) break;
    compress(pending_.data());
    num_pending_ = 0;
  }
  return *this;
}

Sha256::Digest Sha256::finish() {
  const uint64_t num_bits = num_bytes_ * 8;
  std::string padding(1, '\x80');
  // The 8-byte length ends the last block of 64.
  padding.append((119 - num_bytes_ % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) padding += char(num_bits >> shift & 0xff);
  update(padding);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = uint8_t(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Sha256::Digest sha256(std::string_view bytes) { return Sha256().update(bytes).finish(); }

std::string to_hex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

void KeyBuilder::add_tagged(char tag, uint64_t number) {
  std::string out(1, tag);
  for (int shift = 0; shift < 64; shift += 8) out += char(number >> shift & 0xff);
  hash_.update(out);
}

KeyBuilder& KeyBuilder::add(std::string_view field) {
  add_tagged('t', field.size());
  hash_.update(field);
  return *this;
}

KeyBuilder& KeyBuilder::add_number(int64_t number) {
  add_tagged('n', uint64_t(number));
  return *this;
}

KeyBuilder& KeyBuilder::add_list(std::span<const std::string> fields) {
  add_tagged('l', fields.size());
  for (const std::string& field : fields) add(field);
  return *this;
}

}  // namespace tilewright
