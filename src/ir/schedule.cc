#include "ir/schedule.h"

#include <algorithm>
#include <array>

namespace tilewright::ir {

bool contains(const ExecSet& outer, const ExecSet& inner) {
  if (outer.num_warps == 0) return true;
  return inner.num_warps > 0 && inner.first_warp >= outer.first_warp &&
         inner.first_warp + inner.num_warps <= outer.first_warp + outer.num_warps;
}

bool disjoint(const ExecSet& a, const ExecSet& b) {
  if (a.num_warps == 0 || b.num_warps == 0) return false;
  return a.first_warp + a.num_warps <= b.first_warp || b.first_warp + b.num_warps <= a.first_warp;
}

std::string_view to_string(Slot::Kind kind) {
  constexpr std::array<std::string_view, kNumSlotKinds> kNames = {"op", "acquire", "commit", "wait", "release"};
  return kNames[size_t(kind)];
}

bool equal(const Channel& a, const Channel& b) {
  return a.name == b.name && a.tiles == b.tiles && a.stages == b.stages && a.producer == b.producer &&
         a.consumers == b.consumers;
}

bool equal(const Schedule& a, const Schedule& b) {
  return a.anchor == b.anchor && a.slots == b.slots &&
         std::equal(a.channels.begin(), a.channels.end(), b.channels.begin(), b.channels.end(),
                    [](const Channel& x, const Channel& y) { return equal(x, y); });
}

}  // namespace tilewright::ir
