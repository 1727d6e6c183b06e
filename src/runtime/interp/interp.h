// The reference interpreter: runs a program as it is written, block after block, on the exact arithmetic of ir/expr.h.
//
// Everything without meaning is an Error{invalid_kernel}: reading an on-chip or workspace element before it is
// written, leaving an on-chip tile, a parallel loop whose result depends on the order of its iterations (each is run
// in two orders), a block that reads or writes an element which another block of the kernel writes, a while loop
// without end. The arguments are written only when the whole program has run.
//
// ## Tracked mode
// A backend may add in another order than `expand` does, fuse a multiplication with an addition, and take elementary
// functions that are some ulps off. Tracked mode computes, next to each value v, how far apart two admissible results
// can be. Every float carries
//     err    |a - r| <= err for every admissible result a (v is one of them) and the result r in real arithmetic
//     mag    for a sum: sum of the magnitudes of its terms; otherwise |v|
//     base   for a sum: sum of the errors of its terms; otherwise err
//     adds   for a sum: number of additions; otherwise 0
// so that two admissible results differ by at most 2 err. With u the unit roundoff and s the smallest subnormal of
// the operation's dtype:
//     sum    A sum of n + 1 terms in any association makes each term pass through at most n roundings, hence
//            |a - r| <= base + g (mag + 2 base), g = (1 + u)^n - 1 <= nu + (nu)^2 for nu <= 1; mag + 2 base bounds the
//            magnitudes of admissible terms. The additions are counted, not just accumulated as u * (partial sum): with
//            the largest term last, a sequential sum errs less than another order may.
//     a * b  |ab - r_a r_b| <= err_a (|b| + err_b) + err_b (|a| + 2 err_a), then one rounding u |v| + s. That also
//            covers a fused multiply-add, which leaves this rounding out.
//     a / b  err_a / B + (|a| + err_a) err_b / B^2 with B = |b| - 2 err_b > 0, then one rounding; else no bound.
//     f(a)   L err_a, L the Lipschitz constant on [v - 2 err, v + 2 err], then the ulps of f's row in
//            ir/math_functions.inc, which also has the forms for two and three operands; abs is exact, and so are
//            floor, ceil, round and trunc unless the interval crosses a step.
//     cast   exact for exact operands and when widening; otherwise err_a and one rounding.
//     min, max  the larger error. select: that of the branch taken.
// The result of an operation other than add and sub starts as a single term. Near overflow there is no bound.
// A comparison, or a cast to an integer, whose outcome can differ within the errors of its operands is *undetermined*;
// integers carry that flag. A float computed from an undetermined integer has no bound (err = infinity); a select on
// an undetermined condition has that of its two sides and their distance. Elements stored under an undetermined
// condition, or that the other branch would store, have no bound; with undetermined indices, loop extents or breaks,
// no element of the tiles in question has one.
#pragma once

#include "ir/kernel.h"

#include <tilewright/runtime.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

struct InterpOptions {
  bool track_error = false;
  bool check_parallel_order = true;            // run each parallel loop in reverse order too and compare
  bool check_block_order = true;               // refuse elements that one block writes and another one touches
  int64_t max_while_iterations = 100'000'000;  // of one execution of a loop
  PrintHook on_print = {};                     // empty: standard output
};

class InterpResult {
 public:
  explicit InterpResult(std::vector<std::vector<double>> bounds) : bounds_(std::move(bounds)) {}

  // For each element (row-major) of the tensor at position `param` of Program::params: the distance within which every
  // correct backend agrees with the interpreter. 0 means equal bits (but for the sign of a zero and the payload of a
  // NaN), infinity that the program says nothing. Empty for scalars and when errors were not tracked.
  const std::vector<double>& bounds(int param) const { return bounds_[size_t(param)]; }

 private:
  std::vector<std::vector<double>> bounds_;
};

// Runs `program` on `arguments`, checked as by bind_arguments, and writes what it writes.
// Throws Error{invalid_argument | invalid_kernel}; the arguments are then unchanged. Tensors that share elements are
// refused as unsupported when one of them is written, unless they are the same view.
InterpResult interpret(const ir::Program& program, std::span<const Argument> arguments,
                       const InterpOptions& options = {});

}  // namespace tilewright
