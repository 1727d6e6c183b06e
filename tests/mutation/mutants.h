// Generated CUDA text with one mistake of synchronisation in it: every barrier, fence, wait, commit, arrival, count of
// bytes, phase and guard is removed or made weaker, one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::mutation {

enum class Kind {
  barrier,  // of the block or of some of its warps
  fence,    // of proxies, of registers, of what initialises barriers
  wait,     // for groups of copies or products, for mbarriers
  commit,   // of such groups
  bytes,    // that an mbarrier expects
  arrival,  // at an mbarrier, and how many it counts
  phase,    // parity that a thread waits for
  guard,    // conditions, also of copies and loops
};
constexpr int kNumKinds = 8;
std::string_view name_of(Kind kind);

struct Edit {
  size_t begin = 0, end = 0;  // of what is replaced
  std::string with;
};

struct Mutant {
  Kind kind = Kind::barrier;
  std::string change;  // e.g. "removed", "of 2 groups, not 1"
  std::string place;   // what it is done to, as it stands in the text
  int line = 0;        // of the text, from 1 on
  std::vector<Edit> edits;

  std::string applied_to(std::string text) const;
};

// In order of the text, which holds one kernel.
std::vector<Mutant> mutants_of(const std::string& text);

}  // namespace tilewright::mutation
