#include "runtime/interp/access_log.h"

#include "target/dtype.h"

#include <cmath>

namespace tilewright::interp {

bool AccessLog::conflicts(AccessHow a, AccessHow b) const {
  if (!a.is_atomic() && !b.is_atomic() && watch_ == Watch::only) return false;
  return conflict(a, b);
}

std::optional<AccessLog::Conflict> AccessLog::see(const AccessSite& site, const Array& array, size_t at,
                                                  AccessHow how) {
  const bool listed = storages_.contains(array.storage);
  if (actors_.empty() || listed != (watch_ == Watch::only)) return std::nullopt;
  const auto me = int64_t(actors_.size()) - 1;
  for (size_t unit = at * array.units; unit < (at + 1) * array.units; ++unit) {
    Use& use = uses_[{array.storage, unit}];
    for (int other = 0; other < kNumAccessHows; ++other) {
      const Actors& actors = use.by[size_t(other)];
      const int64_t foreign = actors.first != me ? actors.first : actors.second;
      if (foreign == kNobody || !conflicts({other}, how)) continue;
      return Conflict{.earlier = {.how = {other}, .site = actors.site, .actor = actors_[size_t(foreign)]},
                      .later = {.how = how, .site = &site, .actor = actors_.back()}};
    }
    Actors& mine = use.by[size_t(how.number)];
    if (mine.first == kNobody)
      mine = {.first = me, .site = &site};
    else if (mine.first != me && mine.second == kNobody)
      mine.second = me;
  }
  return std::nullopt;
}

void AccessLog::add(const Array& array, size_t at, double before, double value) {
  for (size_t unit = at * array.units; unit < (at + 1) * array.units; ++unit) {
    Use& use = uses_[{array.storage, unit}];
    if (use.adds == 0) use.magnitude = std::abs(before);
    use.magnitude += std::abs(value);
    use.adds += 1;
    use.dtype = array.dtype;
  }
}

bool AccessLog::admits(const Snapshot& a, const Snapshot& b) const {
  const auto it = uses_.find({a.storage, a.at});
  if (it == uses_.end() || it->second.adds == 0) return false;
  if (a.storage->raw()) return true;  // a part of a sum's bits says nothing of its size
  const Use& use = it->second;
  // Each order is within (1 + u)^n - 1 times the magnitudes of the terms of the sum in real arithmetic.
  const double n = use.adds * unit_roundoff(use.dtype), growth = std::expm1(n * (1 + n));
  if (!(use.magnitude * (1 + growth) <= largest_finite(use.dtype))) return true;
  return std::abs(a.cell.f - b.cell.f) <= 2 * growth * use.magnitude + smallest_subnormal(use.dtype);
}

}  // namespace tilewright::interp
