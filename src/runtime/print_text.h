// Where the text of T::print goes.
#pragma once

#include <tilewright/runtime.h>

namespace tilewright {

// To the hook, or to the standard output at once where there is none.
void print_text(const PrintHook& hook, std::string_view text);

}  // namespace tilewright
