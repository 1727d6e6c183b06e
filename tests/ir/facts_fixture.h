// What tests of bounds and of simplification start from: fresh variables and what is known of them.
#pragma once

#include "ir/simplify.h"

#include <gtest/gtest.h>

namespace tilewright::ir {

class FactsFixture : public ::testing::Test {
 protected:
  Expr fresh(const char* name, DType t = kIndex) { return var(next_++, name, t); }
  // A loop variable: 0 <= v < extent.
  Expr in(const char* name, int64_t extent) {
    const Expr v = fresh(name);
    facts.bind(v, int_imm(0), int_imm(extent));
    return v;
  }
  // A runtime extent of a tensor.
  Expr extent(const char* name) {
    const Expr v = fresh(name);
    facts.bound(v, 0, kMaxExtent);
    return v;
  }
  Facts facts;
  VarId next_ = 0;
};

}  // namespace tilewright::ir
