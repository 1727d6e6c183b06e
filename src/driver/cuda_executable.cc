#include "driver/cuda_executable.h"

#include "codegen/cuda.h"
#include "driver/device_reports.h"
#include "driver/session.h"
#include "passes/cuda_passes.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/nvrtc.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>

namespace tilewright {

namespace {

constexpr int kDeviceIndex = 0;
constexpr int64_t kMaxGridBlocks = (int64_t(1) << 31) - 1;  // of one launch along x

// One text of a program, and its machine code once it is needed.
class Variant {
 public:
  Variant(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks) : target_(target) {
    const ir::Program lowered = passes::cuda_pipeline(program, target, remarks);
    module_ = codegen::emit_cuda(lowered, target);
    tiles_ = describe_tiles(lowered);
  }

  const codegen::CudaModule& module() const { return module_; }
  const std::string& tiles() const { return tiles_; }
  const std::vector<cuda::Kernel>& kernels() {
    if (kernels_.empty()) load();
    return kernels_;
  }
  std::string resources(const std::string& symbol) const {
    const cuda::FunctionResources* found = log_ ? log_->find(symbol) : nullptr;
    if (found == nullptr) return "";
    return fmt::format(", {} registers, {} bytes spilled", found->num_registers,
                       found->spill_store_bytes + found->spill_load_bytes);
  }

 private:
  void load() {
    Session& session = Session::get();
    const std::shared_ptr<const cuda::Device> device = session.gpu(kDeviceIndex);
    cuda::CudaSource source{.text = module_.source,
                            .arch = target_.arch(),
                            .flags = cuda::compile_flags(),
                            .source_map = &module_.source_map};
    cuda::CompiledCuda compiled = cuda::compile_cached(source, session.nvrtc(), session.cache());
    log_ = std::move(compiled.log);
    const cuda::Module loaded = device->load(compiled.cubin);
    for (const codegen::CudaEntry& entry : module_.entries) {
      kernels_.push_back(loaded.kernel(entry.symbol));
      if (entry.shared_bytes > 0) kernels_.back().allow_shared(int(entry.shared_bytes));
    }
  }

  CudaTarget target_;
  codegen::CudaModule module_;
  std::string tiles_;
  std::optional<cuda::CompileLog> log_;
  std::vector<cuda::Kernel> kernels_;
};

class CudaExecutable : public Executable, public std::enable_shared_from_this<CudaExecutable> {
 public:
  CudaExecutable(const ir::Program& program, const CudaTarget& target, PrintHook on_print, std::vector<Remark>& remarks)
      : program_(program), target_(target), on_print_(std::move(on_print)), aligned_(program, target, remarks) {}

  const std::string& source() const override { return aligned_.module().annotated; }
  std::string_view source_suffix() const override { return ".cu"; }
  std::string describe(size_t kernel) const override {
    const codegen::CudaEntry& entry = aligned_.module().entries[kernel];
    const std::lock_guard lock(mutex_);
    return fmt::format("kernel {}: {} threads, {} bytes of shared memory a block, {} run-time checks{}", entry.symbol,
                       entry.threads, entry.shared_bytes, aligned_.module().sites.size(),
                       aligned_.resources(entry.symbol));
  }
  BindOptions bind_options() const override;
  std::unique_ptr<BoundLaunch> bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                    std::vector<Remark>& remarks) const override;

  const std::string& tiles() const { return aligned_.tiles(); }
  void load() const {
    const std::lock_guard lock(mutex_);
    aligned_.kernels();
  }

 private:
  friend class CudaLaunch;
  Variant& variant(bool aligned) const;

  ir::Program program_;
  CudaTarget target_;
  PrintHook on_print_;  // empty: standard output
  mutable std::mutex print_mutex_;
  mutable std::mutex mutex_;
  mutable Variant aligned_;
  mutable std::unique_ptr<Variant> unaligned_;  // made when a tensor asks for it
};

// A host tensor's memory on the device: copied there before each launch and back after it.
struct Staged {
  void* host = nullptr;
  size_t num_bytes = 0;
  std::unique_ptr<cuda::DeviceBuffer> buffer;
};

class CudaLaunch : public BoundLaunch {
 public:
  void launch() const override { launch_into(nullptr); }
  void launch_into(void* stream) const override;
  void wait() const override;
  double time_ms() const override;

  std::shared_ptr<const CudaExecutable> executable_;
  std::shared_ptr<const cuda::Device> device_;
  const codegen::CudaModule* module_ = nullptr;
  std::vector<cuda::Kernel> kernels_;
  std::vector<int64_t> num_blocks_;
  std::vector<Staged> staged_;
  std::vector<uint64_t> tensors_;
  std::vector<int64_t> scalars_;  // the bits of each value in its own type
  std::unique_ptr<cuda::DeviceBuffer> failure_;

 private:
  friend class CudaExecutable;
  mutable std::mutex mutex_;  // launches, and what they told
  void run(cuda::Stream stream) const;
  void refuse_capture(cuda::Stream stream) const;
  void prepare_reports() const;
};

void CudaLaunch::launch_into(void* handle) const {
  const auto stream = static_cast<cuda::Stream>(handle);
  if (staged_.empty()) return run(stream);
  refuse_capture(stream);
  for (const Staged& s : staged_) s.buffer->write({static_cast<const std::byte*>(s.host), s.num_bytes}, stream);
  run(stream);
  for (const Staged& s : staged_) s.buffer->read({static_cast<std::byte*>(s.host), s.num_bytes}, stream);
}

// A graph would hold neither the copies nor their waits.
void CudaLaunch::refuse_capture(cuda::Stream stream) const {
  if (!cuda::is_capturing(*device_, stream)) return;
  throw invalid_argument("{} tensors of a launch lie in host memory, but its stream is being captured", staged_.size())
      .hint("bind tensors of the GPU's memory: a graph cannot hold the copies");
}

void CudaLaunch::run(cuda::Stream stream) const {
  const std::lock_guard lock(mutex_);
  const uint64_t failure = failure_ ? failure_->address() : 0;
  int64_t first_block = 0;
  std::vector<void*> parameters;
  for (const uint64_t& t : tensors_) parameters.push_back(const_cast<uint64_t*>(&t));
  for (const int64_t& s : scalars_) parameters.push_back(const_cast<int64_t*>(&s));
  parameters.push_back(&first_block);
  parameters.push_back(const_cast<uint64_t*>(&failure));
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const codegen::CudaEntry& entry = module_->entries[k];
    for (first_block = 0; first_block < num_blocks_[k]; first_block += kMaxGridBlocks) {
      const int64_t blocks = std::min(kMaxGridBlocks, num_blocks_[k] - first_block);
      kernels_[k].launch({.grid = {uint32_t(blocks), 1, 1},
                          .block = {uint32_t(entry.threads), 1, 1},
                          .dynamic_shared_bytes = uint32_t(entry.shared_bytes),
                          .stream = stream},
                         parameters);
    }
  }
}

void CudaLaunch::wait() const {
  constexpr size_t kHead = sizeof(DeviceFailure) / sizeof(int64_t);
  DeviceFailure failure;
  std::vector<int64_t> memory;
  {
    const std::lock_guard lock(mutex_);
    device_->synchronize();
    if (!failure_) return;
    failure_->read(std::as_writable_bytes(std::span(&failure, 1)));
    if (failure.site == 0 && failure.used == 0) return;
    memory.resize(kHead + size_t(std::min(failure.used, failure.capacity)));
    failure_->read(std::as_writable_bytes(std::span(memory)));
    prepare_reports();
  }
  if (failure.used > 0) {
    const std::lock_guard lock(executable_->print_mutex_);
    print_reports(*module_, failure, std::span<const int64_t>(memory).subspan(kHead), executable_->on_print_);
  }
  if (failure.site != 0) throw device_error(*module_, failure);
}

// Nothing failed, and nothing was printed yet.
void CudaLaunch::prepare_reports() const {
  const DeviceFailure none{.capacity = uint64_t(report_capacity(*module_))};
  failure_->write(std::as_bytes(std::span(&none, 1)));
}

double CudaLaunch::time_ms() const {
  // Twice the cache, so that nothing of the launch before is left in it.
  thread_local std::unique_ptr<cuda::DeviceBuffer> flush;
  if (!flush) flush = std::make_unique<cuda::DeviceBuffer>(device_, size_t(2) * size_t(device_->properties().l2_bytes));
  flush->fill(0);
  cuda::Event begin(device_), end(device_);
  begin.record(nullptr);
  launch();
  end.record(nullptr);
  end.synchronize();
  return double(end.ms_since(begin));
}

BindOptions CudaExecutable::bind_options() const {
  const auto allocate = [](size_t num_bytes) -> std::shared_ptr<void> {
    try {
      auto buffer = std::make_shared<cuda::DeviceBuffer>(Session::get().gpu(kDeviceIndex), num_bytes);
      void* address = std::bit_cast<void*>(uintptr_t(buffer->address()));
      return {address, [buffer](void*) {}};
    } catch (const Error&) {
      return nullptr;
    }
  };
  return {.device = DeviceKind::cuda, .device_index = kDeviceIndex, .allocate = allocate};
}

Variant& CudaExecutable::variant(bool aligned) const {
  if (aligned) return aligned_;
  if (!unaligned_) {
    CudaTarget target = target_;
    target.aligned_tensors = false;
    std::vector<Remark> ignored;
    unaligned_ = std::make_unique<Variant>(program_, target, ignored);
  }
  return *unaligned_;
}

std::unique_ptr<BoundLaunch> CudaExecutable::bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                                  std::vector<Remark>& remarks) const {
  auto launch = std::make_unique<CudaLaunch>();
  launch->executable_ = shared_from_this();
  launch->device_ = Session::get().gpu(kDeviceIndex);
  bool aligned = true;
  for (size_t t = 0; t < bound.tensors.size(); ++t) {
    const BoundTensor& tensor = bound.tensors[t];
    if (program_.tensors[t].kind == ir::TensorKind::view) {
      launch->tensors_.push_back(launch->tensors_[size_t(program_.tensors[t].view_of)]);
      continue;
    }
    uint64_t address = std::bit_cast<uintptr_t>(tensor.data);
    if (tensor.device == DeviceKind::cpu) {
      const ir::Tensor& declared = program_.tensors[t];
      const AddressRange range = range_of(tensor, declared.dtype);
      const size_t bytes = range.num_bytes();
      launch->staged_.push_back({.host = std::bit_cast<void*>(range.begin),
                                 .num_bytes = bytes,
                                 .buffer = std::make_unique<cuda::DeviceBuffer>(launch->device_, bytes)});
      address = launch->staged_.back().buffer->address();
      if (bytes > 0) address += std::bit_cast<uintptr_t>(tensor.data) - range.begin;
      remarks.push_back(
          {.kind = "host_tensor",
           .text = fmt::format("{} lies in host memory: each launch copies its {} bytes to the GPU and back",
                               declared.name, bytes),
           .loc = declared.loc});
    }
    if (address % kTensorAlignment != 0 && tensor.num_elems() > 0) {
      aligned = false;
      remarks.push_back({.kind = "unaligned_tensor",
                         .text = fmt::format("{} begins at no multiple of {} bytes: a variant of the kernel runs that "
                                             "moves single elements, several times slower",
                                             program_.tensors[t].name, kTensorAlignment),
                         .loc = program_.tensors[t].loc});
    }
    launch->tensors_.push_back(address);
  }
  for (const ir::Scalar& scalar : program_.scalars) {
    launch->scalars_.push_back(parameter_bits(scalar.var.dtype(), *bound.scalars[size_t(scalar.var.var_id())]));
  }
  launch->num_blocks_ = std::move(num_blocks);
  const std::lock_guard lock(mutex_);
  Variant& chosen = variant(aligned);
  launch->kernels_ = chosen.kernels();
  launch->module_ = &chosen.module();
  if (!chosen.module().sites.empty() || !chosen.module().reports.empty()) {
    const size_t bytes = sizeof(DeviceFailure) + size_t(report_capacity(chosen.module())) * sizeof(int64_t);
    launch->failure_ = std::make_unique<cuda::DeviceBuffer>(launch->device_, bytes);
    launch->prepare_reports();
  }
  return launch;
}

}  // namespace

std::shared_ptr<Executable> make_cuda_executable(const ir::Program& program, const CudaTarget& target,
                                                 const CompileOptions& options, std::vector<Remark>& remarks,
                                                 std::string& lowered_tiles) {
  auto out = std::make_shared<CudaExecutable>(program, target, options.on_print, remarks);
  lowered_tiles = out->tiles();
  Session& session = Session::get();
  if (session.has_gpu() && session.gpu(kDeviceIndex)->properties().arch() == target.arch()) out->load();
  return out;
}

// ---- DeviceMemory ----

struct DeviceMemory::Impl {
  cuda::DeviceBuffer buffer;
};

DeviceMemory::DeviceMemory(size_t num_bytes, int device_index)
    : impl_(new Impl{.buffer = cuda::DeviceBuffer(Session::get().gpu(device_index), num_bytes)}) {}

void* DeviceMemory::data() const { return std::bit_cast<void*>(uintptr_t(impl_->buffer.address())); }
size_t DeviceMemory::num_bytes() const { return impl_->buffer.num_bytes(); }
void DeviceMemory::upload(const void* from) const {
  impl_->buffer.write({static_cast<const std::byte*>(from), num_bytes()});
}
void DeviceMemory::download(void* to) const { impl_->buffer.read({static_cast<std::byte*>(to), num_bytes()}); }
void DeviceMemory::fill(uint8_t value) const { impl_->buffer.fill(value); }

}  // namespace tilewright
