// SHA-256 (FIPS 180-4) and the builder of content-addressed keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  Sha256& update(std::string_view bytes);
  // The digest of everything given so far. The object must not be used afterwards.
  Digest finish();

 private:
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_ = {};
  size_t num_pending_ = 0;
  uint64_t num_bytes_ = 0;
};

Sha256::Digest sha256(std::string_view bytes);
std::string to_hex(std::span<const uint8_t> bytes);

// Hashes a sequence of fields. Every field is written with its kind and length, so that no two different sequences
// share a text: ("ab", "c") and ("a", "bc") have different keys, and so have the number 1 and the text "1".
class KeyBuilder {
 public:
  KeyBuilder& add(std::string_view field);
  KeyBuilder& add_number(int64_t number);
  // The list is one field: its length and then its elements.
  KeyBuilder& add_list(std::span<const std::string> fields);
  // 64 hexadecimal digits. The builder must not be used afterwards.
  std::string hex() { return to_hex(hash_.finish()); }

 private:
  void add_tagged(char tag, uint64_t number);

  Sha256 hash_;
};

}  // namespace tilewright
