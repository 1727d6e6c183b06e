// What the machine has.
#include "convert.h"

#include "driver/session.h"
#include "runtime/cuda/device.h"

namespace tilewright::python {

namespace {

// 0 without a GPU that kernels can run on.
int cuda_arch() {
  Session& session = Session::get();
  if (!session.has_gpu()) return 0;
  const cuda::DeviceProperties& properties = session.gpu()->properties();
  return 10 * properties.capability_major + properties.capability_minor;
}

int cuda_num_sms() {
  Session& session = Session::get();
  return session.has_gpu() ? session.gpu()->properties().num_sms : 0;
}

}  // namespace

void bind_devices(nb::module_& module) {
  module.def("cuda_arch", &cuda_arch);
  module.def("cuda_num_sms", &cuda_num_sms);
}

}  // namespace tilewright::python
