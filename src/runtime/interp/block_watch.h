// Dependences between the blocks of one kernel: who touched each element of a tensor so far.
//
// Blocks run in any order, so a block must neither read nor write what another one writes, before or after. Each
// element remembers its writer and two blocks that read or atomically updated it: an access conflicts with some earlier
// one exactly when it conflicts with one of these, because a third reader adds nothing that two do not say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::interp {

struct AccessSite;

// Atomics of several blocks do not conflict with each other.
enum class Touching : uint8_t { read = 1, write = 2, atomic = 4 };

class BlockWatch {
 public:
  struct Touch {
    const AccessSite* site = nullptr;
    int64_t block : 56 = -1;  // its number in the grid
    uint8_t how : 8 = 0;      // a union of Touching
  };

  bool watches() const { return !elements_.empty(); }
  // Starts anew, for elements 0 to `count` - 1; 0 ends watching.
  void start(size_t count) { elements_.assign(count, Element()); }
  // Remembers an access. Returns what another block did that it conflicts with; null when there is nothing.
  const Touch* touch(size_t at, int64_t block, const AccessSite& site, Touching how);

 private:
  struct Element {
    Touch writer;
    Touch others[2];
  };
  std::vector<Element> elements_;
};

}  // namespace tilewright::interp
