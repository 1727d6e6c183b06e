#pragma once
// What simulated CUDA text and the simulator say to each other. Both sides include this file: the text, compiled by the
// host compiler, calls through a table of functions; the simulator reads the arguments.
namespace tilewright::device::sim {

struct Dim3 {
  unsigned x, y, z;
};

// Of the stack of each thread. So many bytes above the last of the stacks belong to nobody.
constexpr unsigned long kStackBytes = 1ul << 20;

// The thread that runs now, as its text reads it.
struct ThreadView {
  Dim3 thread, block, block_dim, grid_dim;
};

// What the lanes of a warp do together. PTX: the instruction of each.
enum class WarpOp : unsigned char {
  sync,           // bar.warp.sync
  shuffle_index,  // shfl.sync.idx: x, n = lane, width
  shuffle_xor,    // shfl.sync.bfly
  shuffle_up,     // shfl.sync.up
  shuffle_down,   // shfl.sync.down
  any,            // vote.sync.any: x
  all,            // vote.sync.all
  ballot,         // vote.sync.ballot
  match,          // match.any.sync
  add,            // redux.sync, of 32 bits: x
  min_signed,     //
  min_unsigned,   //
  max_signed,     //
  max_unsigned,   //
  bit_and,        //
  bit_or,         //
  bit_xor,        //
  load_matrix,    // ldmatrix: address of a row, n matrices to d
  store_matrix,   // stmatrix: address of a row, n matrices of a
  transpose,      // movmatrix: x
  multiply,       // mma.sync: d += a * b
};

// Element types of a product.
enum class Element : unsigned char { f16, bf16, tf32, f32, f64, s8, u8, s32, e4m3, e5m2 };

struct Product {
  unsigned m, n, k;
  Element a, b, d;
};

// What one lane brings to an operation of its warp.
struct Lane {
  unsigned mask;
  unsigned x = 0, n = 0, width = 32;
  unsigned result = 0;
  bool transposed = false;
  unsigned address = 0;  // in the block's window of shared memory
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  Product product = {};
};

enum class BlockVote : unsigned char { none, any, all, count };

enum class AtomicOp : unsigned char { add, min, max, bit_and, bit_or, bit_xor, exchange, compare_exchange };
enum class Number : unsigned char { i32, u32, i64, u64, f32, f64, u16 };

enum class Access : unsigned char { read, write, atomic };

// `line` is that of the call in the text. Addresses in shared memory are offsets from the start of the block's.
struct Hooks {
  // bar.sync and bar.red; 0 threads: all of the block that have not ended. The result of the vote.
  unsigned (*barrier)(unsigned id, unsigned threads, BlockVote vote, unsigned x, int line);
  void (*barrier_arrive)(unsigned id, unsigned threads, int line);
  void (*warp)(WarpOp op, Lane* lane, int line);
  unsigned (*active_mask)(int line);
  void (*copy_async)(unsigned to, const void* from, unsigned bytes, unsigned valid_bytes, int line);
  void (*copy_async_commit)();
  void (*copy_async_wait)(unsigned pending);
  // The bytes behind an address of shared memory, to be read or written.
  void* (*shared)(unsigned address, unsigned bytes, Access access, int line);
  // Memory behind a pointer, about to be accessed by code that relies on `alignment`. `where` is an address in the
  // code.
  void (*access)(const void* at, unsigned bytes, unsigned alignment, Access access, const void* where);
  // An access of so many bytes at no multiple of them. Does not return.
  void (*misaligned)(const void* at, unsigned bytes, int line);
  unsigned long long (*atomic)(AtomicOp op, Number type, void* at, unsigned long long x, unsigned long long expected,
                               int line);
};

}  // namespace tilewright::device::sim
