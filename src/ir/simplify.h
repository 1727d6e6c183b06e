// Smaller expressions and statements with the same meaning.
#pragma once

#include "ir/bounds.h"
#include "ir/kernel.h"

namespace tilewright::ir {

// Equal to `e` wherever the facts hold, wrap-around included:
//   sums and products with constants are reordered freely, since they are exact modulo 2^bits of every integer dtype;
//   remainders by a power of two may drop its multiples from any dividend, for the same reason;
//   every other rule about division and order needs a proof that no intermediate result wraps, before and after;
//   float arithmetic is not touched, except that a cast disappears behind one that changes no value.
Expr simplify(const Expr& e, const Facts& facts);

// Every expression simplified with the facts of its place. Branches with a decided condition, loops without
// iterations, lets of constants and of variables, and statements behind a jump disappear; a loop of one iteration
// becomes its body, unless a jump in it needs the loop or it gives its iterations private tiles.
// The order of effects stays. Nests of parallel loops keep their last loop where threads are yet to share them out.
enum class SingleParallel : uint8_t { inlined, kept };
Program simplify(const Program& program, SingleParallel single = SingleParallel::inlined);
Kernel simplify_kernel(const Program& program, const Kernel& kernel, SingleParallel single = SingleParallel::inlined);

// Records what is known of a let's variable.
void note_let(const Expr& var, const Expr& value, Facts& facts);

// What holds in a whole kernel: extents are not negative and at most kMaxExtent, block indices lie in the grid.
Facts kernel_facts(const Program& program, const Kernel& kernel);
// No tensor of a 64-bit machine is larger; index arithmetic on extents and strides thus does not wrap.
inline constexpr int64_t kMaxExtent = int64_t(1) << 48;

}  // namespace tilewright::ir
