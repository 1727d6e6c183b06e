// Stacks and the switch between them: the threads of a simulated block are fibers of one thread of the host.
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright::sim {

// Whether this processor has a switch.
bool has_fibers();

// Stacks of equal size in one piece of memory, each with a page below it that cannot be written.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks();

  void reserve(int count);  // throws Error{toolchain} when there is no memory
  // A stack that calls `entry` when it is switched to. `entry` calls `begin` first and must not return.
  void* prepare(int index, void (*entry)()) const;
  void begin() const;
  // Saves where the running stack, one of these or the host's, is to `*from` and goes on where `to` was saved.
  void switch_stack(void** from, void* to) const;
  // What lies on a stack from where it was saved, or from an address in its running function, to its top.
  std::vector<unsigned char> contents(int index, const void* from) const;
  bool contains(const void* p) const { return p >= memory_ && p < memory_ + size_; }

 private:
  char* bottom_of(int index) const;
  char* top_of(int index) const;

  char* memory_ = nullptr;
  size_t size_ = 0;
  int count_ = 0;
};

}  // namespace tilewright::sim
