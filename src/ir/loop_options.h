// The options of loops, as attributes of ForStmt:
//
//   unrolled    explicit (bool): the compiler expands the loop; factor (int >= 1): that many iterations at a time.
//               Not both.
//   pipelined   num_stages (int >= 0): buffers of the staged tiles. order, stage (strings "0, 2, 1"): a schedule by
//               hand, one number for each statement of the body. order is the statement's position in the steady
//               state, a permutation; stage >= 0 is the iteration it lags behind. sync, group (strings "0, 1; 2"):
//               statements that are synchronised, or issued, together.
//   parallel    coalesced_width (int >= 1): elements of one vector access, a divisor of the innermost extent.
//
// Each is a wish: the result is that of the loop without options.
#pragma once

#include "ir/stmt.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

// "0, 2, 1" and back; nothing where the text is no list of integers. An empty text is an empty list.
std::string list_text(std::span<const int64_t> numbers);
std::optional<std::vector<int64_t>> list_from_text(std::string_view text);
// "0, 1; 2" and back.
std::string groups_text(std::span<const std::vector<int64_t>> groups);
std::optional<std::vector<std::vector<int64_t>>> groups_from_text(std::string_view text);

// Throws Error{invalid_kernel} at `loc` for a step of 0 or beyond kMaxStep.
void check_step(int64_t step, const Loc& loc);
// Throws Error{invalid_kernel} at `loc` when an option is none of the above.
void check_loop_options(const ForStmt& loop, const Loc& loc);

}  // namespace tilewright::ir
