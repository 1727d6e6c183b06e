// The atoms of the simulator by the tests that those of mbarrier.h pass on an H200.
#define TILEWRIGHT_SIMULATED_GPU

#include "../gpu/mbarrier_test.cc"
