#include "support/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tilewright {
namespace {

std::string hex(std::string_view text) { return to_hex(sha256(text)); }

// FIPS 180-4 example values (csrc.nist.gov, "SHA256.pdf", and the secure hash standard validation vectors).
TEST(Sha256, fips_vectors) {
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrs"
          "tnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, pieces_do_not_matter) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += char(i * 7);
  for (size_t size = 0; size <= text.size(); ++size) {
    const std::string whole = text.substr(0, size);
    for (const size_t cut : {size_t(0), size / 3, size / 2, size}) {
      Sha256 hash;
      hash.update(std::string_view(whole).substr(0, cut)).update(std::string_view(whole).substr(cut));
      EXPECT_EQ(to_hex(hash.finish()), hex(whole)) << size << " cut at " << cut;
    }
  }
}

TEST(KeyBuilder, different_fields_have_different_keys) {
  const std::vector<std::string> none = {}, one = {""}, ab = {"a", "b"};
  const std::set<std::string> keys = {
      KeyBuilder().hex(),
      KeyBuilder().add("").hex(),
      KeyBuilder().add("").add("").hex(),
      KeyBuilder().add("ab").add("c").hex(),
      KeyBuilder().add("a").add("bc").hex(),
      KeyBuilder().add("abc").hex(),
      KeyBuilder().add("1").hex(),
      KeyBuilder().add_number(1).hex(),
      KeyBuilder().add_number(-1).hex(),
      KeyBuilder().add_list(none).hex(),
      KeyBuilder().add_list(one).hex(),
      KeyBuilder().add_list(ab).hex(),
      KeyBuilder().add("a").add("b").hex(),
      KeyBuilder().add_list(ab).add_list(none).hex(),
      KeyBuilder().add_list(none).add_list(ab).hex(),
  };
  EXPECT_EQ(keys.size(), 15u);
  for (const std::string& key : keys) EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(KeyBuilder().add("x").add_number(3).hex(), KeyBuilder().add("x").add_number(3).hex());
}

}  // namespace
}  // namespace tilewright
