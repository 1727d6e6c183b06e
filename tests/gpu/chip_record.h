// What kernels of tests/gpu/ gave on a chip: with TILEWRIGHT_CHIP_RECORD=FILE each array that a test reads is appended
// to FILE, one line each. The simulator runs the same tests and must give the same bits.
//
// A line: test, number of the read within it, bytes, FNV-1a hash of all bytes, then up to 16 words of 4 bytes, evenly
// spaced. Where the hash differs the words are compared as sums of floats in another order.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
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
  static void write(std::span<const std::byte> bytes) {
    const char* path = std::getenv("TILEWRIGHT_CHIP_RECORD");
    if (path == nullptr || *path == 0) return;
    const auto [name, number] = next_key();
    const Line line = line_of(bytes);
    std::ofstream out(path, std::ios::app);
    out << fmt::format("{} {} {} {:016x}", name, number, line.bytes, line.hash);
    for (const uint32_t word : line.words) out << fmt::format(" {:08x}", word);
    out << "\n";
  }

  // Of f32 words, relative to the largest of them on the chip. A sum of up to 256 products in another order, whose
  // parts a tensor core may align to the largest and cut off below 2^-24 of it, differs by less.
  static constexpr double kSumBound = 0x1p-16;
  static double distance(const Line& a, const Line& chip) {
    double largest = 0, apart = 0;
    for (size_t i = 0; i < chip.words.size(); ++i) {
      const double x = double(std::bit_cast<float>(a.words[i])), y = double(std::bit_cast<float>(chip.words[i]));
      if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
      if (a.words[i] == chip.words[i]) continue;
      apart = std::max(apart, std::isfinite(x - y) ? std::abs(x - y) : INFINITY);
    }
    return apart == 0 ? 0 : apart / largest;
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
