// The atoms of the simulator by the tests that those of cluster.h pass on an H200.
#define TILEWRIGHT_SIMULATED_GPU

#include "../gpu/cluster_test.cc"
