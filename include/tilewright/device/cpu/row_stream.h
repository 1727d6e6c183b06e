#pragma once
// Rows that are written past the caches one after the other.
#include "copy.h"

namespace tilewright::device::cpu {

// Whether lanes can be chosen from two vectors by numbers known at run time.
#if (defined(__AVX512F__) && TW_VEC_BYTES == 64) || (defined(__AVX2__) && TW_VEC_BYTES == 32)
constexpr bool kChoosesLanes = true;
#else
constexpr bool kChoosesLanes = false;
#endif

// Lane l is lane at[l] of `a` and `b`, one after the other.
TW_INLINE Vec<int> choose_lanes(Vec<int> a, Vec<int> b, Vec<int> at) {
#if !defined(__clang__)
  return __builtin_shuffle(a, b, at);
#elif defined(__AVX512F__) && TW_VEC_BYTES == 64
  return __builtin_ia32_vpermi2vard512(a, at, b);
#elif defined(__AVX2__) && TW_VEC_BYTES == 32
  return at < 8 ? __builtin_ia32_permvarsi256(a, at) : __builtin_ia32_permvarsi256(b, at);
#else
  constexpr int kLanes = int(sizeof(Vec<int>) / sizeof(int));
  Vec<int> chosen = a;
  for (int l = 0; l < kLanes; ++l) chosen[l] = at[l] < kLanes ? a[at[l]] : b[at[l] - kLanes];
  return chosen;
#endif
}

template <int... I>
TW_INLINE Vec<int> lane_numbers(Lanes<I...>) {
  return Vec<int>{I...};
}

// Writes rows past the caches that follow each other in memory, or do not. Rows need not begin or end with a line:
// where the next one begins where the last one ended, the line between them is kept until it is whole. Nothing else may
// access these elements before flush(), which the end of the object's life does.
class RowStream {
 public:
  ~RowStream() { flush(); }

  // N elements to `to`, from storage that goes on to kPadded: N or the next whole vector. With kRagged also where the
  // first line of a row is not whole, which its beginning and its end then write by ordinary stores.
  template <int N, int kPadded, bool kRagged, class D, class S>
  TW_INLINE void put(const S* from, D* to) {
    constexpr int kBytes = N * int(sizeof(D)), kLanes = TW_VEC_BYTES / int(sizeof(D));
    constexpr int kWhole = N / kLanes, kRest = N % kLanes;
    char* const at = reinterpret_cast<char*>(to);
    if constexpr (kWhole == 0 || kBytes % 4 != 0 || !(kChoosesLanes || kBytes % kLineBytes == 0)) {
      // A short end of a row goes on with it; short rows are not worth it.
      if (kWhole > 0 || kBytes % 4 != 0 || !kChoosesLanes || at != next_ || !streams_)
        return stores<N, kPadded>(from, to);
    } else {
      if (at != next_)
        begin<kRagged>(at, words(from, to));
      else if (streams_)
        add(words(from, to));
      if (!streams_) return stores<N, kPadded>(from, to);
      TW_UNROLL(8) for (int v = 1; v < kWhole; ++v) add(words(from + v * kLanes, to));
    }
    if constexpr (kRest > 0 && kBytes % 4 == 0 && kChoosesLanes)
      add_part<kRest* int(sizeof(D)) / 4>(rest<kWhole * kLanes, kRest, kPadded>(from, to));
    next_ = at + kBytes;
  }

  // Writes what is kept of a line.
  TW_INLINE void flush() {
    if (held_ > 0) put_words(line_, choose_lanes(last_, last_, at_), held_);
    held_ = 0;
    next_ = nullptr;
  }

 private:
  static constexpr int kWords = TW_VEC_BYTES / 4;

  // The first elements of a row, as the words that they become.
  template <class D, class S>
  static TW_INLINE Vec<int> words(const S* from, D*) {
    D lanes[TW_VEC_BYTES / int(sizeof(D))];
    convert(lanes, from, TW_VEC_BYTES / int(sizeof(D)));
    return load<Vec<int>>(lanes);
  }
  // kCount elements from kFrom on, in the first words.
  template <int kFrom, int kCount, int kPadded, class D, class S>
  static TW_INLINE Vec<int> rest(const S* from, D*) {
    constexpr int kLanes = TW_VEC_BYTES / int(sizeof(D));
    if constexpr (kPadded >= kFrom + kLanes) return words(from + kFrom, static_cast<D*>(nullptr));
    D lanes[kLanes] = {};
    convert(lanes, from + kFrom, kCount);
    return load<Vec<int>>(lanes);
  }

  // A row, or a part of one, by ordinary stores. The next part cannot go on from here.
  template <int N, int kPadded, class D, class S>
  TW_INLINE void stores(const S* from, D* to) {
    flush();
    streams_ = false;
    next_ = reinterpret_cast<char*>(to + N);
    convert_from_padded<N, kPadded>(to, from);
  }

  // The first vector of a row that does not go on where the last one ended.
  template <bool kRagged>
  TW_INLINE void begin(char* to, Vec<int> first) {
    flush();
    const int outside = int(reinterpret_cast<unsigned long long>(to) % TW_VEC_BYTES);
    streams_ = kRagged && kChoosesLanes ? outside % 4 == 0 : reinterpret_cast<unsigned long long>(to) % kLineBytes == 0;
    if (!streams_) return;
    line_ = to - outside;
    hold(outside / 4);
    if (held_ > 0)
      put_words(to, first, kWords - held_);
    else
      stream(line_, bit_cast<Vec<float>>(first));
    line_ += TW_VEC_BYTES;
    last_ = first;
  }
  TW_INLINE void add(Vec<int> v) {
    stream(line_, bit_cast<Vec<float>>(kChoosesLanes ? choose_lanes(last_, v, at_) : v));
    line_ += TW_VEC_BYTES;
    last_ = v;
  }
  // The first kCount words of v, fewer than a vector has.
  template <int kCount>
  TW_INLINE void add_part(Vec<int> v) {
    if (held_ + kCount >= kWords) {
      stream(line_, bit_cast<Vec<float>>(choose_lanes(last_, v, at_)));
      line_ += TW_VEC_BYTES;
    }
    last_ = lanes_across<kCount>(last_, v, FirstLanes<kWords>{});
    hold((held_ + kCount) % kWords);
  }
  // The last `count` words of last_ belong to the line that is not whole yet.
  TW_INLINE void hold(int count) {
    held_ = count;
    at_ = lane_numbers(FirstLanes<kWords>{}) + (kWords - count);
  }
  static TW_INLINE void put_words(char* to, Vec<int> from, int count) {
    int one[kWords];
    store(one, from);
    for (int i = 0; i < count; ++i) __builtin_memcpy(to + 4 * i, one + i, 4);
  }

  Vec<int> last_ = {}, at_ = {};  // at_: the lanes of last_ and the next vector that make a line
  char* line_ = nullptr;
  char* next_ = nullptr;  // where the next part of the row goes
  int held_ = 0;
  bool streams_ = false;
};

// copy_out of one row, through `stream` where the whole row is inside and `streams`.
template <int kCols, int kLd, bool kRagged, class D, class S>
TW_INLINE void copy_out_by(RowStream& stream, const S* src, D* dst, long long row_stride, long long valid_rows,
                           long long valid_cols, bool streams) {
  if (streams && valid_rows >= 1 && valid_cols >= kCols) {
    stream.put<kCols, padded_cols<S, kCols, kLd>(), kRagged>(src, dst);
  } else {
    stream.flush();
    copy_out<1, kCols, kLd>(src, dst, row_stride, valid_rows, valid_cols);
  }
}

}  // namespace tilewright::device::cpu
