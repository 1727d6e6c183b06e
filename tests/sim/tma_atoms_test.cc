// The atoms of the simulator by the tests that those of tma.h pass on an H200.
#define TILEWRIGHT_SIMULATED_GPU

#include "../gpu/tma_test.cc"
