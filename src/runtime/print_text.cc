#include "runtime/print_text.h"

#include <cstdio>

namespace tilewright {

void print_text(const PrintHook& hook, std::string_view text) {
  if (hook) return hook(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace tilewright
