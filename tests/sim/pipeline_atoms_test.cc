// A matrix product by bulk copies and wgmma, written by hand, that is right on an H200.
#define TILEWRIGHT_SIMULATED_GPU

#include "../gpu/pipeline_test.cc"
