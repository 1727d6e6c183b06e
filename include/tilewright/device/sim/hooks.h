#pragma once
// What simulated CUDA text and the simulator say to each other. Both sides include this file: the text, compiled by the
// host compiler, calls through a table of functions; the simulator reads the arguments.
namespace tilewright::device::sim {

struct Dim3 {
  unsigned x, y, z;
};

// Of the stack of each thread. So many bytes above the last of the stacks belong to nobody.
constexpr unsigned long kStackBytes = 1ul << 20;

// The thread that runs now, as its text reads it; the cluster's extents in blocks.
struct ThreadView {
  Dim3 thread, block, block_dim, grid_dim, cluster_dim;
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
  // Of the warps of a warpgroup:
  wgmma_fence,      // wgmma.fence
  wgmma_product,    // wgmma.mma_async: d (+)= a * b, by descriptors
  wgmma_commit,     // wgmma.commit_group
  wgmma_wait,       // wgmma.wait_group: n pending; result 0: other warps have not come yet
  more_registers,   // setmaxnreg.inc: n
  fewer_registers,  // setmaxnreg.dec
  // Of the warps of a cluster:
  cluster_arrive,  // barrier.cluster.arrive.aligned: n is 1 where it is relaxed
  cluster_wait,    // barrier.cluster.wait.aligned
};

// Element types of a product.
enum class Element : unsigned char { f16, bf16, tf32, f32, f64, s8, u8, s32, e4m3, e5m2 };

struct Product {
  unsigned m, n, k;
  Element a, b, d;
};

// Of a product of a warpgroup: operands in shared memory by descriptors; `a` of the lane is null or holds registers.
struct WarpgroupOperands {
  unsigned long long a = 0, b = 0;
  bool mn_major_a = false, mn_major_b = false, accumulate = false;
  friend bool operator==(const WarpgroupOperands& x, const WarpgroupOperands& y) {
    return x.a == y.a && x.b == y.b && x.mn_major_a == y.mn_major_a && x.mn_major_b == y.mn_major_b &&
           x.accumulate == y.accumulate;
  }
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
  WarpgroupOperands operands = {};
};

enum class BlockVote : unsigned char { none, any, all, count };

enum class AtomicOp : unsigned char { add, min, max, bit_and, bit_or, bit_xor, exchange, compare_exchange };
enum class Number : unsigned char { i32, u32, i64, u64, f32, f64, u16 };

enum class Access : unsigned char { read, write, atomic };

// Barriers in shared memory. PTX: mbarrier.
enum class MbarrierOp : unsigned char {
  init,                 // x: arrivals of each phase
  invalidate,           //
  arrive,               // x: count
  arrive_expect,        // x: bytes
  expect,               // x: bytes
  arrive_after_copies,  // cp.async.mbarrier.arrive.noinc
  test,                 // x: parity; whether that phase has ended
  wait,                 // x: parity
  wait_cluster,         // x: parity; .acquire.cluster
  arrive_cluster,       // at a barrier in the cluster's window
  release_cluster,      // the same, .release.cluster
};

// Fences of the asynchronous proxy, and those between threads of a cluster.
enum class Fence : unsigned char { mbarrier_init, async_shared, async_global, async, cluster };

// PTX: cp.async.bulk, cp.reduce.async.bulk. Of a tensor by `map` and coordinates, innermost first; else of `bytes`.
struct BulkCopy {
  bool load = false;                     // to shared memory, for `barrier`; else to global memory, in groups
  AtomicOp reduce = AtomicOp::exchange;  // of a store: add, min, max; `exchange` overwrites
  Element type = Element::f32;           // of the elements of a reduction without a map
  bool wide_integer = false;             // u64 instead
  const void* map = nullptr;
  int rank = 0;
  int at[5] = {};
  void* global = nullptr;
  unsigned bytes = 0, shared = 0, barrier = 0;
  bool multicast = false;  // a load to the same place in all `blocks` of the cluster, a bit each
  unsigned blocks = 0;
  bool from_shared = false;  // a load whose source is `source`, in this block's shared memory
  unsigned source = 0;
};

// Addresses of the cluster's window: from this bit on the number of the block in the cluster plus 1; 0 is this block,
// so that addresses of the block's own window are addresses of the cluster's.
constexpr unsigned kBlockShift = 24;

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
  // The same behind an address of the cluster's window. PTX: .shared::cluster
  void* (*shared_of_cluster)(unsigned address, unsigned bytes, Access access, int line);
  // PTX: mapa.shared::cluster
  unsigned (*map_shared)(unsigned address, unsigned rank, int line);
  // PTX: barrier.cluster.arrive, relaxed or not, and barrier.cluster.wait
  void (*cluster_arrive)(bool relaxed, int line);
  void (*cluster_wait)(int line);
  // PTX: st.async of so many bytes at x
  void (*store_async)(unsigned to, const void* x, unsigned bytes, unsigned barrier, int line);
  // Memory behind a pointer, about to be accessed by code that relies on `alignment`. `where` is an address in the
  // code.
  void (*access)(const void* at, unsigned bytes, unsigned alignment, Access access, const void* where);
  // An array of the thread is indexed beside its end. Does not return.
  void (*outside_of_array)(long long index, int line);
  // An access of so many bytes at no multiple of them. Does not return.
  void (*misaligned)(const void* at, unsigned bytes, int line);
  unsigned long long (*atomic)(AtomicOp op, Number type, void* at, unsigned long long x, unsigned long long expected,
                               int line);
  unsigned (*mbarrier)(MbarrierOp op, unsigned address, unsigned x, int line);
  void (*fence)(Fence fence);
  void (*bulk_copy)(const BulkCopy* copy, int line);
  void (*bulk_commit)();
  void (*bulk_wait)(unsigned pending, bool read_only);
  void (*wgmma_wait)(unsigned pending, int line);
  void (*more_registers)(unsigned registers, int line);
  // PTX: griddepcontrol.wait
  void (*wait_for_grid)();
  // Lets the others run first.
  void (*rest)(int line);
};

}  // namespace tilewright::device::sim
