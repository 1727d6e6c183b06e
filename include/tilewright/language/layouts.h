// Where the elements of a tile lie, as authors say it. A part of <tilewright/language.h>, which is the header to
// include. Without a word of this part the compiler chooses; docs/layouts.md has the notation.
#pragma once

#include <tilewright/language/tiles.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tilewright::lang {

namespace detail {
using Coordinates = std::span<const int64_t>;
template <size_t, class T>
using Same = T;

// f(i, j, ...) for the coordinates (and `more`) of a shape with sizeof...(D) dimensions.
template <class F, size_t... D, class... More>
auto call_at(const F& f, Coordinates at, std::index_sequence<D...>, More... more) {
  return f(at[D]..., more...);
}
template <class F, size_t... D, class... More>
constexpr bool takes(std::index_sequence<D...>, const More&...) {
  return std::is_invocable_v<const F&, Same<D, int64_t>..., More...>;
}
}  // namespace detail

// The place of each element in a tile's memory, in elements from its beginning.
class Layout {
 public:
  // From the notation that `tw plot` prints: "(128,32):(32,1)^(2,3,3)".
  explicit Layout(std::string notation, SourcePos pos = SourcePos::here());
  // `offset(i, j, ...)` for each element; a function of int64_t. It is evaluated here, and must be one that strides
  // along digits of the coordinates, and a swizzle behind them, can express.
  template <size_t N, class F>
  Layout(const int64_t (&shape)[N], const F& offset, SourcePos pos = SourcePos::here())
      : Layout(
            std::vector<int64_t>(shape, shape + N),
            [&offset](detail::Coordinates at) -> int64_t {
              return detail::call_at(offset, at, std::make_index_sequence<N>());
            },
            pos) {}

  const std::string& notation() const { return notation_; }
  int64_t operator()(std::initializer_list<int64_t> at) const;  // the offset of an element

 private:
  Layout(std::vector<int64_t> shape, const std::function<int64_t(detail::Coordinates)>& offset, SourcePos pos);
  std::string notation_;
};

// The holder of an element: a thread of the block, and one of its registers, both numbered from 0.
struct Held {
  int64_t thread = 0, reg = 0;
};

struct FragmentOptions {
  int64_t replicas = 1;     // that hold each element; `held` gets their number as its last argument
  int64_t num_threads = 0;  // with those that hold nothing; 0: as many as `held` names
};

// Which threads hold each element of a fragment tile.
class Fragment {
 public:
  // From the notation that `tw plot` prints: "[16,8] threads(4:d1*2,8:d0*1) regs(2:d1*1,2:d0*8)".
  explicit Fragment(std::string notation, SourcePos pos = SourcePos::here());
  // `held(i, j, ...)`, or `held(i, j, ..., replica)`, for each element. It is evaluated here, and must be such that
  // digits of the numbers of thread and register each move along one dimension.
  template <size_t N, class F>
  Fragment(const int64_t (&shape)[N], const F& held, const FragmentOptions& options = {},
           SourcePos pos = SourcePos::here())
      : Fragment(
            std::vector<int64_t>(shape, shape + N), options,
            [&held](detail::Coordinates at, int64_t replica) -> Held {
              constexpr auto kDims = std::make_index_sequence<N>();
              if constexpr (detail::takes<F>(kDims, int64_t(0)))
                return detail::call_at(held, at, kDims, replica);
              else
                return detail::call_at(held, at, kDims);
            },
            pos) {}

  // The same for each of `count` times as many threads.
  Fragment replicate(int64_t count, SourcePos pos = SourcePos::here()) const;
  const std::string& notation() const { return notation_; }

 private:
  Fragment(std::vector<int64_t> shape, const FragmentOptions& options,
           const std::function<Held(detail::Coordinates, int64_t)>& held, SourcePos pos);
  std::string notation_;
};

// Rows that follow each other.
Layout make_linear_layout(const Tile& tile, SourcePos pos = SourcePos::here());
// Rows with `padding` unused elements behind each.
Layout make_padded_layout(const Tile& tile, int64_t padding, SourcePos pos = SourcePos::here());
// Panels of `span_bytes` a row, the 16-byte pieces of a row exchanged by the row's number, so that eight rows begin in
// different memory banks; 0: the widest of 128, 64 and 32 bytes that divides the rows.
Layout make_swizzled_layout(const Tile& tile, int64_t span_bytes = 0, SourcePos pos = SourcePos::here());
// The same for spans of 128, 64 and 32 bytes.
Layout make_full_bank_swizzled_layout(const Tile& tile, SourcePos pos = SourcePos::here());
Layout make_half_bank_swizzled_layout(const Tile& tile, SourcePos pos = SourcePos::here());
Layout make_quarter_bank_swizzled_layout(const Tile& tile, SourcePos pos = SourcePos::here());
// Every thread of the block holds every element.
Fragment make_fully_replicated_layout_fragment(const Tile& tile, SourcePos pos = SourcePos::here());
// As mma.sync m16n8 leaves a product in a tile of two dimensions, the warps of the block arranged as `warps_m` x
// `warps_n`, the first along the rows.
Fragment make_mma_accumulator_fragment(const Tile& tile, int64_t warps_m, int64_t warps_n,
                                       SourcePos pos = SourcePos::here());

// The elements of a shared tile lie as the layout says, those of a fragment tile are held as the fragment says; once
// for a tile, anywhere in its kernel. It changes no result, and nothing on the CPU.
void annotate_layout(const Tile& tile, const Layout& layout, SourcePos pos = SourcePos::here());
void annotate_layout(const Tile& tile, const Fragment& fragment, SourcePos pos = SourcePos::here());
// Several tiles: {{a, layout}, {c, fragment}}.
class Annotation {
 public:
  Annotation(const Tile& tile, const Layout& layout) : tile_(tile), layout_(layout) {}
  Annotation(const Tile& tile, const Fragment& fragment) : tile_(tile), fragment_(fragment) {}
  void make(SourcePos pos) const {
    if (layout_)
      annotate_layout(tile_, *layout_, pos);
    else
      annotate_layout(tile_, *fragment_, pos);
  }

 private:
  Tile tile_;
  std::optional<Layout> layout_ = {};
  std::optional<Fragment> fragment_ = {};
};
inline void annotate_layout(std::initializer_list<Annotation> annotations, SourcePos pos = SourcePos::here()) {
  for (const Annotation& one : annotations) one.make(pos);
}
// Reads of the tensor outside its shape yield `value` in this kernel.
void annotate_safe_value(const Tile& tensor, double value, SourcePos pos = SourcePos::here());

}  // namespace tilewright::lang
