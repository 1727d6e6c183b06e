// Ctrl-C ends launches: Python's own handler only notes it for the interpreter, which waits for the kernel.
#pragma once

namespace tilewright::python {

// While one lives, SIGINT stops all launches that run, and goes on to the handler of before.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

}  // namespace tilewright::python
