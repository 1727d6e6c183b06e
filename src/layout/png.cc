#include "layout/png.h"

#include <algorithm>
#include <cmath>

namespace tilewright::layout {

namespace {

// Rows of five pixels, the leftmost the highest bit.
struct Glyph {
  char c;
  std::array<uint8_t, 7> rows;
};
constexpr Glyph kGlyphs[] = {
    {'0', {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}}, {'1', {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'2', {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}}, {'3', {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e}},
    {'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}}, {'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e}},
    {'6', {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}}, {'7', {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08}},
    {'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}}, {'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c}},
    {'t', {0x08, 0x08, 0x1e, 0x08, 0x08, 0x09, 0x06}}, {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c}},
    {'*', {0x00, 0x04, 0x15, 0x0e, 0x15, 0x04, 0x00}}, {'-', {0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00}},
};

void append_u32(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += char(value >> shift & 0xff);
}

// Annex D of the standard.
uint32_t crc32(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= uint8_t(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_u32(out, uint32_t(data.size()));
  const std::string body = std::string(type) + std::string(data);
  out += body;
  append_u32(out, crc32(body));
}

// RFC 1950 and 1951, blocks without compression.
std::string stored_zlib(std::string_view data) {
  constexpr size_t kMaxBlock = 65535;
  std::string out = "\x78\x01";
  uint32_t a = 1, b = 0;  // Adler-32
  for (const char c : data) {
    a = (a + uint8_t(c)) % 65521;
    b = (b + a) % 65521;
  }
  for (size_t begin = 0; begin == 0 || begin < data.size(); begin += kMaxBlock) {
    const std::string_view block = data.substr(begin, kMaxBlock);
    const auto size = uint32_t(block.size());
    out += char(begin + kMaxBlock >= data.size());
    for (const uint32_t half : {size, ~size}) {
      out += char(half & 0xff);
      out += char(half >> 8 & 0xff);
    }
    out += block;
  }
  append_u32(out, b << 16 | a);
  return out;
}

}  // namespace

uint8_t Raster::color(const Rgb& rgb) {
  const auto found = std::find(palette_.begin(), palette_.end(), rgb);
  if (found != palette_.end()) return uint8_t(found - palette_.begin());
  if (palette_.size() == 256) return color({0, 0, 0});
  palette_.push_back(rgb);
  return uint8_t(palette_.size() - 1);
}

void Raster::fill(int64_t x, int64_t y, int64_t width, int64_t height, uint8_t color) {
  const int64_t right = std::min(x + width, width_), bottom = std::min(y + height, height_);
  for (int64_t row = std::max<int64_t>(y, 0); row < bottom; ++row) {
    for (int64_t col = std::max<int64_t>(x, 0); col < right; ++col) pixels_[size_t(row * width_ + col)] = color;
  }
}

void Raster::text(int64_t x, int64_t y, std::string_view label, uint8_t color) {
  for (const char c : label) {
    const auto* glyph = std::find_if(std::begin(kGlyphs), std::end(kGlyphs), [&](const Glyph& g) { return g.c == c; });
    for (int row = 0; glyph != std::end(kGlyphs) && row < kGlyphHeight; ++row) {
      for (int col = 0; col < 5; ++col) {
        if (glyph->rows[size_t(row)] >> (4 - col) & 1) fill(x + col, y + row, 1, 1, color);
      }
    }
    x += kGlyphStep;
  }
}

std::string Raster::png() const {
  std::string head;
  append_u32(head, uint32_t(width_));
  append_u32(head, uint32_t(height_));
  head += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits an index of the palette; no filter, not interlaced
  std::string colors;
  for (const Rgb& rgb : palette_) colors.append(rgb.begin(), rgb.end());
  std::string lines;
  for (int64_t y = 0; y < height_; ++y) {
    lines += '\0';
    const auto line = pixels_.begin() + y * width_;
    lines.append(line, line + width_);
  }
  std::string out = "\x89PNG\r\n\x1a\n";
  append_chunk(out, "IHDR", head);
  append_chunk(out, "PLTE", colors);
  append_chunk(out, "IDAT", stored_zlib(lines));
  append_chunk(out, "IEND", {});
  return out;
}

Rgb hsl(int64_t hue, int64_t saturation, int64_t lightness) {
  const double s = double(saturation) / 100, l = double(lightness) / 100, a = s * std::min(l, 1 - l);
  const auto channel = [&](int64_t n) {
    const double k = std::fmod(double(n) + double(hue) / 30, 12);
    return uint8_t(std::lround(255 * (l - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0})))));
  };
  return {channel(0), channel(8), channel(4)};
}

}  // namespace tilewright::layout
