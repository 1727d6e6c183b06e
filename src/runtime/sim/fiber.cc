#include "runtime/sim/fiber.h"

#include "support/error.h"

#include <tilewright/device/sim/hooks.h>

#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#include <cstdint>
#include <cstring>

namespace tilewright::sim {

namespace {

// CUDA gives a thread at most 512 KiB of local memory; pages that are not touched cost nothing.
using device::sim::kStackBytes;
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
#else
bool has_fibers() { return false; }
static void tilewright_sim_switch(void**, void*) { throw internal_error({}, "no fibers on this processor"); }
#endif

#if defined(__SANITIZE_ADDRESS__)
// The address sanitizer wants to know which stack runs, and keeps marks in stacks that are left for good.
namespace {

struct HostStack {
  const void* bottom = nullptr;
  size_t size = 0;
};
thread_local HostStack host_stack;

void arrive(const Stacks& stacks, void* fake_stack) {
  HostStack left;
  __sanitizer_finish_switch_fiber(fake_stack, &left.bottom, &left.size);
  if (!stacks.contains(left.bottom)) host_stack = left;
}

}  // namespace

void Stacks::begin() const { arrive(*this, nullptr); }

void Stacks::switch_stack(void** from, void* to) const {
  const HostStack next = contains(to)
                             ? HostStack{bottom_of(int((static_cast<char*>(to) - memory_) / kStackBytes)), kStackBytes}
                             : host_stack;
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, next.bottom, next.size);
  tilewright_sim_switch(from, to);
  arrive(*this, fake_stack);
}

static void forget_marks(char* bottom) {
  __asan_unpoison_memory_region(bottom + kGuardBytes, kStackBytes - kGuardBytes);
}
#else
void Stacks::begin() const {}
void Stacks::switch_stack(void** from, void* to) const { tilewright_sim_switch(from, to); }
static void forget_marks(char*) {}
#endif

char* Stacks::bottom_of(int index) const { return memory_ + size_t(index) * kStackBytes; }

void Stacks::reserve(int count) {
  if (count <= count_) return;
  if (memory_) ::munmap(memory_, size_);
  memory_ = nullptr;
  count_ = 0;
  size_ = size_t(count + 1) * kStackBytes;
  void* const memory =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw toolchain_error("no memory for the stacks of {} simulated threads", count);
  memory_ = static_cast<char*>(memory);
  count_ = count;
  for (int i = 0; i < count; ++i) ::mprotect(bottom_of(i), kGuardBytes, PROT_NONE);
  // Nothing else lies near above the last one: device/sim/checked.h takes it for a stack.
  ::mprotect(bottom_of(count), kStackBytes, PROT_NONE);
}

Stacks::~Stacks() {
  if (memory_) ::munmap(memory_, size_);
}

char* Stacks::top_of(int index) const {
  return bottom_of(index) + kStackBytes - size_t(index) % kNumColours * kColourBytes - 64;
}

std::vector<unsigned char> Stacks::contents(int index, const void* from) const {
  std::vector<unsigned char> out(size_t(top_of(index) - static_cast<const char*>(from)));
#if defined(__x86_64__)
  // Not by a function that the address sanitizer knows: between the variables on a stack lie marks of its own.
  void* to = out.data();
  size_t bytes = out.size();
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#endif
  return out;
}

void* Stacks::prepare(int index, void (*entry)()) const {
  forget_marks(bottom_of(index));
  char* const top = top_of(index);
  // What the switch pops: six registers and the address to return to. At the entry of a function the stack pointer plus
  // 8 is a multiple of 16.
  auto* frame = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 8);
  *--frame = reinterpret_cast<void*>(entry);
  frame -= 6;
  std::memset(frame, 0, 6 * sizeof(void*));
  return frame;
}

}  // namespace tilewright::sim
