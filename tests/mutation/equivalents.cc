#include "mutation/equivalents.h"

#include <regex>
#include <vector>

namespace tilewright::mutation {

namespace {

struct Row {
  const char* subject;
  Kind kind;
  const char* place;  // a regular expression for the whole of Mutant::place
  const char* why;
};

constexpr const char* kNobodyReads =
    "PTX ISA, State Spaces: registers are private to a thread. The value goes to a register that holds no element of "
    "the tile, which nobody reads; the access itself has a check of its own, or is one that the fast path checked";
constexpr const char* kNoReader =
    "PTX ISA, cp.async: src-size bytes are read and the rest is filled with zeros. Behind the last step these are "
    "bytes of "
    "A, or none, and the buffer is one that nobody reads any more";
constexpr const char* kColumnOfItsOwn =
    "PTX ISA, mma and fma: an element of the product depends on one column of B. The copy reads on into the next row "
    "of B, which is memory of B, for columns that are not stored";
constexpr const char* kLoadedAgain =
    "PTX ISA, ldmatrix: the registers get what lies at the addresses. In the last iteration the operands of the second "
    "step are loaded once more to the registers that hold them, from memory that nobody writes any more";
constexpr const char* kNoConflict =
    "PTX ISA, Memory Consistency Model, Conflict: operations conflict where they overlap. Those on the two sides of "
    "the barrier are of different elements, or have another barrier between them (the barrier is more than is needed)";
constexpr const char* kAlwaysTrue =
    "PTX ISA, Special Registers: %ctaid lies in the grid, and a counter below the bound of its loop. The condition "
    "always holds (the check is more than is needed)";
constexpr const char* kNobodyWaits =
    "PTX ISA, mbarrier: a phase is seen by those who test or wait for it, and none must end. Behind the last step "
    "nobody waits for a free buffer (the arrival is more than is needed)";

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"gemm_epilogue", Kind::guard, R"(at_\d+ \+ r_\d+ < 24)", kNobodyReads},
      {"split_k", Kind::guard, R"(it_\d+ < 6)", kNoReader},
      {"quickstart f16, tails", Kind::guard, R"(.*144 - column_\d+ \* 64 - at_\d+ \* 16, 16\)\))", kColumnOfItsOwn},
      {"quickstart bf16, three steps", Kind::guard, R"(.*272 - column_\d+ \* 128 - at_\d+ \* 16, 16\)\))",
       kColumnOfItsOwn},
      {"quickstart f32", Kind::guard, R"(.*80 - column_\d+ \* 64 - at_\d+ \* 16, 16\)\))", kColumnOfItsOwn},
      {"cp.async, 2 stages", Kind::guard, R"(.*144 - bx_0 \* 64 - at_\d+ \* 16, 16\)\))", kColumnOfItsOwn},
      {"quickstart bf16, three steps", Kind::guard, R"(ks_\d+ < 1)", kLoadedAgain},
      {"online_softmax", Kind::barrier, R"(tw::sync_block\(\))", kNoConflict},
      {"prefix_sum", Kind::barrier, R"(tw::sync_block\(\))", kNoConflict},
      // Of whole rows, of which the next ones follow.
      {"split_k", Kind::guard, R"(bx_\d+ \* 16 \+ at_\d+ < 21)", kNobodyReads},
      {"split_k", Kind::guard, R"(tw::u64\((bz|k)_\d+\) < tw::u64\(2\))", kAlwaysTrue},
      {"wgmma, 2 stages", Kind::guard, R"(tw::remainder\(tid_\d+, 32\) == 0)", kNobodyWaits},
      {"wgmma, 3 stages", Kind::guard, R"(tw::remainder\(tid_\d+, 32\) == 0)", kNobodyWaits},
      {"wgmma, 2 groups", Kind::guard, R"(tw::remainder\(tid_\d+, 32\) == 0)", kNobodyWaits},
      {"wgmma, B [n, k]", Kind::guard, R"(tw::remainder\(tid_\d+, 32\) == 0)", kNobodyWaits},
      {"wgmma, 2 stages", Kind::arrival, R"(tw::mbarrier_arrive\(.*empty_operands \+ 1\)\))", kNobodyWaits},
      {"wgmma, 3 stages", Kind::arrival, R"(tw::mbarrier_arrive\(.*empty_operands \+ 1\)\))", kNobodyWaits},
      {"wgmma, 2 groups", Kind::arrival, R"(tw::mbarrier_arrive\(.*empty_operands\)\))", kNobodyWaits},
      {"wgmma, B [n, k]", Kind::arrival, R"(tw::mbarrier_arrive\(.*empty_operands \+ 1\)\))", kNobodyWaits},
  };
  return kRows;
}

}  // namespace

std::string why_equivalent(const std::string& subject, const Mutant& mutant) {
  for (const Row& row : rows()) {
    if (subject == row.subject && mutant.kind == row.kind && std::regex_match(mutant.place, std::regex(row.place)))
      return row.why;
  }
  return {};
}

}  // namespace tilewright::mutation
