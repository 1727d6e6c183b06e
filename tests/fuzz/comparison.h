// Arguments of random programs in memory, and what one run gave against another.
#pragma once

#include "fuzz/program_generator.h"

#include <string>
#include <vector>

namespace tilewright::fuzz {

// Arguments with memory of their own.
struct Memory {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<Argument> arguments;

  explicit Memory(const std::vector<Contents>& contents);
};

struct Tally {
  int64_t elements = 0, unbounded = 0;
};

// The first element of `tensor` that differs by more than its bound; empty where none does.
std::string first_difference(const TensorContents& tensor, const std::vector<std::byte>& expected,
                             const std::vector<std::byte>& found, const std::vector<double>& bounds, Tally& tally);

}  // namespace tilewright::fuzz
