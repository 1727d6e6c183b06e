// Pictures as PNG (ISO/IEC 15948), of cells with short labels.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::layout {

using Rgb = std::array<uint8_t, 3>;

// Pixels as rows of indices of colours, of which there are at most 256.
class Raster {
 public:
  Raster(int64_t width, int64_t height) : width_(width), height_(height), pixels_(size_t(width * height), 0) {}

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  // The index of a colour, new or known; black where there are 256 others.
  uint8_t color(const Rgb& rgb);
  // What lies outside of the picture is left out.
  void fill(int64_t x, int64_t y, int64_t width, int64_t height, uint8_t color);
  // Digits, 't', '.', '*' and '-' of 5 x 7 pixels, kGlyphStep apart; others are gaps.
  void text(int64_t x, int64_t y, std::string_view label, uint8_t color);
  std::string png() const;

  static constexpr int64_t kGlyphStep = 6, kGlyphHeight = 7;

 private:
  int64_t width_, height_;
  std::vector<uint8_t> pixels_;
  std::vector<Rgb> palette_;
};

// CSS's hsl(): degrees, and per cents.
Rgb hsl(int64_t hue, int64_t saturation, int64_t lightness);

}  // namespace tilewright::layout
