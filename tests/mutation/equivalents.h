// Mutants that behave as the kernel they are made of, by the PTX manual.
#pragma once

#include "mutation/mutants.h"

#include <string>

namespace tilewright::mutation {

// The clause that makes it so; empty: it is not known to be one.
std::string why_equivalent(const std::string& subject, const Mutant& mutant);

}  // namespace tilewright::mutation
