#include "ir/schedule.h"

#include <fmt/format.h>

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

std::string to_string(const ExecSet& exec) { return fmt::format("warps({}, {})", exec.first_warp, exec.num_warps); }

bool filled_where_read(const Channel& channel) {
  return channel.consumers.size() == 1 && channel.consumers[0] == channel.producer;
}

std::string_view to_string(Slot::Kind kind) {
  constexpr std::array<std::string_view, kNumSlotKinds> kNames = {"op", "acquire", "commit", "wait", "release"};
  return kNames[size_t(kind)];
}

}  // namespace tilewright::ir
