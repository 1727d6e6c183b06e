// Random kernels: what one block does between its inputs and the parts of the outputs that belong to it.
#pragma once

#include "fuzz/expr_generator.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::fuzz {

// A tensor that a kernel writes. Block index grid_dim[d] (or none: -1) selects the part of `block[d]` elements.
struct Output {
  TileInfo tensor;
  std::vector<int> grid_dim;
  std::vector<int64_t> block;
};

enum class AtomicWord : uint8_t { add, max, min, bit_and, bit_or, bit_xor };
inline constexpr int kNumAtomicWords = 6;

// A tensor that all blocks update by one kind of atomic, and nothing else accesses.
struct Sums {
  TileInfo tensor;
  AtomicWord word = AtomicWord::add;
};

struct KernelPlan {
  std::vector<T::Expr> grid;
  std::vector<int64_t> grid_extents;  // their values
  std::vector<Output> outputs;        // every element inside the tensors is written
  std::vector<Sums> sums;
  bool atomics = true;                    // also of shared tiles
  std::vector<TileInfo> dumps;            // [blocks, slots, rows, cols]: parts of on-chip tiles of each block
  Surroundings surroundings;              // tensors and scalars of the program
  std::map<std::string, int64_t>* words;  // how often a word was used that the tree does not show
  // Chooses the operations that the kernel has in any case: consecutive numbers go through all of them, with every
  // dtype.
  std::optional<uint64_t> turn = {};
};

// Those that the generator makes tiles of.
inline constexpr DType kTurnDTypes[] = {DType::f32, DType::f16, DType::bf16,   DType::f64, DType::i8,
                                        DType::i16, DType::i32, DType::i64,    DType::u8,  DType::u16,
                                        DType::u32, DType::u64, DType::boolean};

std::vector<int64_t> wide_extents(const std::vector<int64_t>& extents);  // those other than 1

// Adds one kernel to the program that is being built.
class KernelGenerator {
 public:
  KernelGenerator(Random& random, const KernelPlan& plan) : random_(random), plan_(plan), exprs_(random, around_) {}
  void run();

 private:
  struct Part {
    T::Operand operand;
    std::vector<int64_t> extents;  // of each dimension
  };

  // Statements.
  void action(int depth);
  void copy_global_to_chip();
  void copy_chip_to_chip();
  void fill_part();
  void gemm();
  void reduce(std::optional<uint64_t> turn = {});
  void scan(std::optional<uint64_t> turn = {});
  void rearrange(uint64_t turn);
  void transpose();
  void transpose_of(const TileInfo& src, DType to);
  void gather();
  void gather_from(const TileInfo& src);
  TileInfo indices_into(const TileInfo& source, int64_t count);
  void view();
  void view_of(const TileInfo& root, bool retyped);
  std::vector<int64_t> other_shape(int64_t count);
  void shared_sums();
  void update_sums(const Sums& sums);
  AtomicWord some_word(DType t);
  T::Expr term(DType t);
  void update_scalar();
  void loop(int depth);
  void nested_loop(bool is_grid, int depth);
  void loop_body(const T::Expr& var, int64_t low, int64_t high, bool may_leave, int depth);
  void while_loop(int depth);
  void branch(int depth);
  void write_output(const Output& output);
  void dump(const TileInfo& into);
  void collect_scalars();
  void open();

  // Parallel loops.
  void parallel_into(const TileInfo& dst, bool is_written);
  void parallel_body(const TileInfo& dst, const std::vector<T::Subscript>& at, bool is_written);
  void parallel_output(const Output& output, const TileInfo& result, const std::vector<T::Expr>& begin);
  void private_scalar(DType t);
  void nest(const std::vector<int64_t>& extents, const std::function<void()>& body);
  T::Expr bounded(DType t, const T::Expr& value);

  // Tiles and parts of them.
  TileInfo allocate(const std::vector<int64_t>& shape, DType dtype);
  void place(const TileInfo& tile, bool is_fragment);              // in a layout or fragment of the author's
  TileInfo fresh(const std::vector<int64_t>& shape, DType dtype);  // allocated, written, in scope
  void write_whole(const TileInfo& tile);
  std::optional<TileInfo> some_tile(bool writable);
  std::vector<int64_t> small_shape(int rank);
  DType some_dtype();
  Part part_of(const TileInfo& tile);
  std::optional<Part> part_of_tensor();
  std::optional<T::Operand> match(const TileInfo& tile, const std::vector<int64_t>& wide, const Part* peer);
  T::Expr begin_in(const TileInfo& tile, int dim, int64_t extent);
  struct Source {
    Part part;
    DType dtype;
    int tile;
  };
  std::optional<Source> reduction_source(bool (*takes)(DType));
  Source fresh_source(DType dtype);
  T::Operand matrix(int64_t rows, int64_t cols, DType dtype, std::optional<TileInfo>* whole);

  // Runs `body` and takes back the tiles, indices and scalars that it brought into scope.
  void scope(const std::function<void()>& body);
  bool spend(int64_t times);

  Random& random_;
  const KernelPlan& plan_;
  Surroundings around_;
  ExprGenerator exprs_;
  std::vector<T::Expr> blocks_;
  int64_t repeats_ = 1;  // how often the current statement runs
  int gemms_ = 0;
};

}  // namespace tilewright::fuzz
