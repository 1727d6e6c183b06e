// C = A B in f16 by clusters of two blocks, which have rows of C of their own and columns in common: each loads its
// rows of A, and half of the rows of B for both of them by multicast. Written by hand, by the atoms of the device
// library.
#pragma once

#include "mutation/subjects.h"

namespace tilewright::mutation {

struct ClusterProduct {
  static constexpr int64_t m = 100, n = 72, k = 200;  // inside of tiles of 64
};

Subject cluster_product();

}  // namespace tilewright::mutation
