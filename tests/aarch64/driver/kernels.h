// The kernels of a batch, which cross_batch.cc writes down as a table.
#pragma once

#include <tilewright/device/cpu/scalar.h>

#include <cstddef>

using Kernel = void(void* const* tensors, const long long* scalars, long long first, long long last, char* scratch,
                    tilewright::device::cpu::Failure* failure);

// Those of all programs, in the order of the input.
extern Kernel* const kKernels[];
extern const size_t kNumKernels;
