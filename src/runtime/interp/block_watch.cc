#include "runtime/interp/block_watch.h"

#include <array>

namespace tilewright::interp {

namespace {

constexpr AccessHow kLoad{2 + int(ir::AtomicKind::load)};

// By AccessHow::number: the bits of what conflicts with it.
using Masks = std::array<uint16_t, kNumAccessHows>;

Masks conflict_masks() {
  Masks out{};
  for (int a = 0; a < kNumAccessHows; ++a) {
    for (int b = 0; b < kNumAccessHows; ++b) {
      if (conflict({a}, {b})) out[size_t(a)] = uint16_t(out[size_t(a)] | 1u << b);
    }
  }
  return out;
}

bool only_loads(const BlockWatch::Touch& t) { return t.hows == 1u << kLoad.number; }

}  // namespace

bool BlockWatch::touch(size_t at, int64_t block, const AccessSite& site, AccessHow how, Conflict& found) {
  static const Masks kConflicts = conflict_masks();
  Element& element = elements_[at];
  for (const Touch* t : {&element.writer, &element.others[0], &element.others[1]}) {
    const unsigned bad = t->hows & kConflicts[size_t(how.number)];
    if (bad == 0 || t->block == block) continue;
    found = {.how = {bad >> t->last & 1 ? int(t->last) : __builtin_ctz(bad)}, .site = t->site, .block = t->block};
    return false;
  }
  const auto remember = [&](Touch& t) {
    if (t.block == block && t.has(how)) return true;
    t.hows = uint16_t((t.block == block ? t.hows : 0u) | 1u << how.number) & 0xfff;
    t.block = block;
    t.last = uint16_t(how.number) & 15;
    t.site = &site;
    return true;
  };
  if (how.number == AccessHow::store().number) return remember(element.writer);
  for (Touch& t : element.others) {
    if (t.block < 0 || t.block == block) return remember(t);
  }
  for (Touch& t : element.others) {
    if (how.number != kLoad.number && only_loads(t)) return remember(t);
  }
  return true;
}

}  // namespace tilewright::interp
