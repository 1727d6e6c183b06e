#include "runtime/interp/access_how.h"

#include <fmt/format.h>

namespace tilewright::interp {

std::string AccessHow::text() const {
  if (number == 0) return "a plain read";
  if (number == 1) return "a plain store";
  return fmt::format("atomic_{}", to_string(ir::AtomicKind(number - 2)));
}

bool conflict(AccessHow a, AccessHow b) {
  if (a.is_atomic() && b.is_atomic()) return a.changes() && b.changes() && a.number != b.number;
  return a.changes() || b.changes();
}

}  // namespace tilewright::interp
