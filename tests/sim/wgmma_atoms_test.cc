// The atoms of the simulator by the tests that those of wgmma.h pass on an H200.
#define TILEWRIGHT_SIMULATED_GPU

#include "../gpu/wgmma_test.cc"
