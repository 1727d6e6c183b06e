// The short form of tools/mutate_sync: what is planted into a few kernels is noticed, and nothing without it.
#include "mutation/sweep.h"

#include <gtest/gtest.h>

namespace tilewright::mutation {
namespace {

TEST(Mutation, EachMutantIsNoticed) {
  const std::vector<Fate> fates = sweep(few_subjects(), {.jobs = 2});
  for (const Fate& fate : fates) EXPECT_FALSE(fate.missed()) << fate.subject << ": " << fate.mutant.place;
}

}  // namespace
}  // namespace tilewright::mutation
