#include "runtime/interp/block_watch.h"

namespace tilewright::interp {

namespace {

// Kinds of accesses by others that an access conflicts with.
uint8_t conflicts_with(Touching how) {
  constexpr uint8_t kRead = uint8_t(Touching::read), kWrite = uint8_t(Touching::write),
                    kAtomic = uint8_t(Touching::atomic);
  switch (how) {
    case Touching::read: return kWrite | kAtomic;
    case Touching::write: return kRead | kWrite | kAtomic;
    case Touching::atomic: return kRead | kWrite;
  }
  return 0;
}

}  // namespace

const BlockWatch::Touch* BlockWatch::touch(size_t at, int64_t block, const AccessSite& site, Touching how) {
  Element& element = elements_[at];
  const uint8_t bad = conflicts_with(how);
  const auto conflicts = [&](const Touch& t) { return t.block >= 0 && t.block != block && (t.how & bad) != 0; };
  if (conflicts(element.writer)) return &element.writer;
  for (const Touch& other : element.others) {
    if (conflicts(other)) return &other;
  }
  const auto remember = [&](Touch& t) {
    if (t.block == block && (t.how & uint8_t(how)) != 0) return;
    t.site = &site;
    t.how = uint8_t((t.block == block ? t.how : 0) | uint8_t(how));
    t.block = block;
  };
  if (how == Touching::write) {
    remember(element.writer);
    return nullptr;
  }
  for (Touch& other : element.others) {
    if (other.block >= 0 && other.block != block) continue;
    remember(other);
    break;
  }
  return nullptr;
}

}  // namespace tilewright::interp
