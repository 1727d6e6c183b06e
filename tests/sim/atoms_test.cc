// The atoms of the simulator by the tests that the atoms of the GPU pass on a GPU: kernels and references are those of
// tests/gpu/.
#define TILEWRIGHT_SIMULATED_GPU

#include "../gpu/convert_test.cc"
#include "../gpu/matrix_test.cc"
#include "../gpu/mma_test.cc"
#include "../gpu/warp_test.cc"
