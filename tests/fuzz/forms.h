// One random computation in many forms that must give the same numbers.
//
//   C[m, n] = e(sum over k of A[m, k] B[k, n], x[n], D[m, n], m, n), R[m] = sum or maximum over n of C[m, n]
//
// e is a random expression. The data are small whole numbers and halves, so that every sum and product is exact in any
// order, and results of two forms are equal or one of them is wrong.
#pragma once

#include "fuzz/program_generator.h"

#include <tilewright/language.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::fuzz {

namespace T = tilewright::lang;

// What may be chosen without changing a result.
struct Form {
  std::string name;
  int64_t block_m = 16, block_n = 16, block_k = 8;
  int threads = 128, num_stages = 0;
  bool sliced = false;                            // tiles are parts of larger ones
  bool padded = false;                            // gaps between the rows of tensors
  bool transpose_A = false, transpose_B = false;  // stored so
  bool columns_first = false;                     // the order of the loops of a parallel nest
  bool split = false;                             // two kernels with a workspace between
  bool swizzled = false;                          // blocks in another order
  bool persistent = false;                        // a few blocks take all tiles in turn
  bool dynamic = false;                           // extents that the launch tells
  bool scalar_products = false;                   // loops instead of gemm
  int scale = 0;                                  // A times 2^scale, and the sum times 2^-scale
};

// The plain form and the others, each of which differs from it in one choice; the last one in all that a coin tossed.
std::vector<Form> forms_of(uint64_t seed);

struct Computation {
  std::vector<Contents> arguments;
  std::vector<size_t> results;  // positions among the arguments
};

// Adds the kernels of a seed's computation in one form to the program that is being built.
Computation add_computation(uint64_t seed, const Form& form, const std::string& prefix);

}  // namespace tilewright::fuzz
