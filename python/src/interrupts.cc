#include "interrupts.h"

#include <signal.h>
#include <tilewright/runtime.h>

#include <mutex>

namespace tilewright::python {

namespace {

std::mutex mutex;
int num_guards = 0;
struct sigaction before;

void stop_launches(int signal) {
  interrupt_launches();
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (num_guards++ > 0) return;
  struct sigaction action {};
  action.sa_handler = &stop_launches;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (--num_guards == 0) sigaction(SIGINT, &before, nullptr);
}

}  // namespace tilewright::python
