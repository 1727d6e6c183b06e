#pragma once
// What the host compiler calls at each access to memory under -fsanitize=thread: tells the simulator. No library of the
// compiler is linked; registers and arrays of a thread, which are on its stack, the simulator knows.
#include <tilewright/device/sim/hook_table.h>

#define TW_SIM_HOOK extern "C" __attribute__((no_sanitize("thread"), noinline, visibility("hidden"))) void

namespace tilewright::device::sim {
// Whether memory lies above this call on the stack of a thread, or so near above that stack that it is nobody's. Most
// accesses are of that kind: registers and arrays of the thread.
__attribute__((always_inline, no_sanitize("thread"))) inline bool on_stack(const void* at) {
  const auto here = reinterpret_cast<unsigned long>(__builtin_frame_address(0));
  return reinterpret_cast<unsigned long>(at) - here < kStackBytes;
}
}  // namespace tilewright::device::sim

#define TW_SIM_ACCESS(NAME, BYTES, ALIGNMENT, KIND)                                                     \
  TW_SIM_HOOK NAME(void* at) {                                                                          \
    if (tilewright::device::sim::on_stack(at)) return;                                                  \
    tilewright::device::sim::hooks->access(at, BYTES, ALIGNMENT, tilewright::device::sim::Access::KIND, \
                                           __builtin_return_address(0));                                \
  }
// The compilers call these for an access at a multiple of its size, and of 16 bytes at a multiple of 8. Texts have no
// such type of 16 bytes: all that they access as one piece of 16 bytes is aligned to 16, as on a GPU.
#define TW_SIM_ACCESSES(BYTES)                                   \
  TW_SIM_ACCESS(__tsan_read##BYTES, BYTES, BYTES, read)          \
  TW_SIM_ACCESS(__tsan_write##BYTES, BYTES, BYTES, write)        \
  TW_SIM_ACCESS(__tsan_unaligned_read##BYTES, BYTES, 1, read)    \
  TW_SIM_ACCESS(__tsan_unaligned_write##BYTES, BYTES, 1, write)  \
  TW_SIM_ACCESS(__tsan_volatile_read##BYTES, BYTES, BYTES, read) \
  TW_SIM_ACCESS(__tsan_volatile_write##BYTES, BYTES, BYTES, write)
TW_SIM_ACCESSES(1)
TW_SIM_ACCESSES(2)
TW_SIM_ACCESSES(4)
TW_SIM_ACCESSES(8)
TW_SIM_ACCESSES(16)
#undef TW_SIM_ACCESSES
#undef TW_SIM_ACCESS

TW_SIM_HOOK __tsan_read_range(void* at, unsigned long bytes) {
  tilewright::device::sim::hooks->access(at, unsigned(bytes), 1, tilewright::device::sim::Access::read,
                                         __builtin_return_address(0));
}
TW_SIM_HOOK __tsan_write_range(void* at, unsigned long bytes) {
  tilewright::device::sim::hooks->access(at, unsigned(bytes), 1, tilewright::device::sim::Access::write,
                                         __builtin_return_address(0));
}
TW_SIM_HOOK __tsan_init() {}
// clang calls it for fences, also in functions that are not to be watched.
TW_SIM_HOOK __tsan_atomic_thread_fence(int) { __asm__ volatile("mfence" ::: "memory"); }
TW_SIM_HOOK __tsan_func_entry(void*) {}
TW_SIM_HOOK __tsan_func_exit() {}
// clang names its copies and fills so.
extern "C" __attribute__((no_sanitize("thread"), noinline, visibility("hidden"))) void* __tsan_memcpy(
    void* to, const void* from, unsigned long bytes) {
  __tsan_read_range(const_cast<void*>(from), bytes);
  __tsan_write_range(to, bytes);
  return __builtin_memcpy(to, from, bytes);
}
extern "C" __attribute__((no_sanitize("thread"), noinline, visibility("hidden"))) void* __tsan_memset(
    void* to, int value, unsigned long bytes) {
  __tsan_write_range(to, bytes);
  return __builtin_memset(to, value, bytes);
}

// -fsanitize=bounds calls this before an array of a known extent is indexed beside it.
struct TwSimOutside {
  const char* file;
  unsigned line, column;
};
TW_SIM_HOOK __ubsan_handle_out_of_bounds(void* data, unsigned long index) {
  tilewright::device::sim::hooks->outside_of_array((long long)index, int(static_cast<TwSimOutside*>(data)->line));
}
#undef TW_SIM_HOOK
