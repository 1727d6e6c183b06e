// Pictures as PNG, read back by a decoder of this test's own: chunks, checksums, stored blocks, pixels.
#include "layout/draw.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace tilewright::layout {
namespace {

uint32_t big_endian(std::string_view bytes) {
  uint32_t out = 0;
  for (const char c : bytes.substr(0, 4)) out = out << 8 | uint8_t(c);
  return out;
}

// By the table of 256 remainders, which the writer does without.
uint32_t crc_of(std::string_view bytes) {
  uint32_t table[256];
  for (uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int k = 0; k < 8; ++k) table[i] = table[i] % 2 ? 0xedb88320u ^ table[i] / 2 : table[i] / 2;
  }
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = table[(crc ^ uint8_t(c)) & 255] ^ crc >> 8;
  return ~crc;
}

struct Picture {
  uint32_t width = 0, height = 0;
  std::string palette, pixels;  // one byte each

  uint32_t color(uint32_t x, uint32_t y) const {
    const size_t index = uint8_t(pixels[y * width + x]);
    return uint32_t(uint8_t(palette.at(3 * index))) << 16 | uint32_t(uint8_t(palette.at(3 * index + 1))) << 8 |
           uint8_t(palette.at(3 * index + 2));
  }
};

std::string inflated(std::string_view zlib) {
  EXPECT_EQ(big_endian(zlib) >> 16, 0x7801u);
  EXPECT_EQ((big_endian(zlib) >> 16) % 31, 0u);
  std::string out;
  size_t at = 2;
  for (bool last = false; !last;) {
    last = zlib.at(at) == 1;
    const auto half = [&](size_t i) { return unsigned(uint8_t(zlib.at(at + i)) | uint8_t(zlib.at(at + i + 1)) << 8); };
    EXPECT_EQ(half(1) ^ half(3), 0xffffu);
    out += zlib.substr(at + 5, half(1));
    at += 5 + half(1);
  }
  uint64_t a = 1, b = 0;
  for (const char c : out) b += a = (a + uint8_t(c)) % 65521;
  EXPECT_EQ(big_endian(zlib.substr(at)), b % 65521 << 16 | a);
  EXPECT_EQ(zlib.size(), at + 4);
  return out;
}

Picture decoded(std::string_view png) {
  EXPECT_EQ(png.substr(0, 8), std::string_view("\x89PNG\r\n\x1a\n"));
  Picture out;
  std::map<std::string, std::string> chunks;
  for (size_t at = 8; at < png.size();) {
    const size_t size = big_endian(png.substr(at));
    const std::string_view body = png.substr(at + 4, size + 4);
    EXPECT_EQ(crc_of(body), big_endian(png.substr(at + 8 + size)));
    chunks[std::string(body.substr(0, 4))] = body.substr(4);
    at += size + 12;
  }
  EXPECT_EQ(chunks.size(), 4u);
  EXPECT_EQ(chunks["IEND"], "");
  out.width = big_endian(chunks["IHDR"]);
  out.height = big_endian(chunks["IHDR"].substr(4));
  EXPECT_EQ(chunks["IHDR"].substr(8), std::string("\x08\x03\0\0\0", 5));
  out.palette = chunks["PLTE"];
  const std::string lines = inflated(chunks["IDAT"]);
  EXPECT_EQ(lines.size(), size_t(out.height) * (out.width + 1));
  for (uint32_t y = 0; y < out.height; ++y) {
    EXPECT_EQ(lines.at(y * (out.width + 1)), 0);
    out.pixels += lines.substr(y * (out.width + 1) + 1, out.width);
  }
  return out;
}

// Four words in four banks, of which each has a hue of its own; cells of one character are 13 x 15 pixels.
TEST(DrawPng, CellsAndLabels) {
  const Picture p = decoded(draw_png(parse("(2,2):(2,1)"), 4));
  EXPECT_EQ(p.width, 27u);
  EXPECT_EQ(p.height, 31u);
  std::set<uint32_t> colors;
  for (const uint32_t x : {2u, 15u}) {
    for (const uint32_t y : {2u, 17u}) colors.insert(p.color(x, y));
  }
  EXPECT_EQ(colors.size(), 4u);
  EXPECT_TRUE(colors.contains(0xf1b1b1));  // hsl(0, 70%, 82%)
  EXPECT_EQ(p.color(0, 0), 0x666666u);
  EXPECT_EQ(p.color(13, 5), 0x666666u);
  // The '1' of element (0, 1): a stroke down the middle.
  std::string stroke;
  for (uint32_t x = 14; x < 26; ++x) stroke += p.color(x, 7) == 0 ? '#' : '.';
  EXPECT_EQ(stroke, ".....#......");
}

// Black pixels of the cell with this label, one row of text after another.
TEST(DrawPng, LabelsOfFragments) {
  const Picture p = decoded(draw_png(mma_accumulator(16, 8, 1, 1)));
  EXPECT_EQ(p.width, 8 * (5 * 6 - 1 + 8) + 1u);  // "t31.3"
  EXPECT_EQ(p.height, 16 * 15 + 1u);
  int black = 0;
  for (uint32_t y = 0; y < p.height; ++y) {
    for (uint32_t x = 0; x < p.width; ++x) black += p.color(x, y) == 0;
  }
  EXPECT_GT(black, 128 * 30);
}

// More than one stored block, and sizes that are none.
TEST(DrawPng, Sizes) {
  const Picture large = decoded(draw_png(parse("(64,64):(64,1)"), 2));
  EXPECT_EQ(large.width, 64 * 31 + 1u);
  EXPECT_THROW(draw_png(parse("(0,4):(4,1)"), 4), Error);
  EXPECT_THROW(draw_png(parse("(256,256):(256,1)"), 4), Error);
  EXPECT_NO_THROW(draw_png(parse("(256,256):(256,1)"), 4, std::vector<DrawRange>{{0, 32}, {0, 32}}));
}

}  // namespace
}  // namespace tilewright::layout
