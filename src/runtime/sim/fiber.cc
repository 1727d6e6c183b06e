#include "runtime/sim/fiber.h"

#include "support/error.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

namespace tilewright::sim {

namespace {

// CUDA gives a thread at most 512 KiB of local memory; pages that are not touched cost nothing.
constexpr size_t kStackBytes = size_t(1) << 20;
constexpr size_t kGuardBytes = 4096;
// Tops of neighbouring stacks lie in different sets of the first-level cache.
constexpr size_t kColourBytes = 1088, kNumColours = 15;

}  // namespace

#if defined(__x86_64__)
// The callee-saved registers of the System V ABI. Control words of the floating-point units stay as they are.
extern "C" void tilewright_sim_switch(void** from, void* to);
asm(R"(
.text
.p2align 4
.type tilewright_sim_switch,@function
.local tilewright_sim_switch
tilewright_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tilewright_sim_switch,.-tilewright_sim_switch
)");
bool has_fibers() { return true; }
void switch_stack(void** from, void* to) { tilewright_sim_switch(from, to); }
#else
bool has_fibers() { return false; }
void switch_stack(void**, void*) { throw internal_error({}, "no fibers on this processor"); }
#endif

void Stacks::reserve(int count) {
  if (count <= count_) return;
  if (memory_) ::munmap(memory_, size_);
  memory_ = nullptr;
  count_ = 0;
  size_ = size_t(count) * kStackBytes;
  void* const memory =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw toolchain_error("no memory for the stacks of {} simulated threads", count);
  memory_ = static_cast<char*>(memory);
  count_ = count;
  for (int i = 0; i < count; ++i) ::mprotect(memory_ + size_t(i) * kStackBytes, kGuardBytes, PROT_NONE);
}

Stacks::~Stacks() {
  if (memory_) ::munmap(memory_, size_);
}

void* Stacks::prepare(int index, void (*entry)()) const {
  char* const top = memory_ + size_t(index + 1) * kStackBytes - size_t(index) % kNumColours * kColourBytes - 64;
  // What the switch pops: six registers and the address to return to. At the entry of a function the stack pointer plus
  // 8 is a multiple of 16.
  auto* frame = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 8);
  *--frame = reinterpret_cast<void*>(entry);
  frame -= 6;
  std::memset(frame, 0, 6 * sizeof(void*));
  return frame;
}

}  // namespace tilewright::sim
