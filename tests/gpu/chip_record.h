// What kernels of tests/gpu/ gave on a chip: with TILEWRIGHT_CHIP_RECORD=FILE each array that a test reads is appended
// to FILE, one line each. The simulator runs the same tests and must give the same bits.
//
// A line: test, number of the read within it, bytes, FNV-1a hash of all bytes, then up to 16 words of 4 bytes, evenly
// spaced, for whoever looks for a difference.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::test {

// While one lives, what is read are sums of floats whose order the manual leaves open, of numbers that do not add up
// exactly: both sides are within the test's bound of the sum in f64, which is derived from that, and need not agree in
// each bit.
class OpenOrder {
 public:
  explicit OpenOrder(bool open) : before_(std::exchange(current_, open)) {}
  OpenOrder(const OpenOrder&) = delete;
  ~OpenOrder() { current_ = before_; }
  static bool current() { return current_; }

 private:
  static inline bool current_ = false;
  bool before_;
};

class ChipRecord {
 public:
  struct Line {
    uint64_t bytes = 0, hash = 0;
    std::vector<uint32_t> words;
  };

  // The name of the running test and the number of this read in it.
  static std::pair<std::string, int> next_key() {
    static std::string current;
    static int number = 0;
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = fmt::format("{}.{}", test.test_suite_name(), test.name());
    number = name == current ? number + 1 : 0;
    current = name;
    return {name, number};
  }

  static Line line_of(std::span<const std::byte> bytes) {
    Line out{.bytes = bytes.size(), .hash = 0xcbf29ce484222325u, .words = {}};
    for (const std::byte b : bytes) out.hash = (out.hash ^ uint64_t(b)) * 0x100000001b3u;
    const size_t words = bytes.size() / 4, step = std::max<size_t>(1, words / 16);
    for (size_t i = 0; i < words && out.words.size() < 16; i += step) {
      uint32_t word = 0;
      std::memcpy(&word, bytes.data() + 4 * i, 4);
      out.words.push_back(word);
    }
    return out;
  }

  // On a chip.
  static std::string path() {
    const char* named = std::getenv("TILEWRIGHT_CHIP_RECORD");
    return named ? named : "";
  }
  static bool is_on() { return !path().empty(); }
  static void write(std::span<const std::byte> bytes) {
    if (!is_on()) return;
    const auto [name, number] = next_key();
    const Line line = line_of(bytes);
    std::ofstream out(path(), std::ios::app);
    out << fmt::format("{} {} {} {:016x}", name, number, line.bytes, line.hash);
    for (const uint32_t word : line.words) out << fmt::format(" {:08x}", word);
    out << "\n";
  }

  using Lines = std::map<std::pair<std::string, int>, Line>;
  static Lines read(const std::filesystem::path& path) {
    Lines out;
    std::ifstream in(path);
    for (std::string text; std::getline(in, text);) {
      if (text.empty() || text[0] == '#') continue;
      std::istringstream fields(text);
      std::string name;
      int number = 0;
      Line line;
      fields >> name >> number >> line.bytes >> std::hex >> line.hash;
      for (uint32_t word = 0; fields >> word;) line.words.push_back(word);
      out.emplace(std::pair(name, number), std::move(line));
    }
    return out;
  }
};

}  // namespace tilewright::test
