#include "layout/layout.h"

#include "layout/checked.h"

#include <algorithm>
#include <bit>

namespace tilewright::layout {

namespace {

constexpr int64_t kMaxEnumerated = int64_t(1) << 24;

int64_t extent_of(const Dim& dim) {
  int64_t extent = 1;
  for (const Mode& m : dim) extent = checked_mul(extent, m.extent);
  return extent;
}

// The offset of a coordinate along one dimension; the last mode takes what is left, so that coordinates past the end
// go on with its stride.
int64_t offset_in(const Dim& dim, int64_t coordinate) {
  int64_t offset = 0;
  for (size_t k = 0; k < dim.size(); ++k) {
    const bool last = k + 1 == dim.size();
    const int64_t extent = std::max<int64_t>(dim[k].extent, 1);
    const int64_t digit = last ? coordinate : coordinate % extent;
    offset = checked_add(offset, checked_mul(digit, dim[k].stride));
    coordinate /= extent;
  }
  return offset;
}

int64_t round_up(int64_t x, int64_t to) { return checked_add(x, to - 1) / to * to; }

}  // namespace

int64_t Swizzle::operator()(int64_t offset) const {
  if (bits == 0) return offset;
  const int64_t mask = ((int64_t(1) << bits) - 1) << (base + shift);
  return offset ^ ((offset & mask) >> shift);
}

Layout::Layout(std::vector<Dim> dims, Swizzle swizzle) : dims_(std::move(dims)), swizzle_(swizzle) {
  for (const Dim& dim : dims_) {
    for (const Mode& m : dim) {
      if (m.extent < 0) throw invalid_kernel({}, "a layout has extent {}", m.extent).hint("extents are 0 or more");
      if (m.stride < 0) throw invalid_kernel({}, "a layout has stride {}", m.stride).hint("strides are 0 or more");
    }
  }
  const bool fits = swizzle_.bits >= 0 && swizzle_.base >= 0 && swizzle_.shift >= swizzle_.bits &&
                    swizzle_.base + swizzle_.shift + swizzle_.bits < 62;
  if (swizzle_.bits != 0 && !fits) {
    throw invalid_kernel({}, "a swizzle of {} bits at {} shifted by {}", swizzle_.bits, swizzle_.base, swizzle_.shift)
        .hint("the two bit ranges must not overlap: shift is at least bits");
  }
  size(), cosize();  // refuse overflow here, not at the first use
}

const Dim& Layout::dim(int d) const {
  if (d < 0 || d >= rank()) throw internal_error({}, "dimension {} of layout {}", d, to_string(*this));
  return dims_[size_t(d)];
}

int64_t Layout::extent(int d) const { return extent_of(dim(d)); }

std::vector<int64_t> Layout::shape() const {
  std::vector<int64_t> out;
  for (const Dim& dim : dims_) out.push_back(extent_of(dim));
  return out;
}

int64_t Layout::size() const {
  int64_t n = 1;
  bool empty = false;
  for (const Dim& dim : dims_) {
    for (const Mode& m : dim) {
      empty |= m.extent == 0;
      n = checked_mul(n, std::max<int64_t>(m.extent, 1));
    }
  }
  return empty ? 0 : n;
}

int64_t Layout::cosize() const {
  if (size() == 0) return 0;
  int64_t last = 0;
  for (const Dim& dim : dims_) {
    for (const Mode& m : dim) last = checked_add(last, checked_mul(m.extent - 1, m.stride));
  }
  const int64_t n = checked_add(last, 1);
  return swizzle_.bits == 0 ? n : round_up(n, int64_t(1) << (swizzle_.base + swizzle_.bits));
}

int64_t Layout::operator()(std::span<const int64_t> coordinates) const {
  if (coordinates.size() != dims_.size()) {
    throw internal_error({}, "{} coordinates for layout {}", coordinates.size(), to_string(*this));
  }
  int64_t offset = 0;
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (coordinates[d] < 0) throw internal_error({}, "coordinate {} of layout {}", coordinates[d], to_string(*this));
    offset = checked_add(offset, offset_in(dims_[d], coordinates[d]));
  }
  return swizzle_(offset);
}

int64_t Layout::operator()(std::initializer_list<int64_t> coordinates) const {
  return (*this)(std::span<const int64_t>(coordinates.begin(), coordinates.size()));
}

std::vector<int64_t> Layout::coordinates(int64_t linear) const {
  std::vector<int64_t> out(dims_.size(), 0);
  for (size_t d = 0; d < dims_.size(); ++d) {
    const int64_t extent = std::max<int64_t>(extent_of(dims_[d]), 1);
    out[d] = linear % extent;
    linear /= extent;
  }
  return out;
}

int64_t Layout::at(int64_t linear) const { return (*this)(coordinates(linear)); }

std::vector<Mode> Layout::modes() const {
  std::vector<Mode> out;
  for (const Dim& dim : dims_) out.insert(out.end(), dim.begin(), dim.end());
  return out;
}

Layout Layout::with_swizzle(Swizzle swizzle) const { return Layout(dims_, swizzle); }

Swizzle compose(const Swizzle& outer, const Swizzle& inner) {
  if (outer.bits == 0) return inner;
  if (inner.bits == 0) return outer;
  const auto mask = [](const Swizzle& s) { return ((int64_t(1) << s.bits) - 1) << s.base; };
  const int64_t a = mask(outer), b = mask(inner), both = a ^ b;
  // Each must leave the bits alone that the other reads; then x ^ (x >> shift & a) ^ (x >> shift & b).
  const bool independent = outer.shift == inner.shift && (a & (b << inner.shift)) == 0 && (b & (a << outer.shift)) == 0;
  if (independent && both == 0) return {};
  if (independent) {
    const int base = __builtin_ctzll(uint64_t(both)), bits = __builtin_popcountll(uint64_t(both));
    const Swizzle one{.bits = bits, .base = base, .shift = outer.shift};
    if (mask(one) == both && bits <= outer.shift) return one;
  }
  throw invalid_kernel({}, "the swizzles ({},{},{}) after ({},{},{}) are no swizzle", outer.bits, outer.base,
                       outer.shift, inner.bits, inner.base, inner.shift)
      .hint("they need the same shift and must together move one range of bits");
}

Layout strided(std::span<const int64_t> extents, std::span<const int64_t> strides) {
  if (extents.size() != strides.size()) {
    throw invalid_kernel({}, "a layout has {} extents but {} strides", extents.size(), strides.size());
  }
  std::vector<Dim> dims;
  for (size_t d = 0; d < extents.size(); ++d) dims.push_back({{.extent = extents[d], .stride = strides[d]}});
  return Layout(std::move(dims));
}

Layout padded_row_major(std::span<const int64_t> extents, int64_t leading_dimension) {
  std::vector<int64_t> strides(extents.size(), 1);
  int64_t step = leading_dimension;
  for (size_t d = extents.size(); d-- > 1;) {
    strides[d - 1] = step;
    step = checked_mul(step, std::max<int64_t>(extents[d - 1], 1));
  }
  return strided(extents, strides);
}

Layout row_major(std::span<const int64_t> extents) {
  return padded_row_major(extents, extents.empty() ? 1 : std::max<int64_t>(extents.back(), 1));
}

Layout column_major(std::span<const int64_t> extents) {
  std::vector<int64_t> strides;
  int64_t step = 1;
  for (int64_t e : extents) {
    strides.push_back(step);
    step = checked_mul(step, std::max<int64_t>(e, 1));
  }
  return strided(extents, strides);
}

Layout column_panels(int64_t rows, int64_t cols, int64_t width) {
  if (width < 1 || cols % width != 0) {
    throw invalid_kernel({}, "{} columns do not divide into panels of {}", cols, width)
        .hint(width < 1 ? "a panel has at least 1 column" : fmt::format("{} columns would", round_up(cols, width)));
  }
  return Layout({{{.extent = rows, .stride = width}},
                 {{.extent = width, .stride = 1}, {.extent = cols / width, .stride = checked_mul(rows, width)}}});
}

int64_t widest_span_bytes(std::span<const int64_t> extents, int64_t elem_bytes) {
  if (extents.size() < 2 || elem_bytes < 1 || 16 % elem_bytes != 0) return 0;
  for (const int64_t span : {128, 64, 32}) {
    if (extents.back() % (span / elem_bytes) == 0) return span;
  }
  return 0;
}

Layout swizzled_panels(std::span<const int64_t> extents, int64_t elem_bytes, int64_t span_bytes) {
  const bool is_span = span_bytes == 128 || span_bytes == 64 || span_bytes == 32;
  if (!is_span || extents.size() < 2 || elem_bytes < 1 || 16 % elem_bytes != 0) {
    throw invalid_kernel({}, "a swizzle over {} bytes of a shape with {} dimensions, elements of {} bytes", span_bytes,
                         extents.size(), elem_bytes)
        .hint("spans are 128, 64 and 32 bytes, of rows of elements of up to 16 bytes");
  }
  const int64_t width = span_bytes / elem_bytes, rows = extents[extents.size() - 2], cols = extents.back();
  if (cols % width != 0) {
    const int64_t fits = widest_span_bytes(extents, elem_bytes);
    throw invalid_kernel({}, "rows of {} bytes do not divide into {} bytes", cols * elem_bytes, span_bytes)
        .hint(fits > 0 ? fmt::format("{} bytes do", fits) : fmt::format("{} columns would", round_up(cols, width)));
  }
  std::vector<Dim> dims(extents.size());
  dims.back() = {{.extent = width, .stride = 1}};
  if (cols > width) dims.back().push_back({.extent = cols / width, .stride = checked_mul(rows, width)});
  dims[extents.size() - 2] = {{.extent = rows, .stride = width}};
  int64_t outer = checked_mul(rows, cols);
  for (size_t d = extents.size() - 2; d-- > 0;) {
    dims[d] = {{.extent = extents[d], .stride = outer}};
    outer = checked_mul(outer, std::max<int64_t>(extents[d], 1));
  }
  // Piece bits of the offset come first, then those of the 128-byte line.
  const auto log2 = [](int64_t x) { return int(std::bit_width(uint64_t(x))) - 1; };
  return Layout(std::move(dims), {.bits = log2(span_bytes / 16), .base = log2(16 / elem_bytes), .shift = 3});
}

Layout staged(const Layout& layout, int64_t num_stages, int64_t elem_bytes) {
  const Swizzle& s = layout.swizzle();
  int64_t multiple = std::max<int64_t>(1, 128 / elem_bytes);
  if (s.bits > 0) multiple = std::max(multiple, int64_t(1) << (s.base + s.shift + s.bits));
  std::vector<Dim> dims = layout.dims();
  dims.insert(dims.begin(), {{.extent = num_stages, .stride = round_up(layout.cosize(), multiple)}});
  return Layout(std::move(dims), s);
}

int64_t stride_of(const Layout& layout, size_t dim) {
  const Dim& d = layout.dim(int(dim));
  if (d.size() != 1 || layout.swizzle().bits != 0) {
    throw internal_error({}, "dimension {} of layout {} has no single stride", dim, to_string(layout));
  }
  return d[0].stride;
}

namespace {

std::vector<int64_t> all_offsets(const Layout& layout) {
  const int64_t n = layout.size();
  if (n > kMaxEnumerated) throw internal_error({}, "a layout of {} elements is too large to enumerate", n);
  std::vector<int64_t> out;
  out.reserve(size_t(n));
  for (int64_t i = 0; i < n; ++i) out.push_back(layout.at(i));
  return out;
}

}  // namespace

bool is_injective(const Layout& layout) {
  std::vector<int64_t> offsets = all_offsets(layout);
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
}

bool is_compact(const Layout& layout) {
  std::vector<int64_t> offsets = all_offsets(layout);
  std::sort(offsets.begin(), offsets.end());
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != int64_t(i)) return false;
  }
  return true;
}

bool same_function(const Layout& a, const Layout& b) { return all_offsets(a) == all_offsets(b); }

}  // namespace tilewright::layout
