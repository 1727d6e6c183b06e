// The steps in which one role runs the slots of a schedule, and facts about them that hold for every number of
// iterations.
//
// Step u runs the slots of lead l (the anchor's stage less their own) for iteration u + l. For n iterations the steps
// are
//   prologue   u = -max lead .. -1    slots that run ahead
//   steady     u = 0 .. n - 1         all slots
//   epilogue   u = n .. n - 1 + max lag    slots that run behind
// and a slot of which the iteration is not one of 0 .. n - 1 does nothing.
#pragma once

#include "ir/kernel.h"

#include <functional>
#include <vector>

namespace tilewright::passes {

// A place in the code where a slot runs.
struct Site {
  ir::Slot slot;
  int64_t lead = 0;
  // Groups of the queue that are closed, at least, behind the one that this waits for (wait, release).
  int64_t later = 0;
  // Between the release of the buffer and this acquire, both of this role, it always waits for a channel of its own.
  bool separated = false;
  // What StepQuestions answers about the slot.
  bool closes_copies = false, closes_products = false;
  bool is_own = false;                  // its channel
  std::vector<int> channels_read = {};  // of a statement that closes products
};

struct Section {
  enum class Kind : uint8_t { prologue, steady, epilogue };
  Kind kind = Kind::steady;
  int64_t begin = 0, end = 0;  // steps; of the epilogue: behind n
  std::vector<Site> sites;     // in program order
};

// What is asked about a schedule's statements and channels.
struct StepQuestions {
  std::function<bool(const ir::Slot&)> closes_copies;       // ends a group of cp.async
  std::function<bool(const ir::Slot&)> closes_products;     // a statement that is a group of wgmma
  std::function<bool(const ir::Slot&, int channel)> reads;  // a statement that reads a channel's tiles
  std::function<bool(int channel)> is_own;                  // filled and read by all warps of this role
};

// `slots` are those of one role; `again`: the loop runs several times, one after the other.
std::vector<Section> schedule_sections(const ir::Schedule& schedule, const std::vector<ir::Slot>& slots, bool again,
                                       const StepQuestions& questions);

}  // namespace tilewright::passes
