// The driver's own calls for graphs, which the library does not need.
#pragma once

#include "runtime/cuda/driver.h"
#include "runtime/cuda/shared_library.h"

namespace tilewright::test {

struct GraphCalls {
  explicit GraphCalls(const cuda::Driver& driver) {
    cuda::LibraryOptions options;
    options.driver = driver.path();
    const cuda::SharedLibrary library = cuda::SharedLibrary::open(cuda::driver_search(options));  // stays loaded
    library.bind(begin_capture, "cuStreamBeginCapture_v2");
    library.bind(end_capture, "cuStreamEndCapture");
    library.bind(instantiate, "cuGraphInstantiateWithFlags");
    library.bind(launch, "cuGraphLaunch");
  }
  int (*begin_capture)(cuda::Stream, int mode) = nullptr;  // 0 global, 2 relaxed
  int (*end_capture)(cuda::Stream, void** graph) = nullptr;
  int (*instantiate)(void** executable, void* graph, unsigned long long flags) = nullptr;
  int (*launch)(void* executable, cuda::Stream) = nullptr;
};

}  // namespace tilewright::test
