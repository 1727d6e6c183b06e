// Dependences between the blocks of one kernel: who accessed each element of a tensor so far.
//
// Blocks run in any order, so a block must neither read nor write what another one writes, before or after; atomics of
// one kind go together (access_how.h has the rule). Each element remembers its writer and two blocks that accessed it
// otherwise: an access conflicts with some earlier one exactly when it conflicts with one of these. For where two
// blocks read (or atomically updated) the element, all did, so that a third adds nothing that two do not say; and an
// atomic load conflicts with nothing but a plain store, so that one is forgotten for a block that did more.
#pragma once

#include "runtime/interp/access_how.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::interp {

struct AccessSite;

class BlockWatch {
 public:
  struct Touch {
    const AccessSite* site = nullptr;  // of the last of them
    int64_t block : 48 = -1;           // its number in the grid
    uint16_t hows : 12 = 0;            // a bit for each AccessHow::number
    uint16_t last : 4 = 0;             // the AccessHow::number of `site`

    bool has(AccessHow how) const { return (hows >> how.number & 1) != 0; }
  };
  struct Conflict {
    AccessHow how;  // what the other block did
    const AccessSite* site = nullptr;
    int64_t block = -1;
  };

  bool watches() const { return !elements_.empty(); }
  // Starts anew, for elements 0 to `count` - 1; 0 ends watching.
  void start(size_t count) { elements_.assign(count, Element()); }
  // Remembers an access. Fills `found` and returns false where another block did something that it conflicts with.
  bool touch(size_t at, int64_t block, const AccessSite& site, AccessHow how, Conflict& found);

 private:
  struct Element {
    Touch writer;
    Touch others[2];
  };
  std::vector<Element> elements_;
};

}  // namespace tilewright::interp
