#include "driver/sim_executable.h"

#include "driver/device_reports.h"
#include "driver/session.h"
#include "driver/sim_text.h"
#include "runtime/sim/counters.h"
#include "runtime/sim/detector.h"
#include "runtime/sim/fiber.h"
#include "runtime/thread_pool.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace tilewright {

namespace {

// Of workspaces; what `check` gives tensors, too. Memory of the host at a multiple of 256 bytes.
constexpr size_t kRedZoneBytes = 64 << 10;

std::shared_ptr<void> allocate_between_red_zones(size_t num_bytes) {
  const std::shared_ptr<void> whole = allocate_host_memory(num_bytes + 2 * kRedZoneBytes);
  return whole ? std::shared_ptr<void>(whole, static_cast<unsigned char*>(whole.get()) + kRedZoneBytes) : nullptr;
}

class SimExecutable : public Executable, public std::enable_shared_from_this<SimExecutable> {
 public:
  SimExecutable(const ir::Program& program, const SimTarget& target, int num_threads, PrintHook on_print,
                std::vector<Remark>& remarks)
      : program_(program),
        target_(target),
        num_threads_(num_threads),
        on_print_(std::move(on_print)),
        aligned_(program, target, remarks) {}

  const std::string& source() const override { return aligned_.module().annotated; }
  std::string_view source_suffix() const override { return ".cu"; }
  std::string describe(size_t kernel) const override {
    const codegen::CudaEntry& entry = aligned_.module().entries[kernel];
    return fmt::format("kernel {}: {} threads, {} bytes of shared memory a block, {} run-time checks, simulated",
                       entry.symbol, entry.threads, entry.shared_bytes, aligned_.module().sites.size());
  }
  BindOptions bind_options() const override { return {.allocate = allocate_between_red_zones}; }
  std::unique_ptr<BoundLaunch> bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                    std::vector<Remark>& remarks) const override;

  const std::string& tiles() const { return aligned_.tiles(); }
  int num_threads() const { return num_threads_; }
  const ir::Program& program() const { return program_; }
  const SimTarget& target() const { return target_; }
  const PrintHook& on_print() const { return on_print_; }
  std::mutex& print_mutex() const { return print_mutex_; }

 private:
  SimText& text(bool aligned) const;

  ir::Program program_;
  SimTarget target_;
  int num_threads_;
  PrintHook on_print_;  // empty: standard output
  mutable std::mutex print_mutex_;
  mutable std::mutex mutex_;
  mutable SimText aligned_;
  mutable std::unique_ptr<SimText> unaligned_;  // made when a tensor asks for it
};

// Memory that several tensors reach (views, tensors that are passed twice) becomes that of the one that begins first.
void share_overlaps(std::vector<sim::Region>& regions) {
  std::vector<sim::Region*> order;
  for (sim::Region& r : regions) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
  sim::Region* owner = nullptr;
  for (sim::Region* r : order) {
    if (r->bytes == 0) continue;
    if (owner == nullptr || r->begin >= owner->begin + owner->bytes) {
      owner = r;
      continue;
    }
    owner->bytes = std::max(owner->bytes, r->begin - owner->begin + r->bytes);
    owner->unit_bytes = std::min(owner->unit_bytes, r->unit_bytes);
    r->bytes = 0;
  }
}

// What the blocks of one kernel found: of the lowest block that found something.
class Findings {
 public:
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void add(int64_t block, sim::Finding finding) {
    const std::lock_guard lock(mutex_);
    if (any_ && block_ < block) return;
    block_ = block;
    findings_.clear();
    findings_.push_back(std::move(finding));
    any_ = true;
  }
  std::vector<sim::Finding>& all() { return findings_; }

 private:
  std::atomic<bool> any_ = false;
  std::mutex mutex_;
  int64_t block_ = 0;
  std::vector<sim::Finding> findings_;
};

class SimLaunch : public BoundLaunch {
 public:
  void launch() const override {
    std::vector<Error> errors = run(executable_->target(), 0, nullptr, true);
    if (!errors.empty()) throw std::move(errors.front());
  }
  std::vector<Error> watch(const SimTarget& how, int64_t red_zone_bytes, CountedLines* counted) const override {
    if (counted) *counted = {.lines = {}, .refused = why_not_counted()};
    if (counted && !counted->refused.empty()) counted = nullptr;
    return run(how, red_zone_bytes, counted, false);
  }
  void wait() const override {}
  double time_ms() const override {
    const auto start = std::chrono::steady_clock::now();
    launch();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  std::shared_ptr<const SimExecutable> executable_;
  const BoundArguments* bound_ = nullptr;
  const SimText* text_ = nullptr;
  std::vector<int64_t> num_blocks_;
  std::vector<void*> tensors_;
  std::vector<int64_t> scalars_;  // the bits of each value in its own type

 private:
  std::vector<Error> run(const SimTarget& how, int64_t red_zone_bytes, CountedLines* counted, bool prints) const {
    std::vector<Error> out;
    for (size_t k = 0; k < num_blocks_.size() && out.empty(); ++k) {
      out = run_kernel(k, how, red_zone_bytes, counted, prints);
    }
    return out;
  }
  std::vector<Error> run_kernel(size_t index, const SimTarget& how, int64_t red_zone_bytes, CountedLines* counted,
                                bool prints) const;
  std::optional<sim::Finding> run_block(size_t index, int64_t block, DeviceFailure& failure,
                                        const SimAdversary& adversary, sim::Detector* detector,
                                        sim::WarpCounter* counter) const;
  std::string why_not_counted() const;
  std::vector<sim::Region> regions() const;
};

std::optional<sim::Finding> SimLaunch::run_block(size_t index, int64_t block, DeviceFailure& failure,
                                                 const SimAdversary& adversary, sim::Detector* detector,
                                                 sim::WarpCounter* counter) const {
  // A launch has 2^31 - 1 blocks along x; the text adds the first.
  int64_t first_block = block >> 30 << 30;
  DeviceFailure* to_failure = &failure;
  std::vector<void*> arguments;
  for (void* const& t : tensors_) arguments.push_back(const_cast<void**>(&t));
  for (const int64_t& s : scalars_) arguments.push_back(const_cast<int64_t*>(&s));
  arguments.push_back(&first_block);
  arguments.push_back(&to_failure);
  const int64_t in_launch = std::min<int64_t>(num_blocks_[index] - first_block, INT32_MAX);
  const sim::Block place{.block = {unsigned(block - first_block), 0, 0},
                         .grid = {unsigned(in_launch), 1, 1},
                         .threads = {unsigned(text_->module().entries[index].threads), 1, 1}};
  return sim::run_block(text_->kernels()[index], place, arguments.data(), adversary, detector, counter);
}

// Vectors are counted as the one access that they are on a GPU.
std::string SimLaunch::why_not_counted() const {
  if (!executable_->target().checked) return "accesses are reported to the simulator by checked text only";
  if (Session::get().compiler().kind() == CompilerKind::gcc) return {};
  return "clang takes vectors apart before it reports accesses; g++ (TILEWRIGHT_CXX) does not";
}

std::vector<Error> SimLaunch::run_kernel(size_t index, const SimTarget& how, int64_t red_zone_bytes,
                                         CountedLines* counted, bool prints) const {
  const int64_t capacity = prints ? report_capacity(text_->module()) : 0;
  std::vector<int64_t> memory(sizeof(DeviceFailure) / sizeof(int64_t) + size_t(capacity));
  DeviceFailure& failure = *new (memory.data()) DeviceFailure{.capacity = uint64_t(capacity)};
  Findings findings;
  std::optional<sim::Detector> detector;
  if (how.checked) {
    detector.emplace(regions(), text_->kernels()[index].shared_unit_bytes, red_zone_bytes, text_->shared_parts(index));
  }
  std::optional<sim::WarpCounter> counter;
  if (counted) counter.emplace(regions());
  const auto run = [&](int64_t block) {
    if (findings.any() || __atomic_load_n(&failure.site, __ATOMIC_RELAXED) != 0) return;
    auto found =
        run_block(index, block, failure, how.adversary, detector ? &*detector : nullptr, counter ? &*counter : nullptr);
    if (found) findings.add(block, std::move(*found));
  };
  const int64_t blocks = num_blocks_[index];
  if (blocks == 1 || detector || counter) {
    for (int64_t block = 0; block < blocks; ++block) run(block);
  } else if (blocks > 1) {
    default_thread_pool(executable_->num_threads()).parallel_for(blocks, [&](int64_t block, int) { run(block); });
  }
  if (counter && counter->overflowed()) {
    *counted = {.lines = {},
                .refused = "a warp accesses memory too often before its threads meet; take smaller extents"};
  } else if (counter && counted->refused.empty()) {
    for (LineCounters& line : text_->lines(index, counter->sites())) counted->lines.push_back(std::move(line));
  }
  std::vector<sim::Finding>& all = findings.all();
  // Threads that leave at a failed check let others wait for ever.
  if (failure.site > 0) std::erase_if(all, [](const auto& f) { return f.kind == sim::Finding::Kind::deadlock; });
  if (detector) all.insert(all.end(), detector->findings().begin(), detector->findings().end());
  std::vector<Error> out = text_->errors(index, all, *bound_);
  if (failure.site > 0) {
    out.insert(out.begin(), device_error(text_->module(), failure));
  }
  if (capacity > 0) {
    const std::span<const int64_t> cells = std::span(memory).subspan(sizeof(DeviceFailure) / sizeof(int64_t));
    const std::lock_guard lock(executable_->print_mutex());
    print_reports(text_->module(), failure, cells, executable_->on_print());
  }
  return out;
}

std::vector<sim::Region> SimLaunch::regions() const {
  std::vector<sim::Region> out;
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const ir::Tensor& declared = executable_->program().tensors[t];
    const AddressRange range = range_of(bound_->tensors[t], declared.dtype);
    const bool empty = range.num_bytes() == 0;
    out.push_back({.begin = static_cast<const unsigned char*>(empty ? tensors_[t] : std::bit_cast<void*>(range.begin)),
                   .bytes = int64_t(range.num_bytes()),
                   .unit_bytes = int(bytes_of(declared.dtype)),
                   .guarded = declared.kind != ir::TensorKind::view});
  }
  share_overlaps(out);
  return out;
}

SimText& SimExecutable::text(bool aligned) const {
  if (aligned) return aligned_;
  if (!unaligned_) {
    SimTarget target = target_;
    target.cuda.aligned_tensors = false;
    std::vector<Remark> ignored;
    unaligned_ = std::make_unique<SimText>(program_, target, ignored);
  }
  return *unaligned_;
}

std::unique_ptr<BoundLaunch> SimExecutable::bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                                 std::vector<Remark>& remarks) const {
  auto launch = std::make_unique<SimLaunch>();
  launch->executable_ = shared_from_this();
  launch->bound_ = &bound;
  bool aligned = true;
  for (size_t t = 0; t < bound.tensors.size(); ++t) {
    const BoundTensor& tensor = bound.tensors[t];
    launch->tensors_.push_back(tensor.data);
    if (std::bit_cast<uintptr_t>(tensor.data) % kTensorAlignment == 0 || tensor.num_elems() == 0) continue;
    aligned = false;
    remarks.push_back({.kind = "unaligned_tensor",
                       .text = fmt::format("{} begins at no multiple of {} bytes: a variant of the kernel runs that "
                                           "moves single elements",
                                           program_.tensors[t].name, kTensorAlignment),
                       .loc = program_.tensors[t].loc});
  }
  for (const ir::Scalar& scalar : program_.scalars) {
    launch->scalars_.push_back(parameter_bits(scalar.var.dtype(), *bound.scalars[size_t(scalar.var.var_id())]));
  }
  launch->num_blocks_ = std::move(num_blocks);
  const std::lock_guard lock(mutex_);
  launch->text_ = &text(aligned);
  return launch;
}

}  // namespace

std::shared_ptr<Executable> make_sim_executable(const ir::Program& program, const SimTarget& target,
                                                const CompileOptions& options, std::vector<Remark>& remarks,
                                                std::string& lowered_tiles) {
  if (!sim::has_fibers()) {
    throw unsupported({}, "the simulator switches stacks on x86-64 only")
        .hint("compile for cpu:generic, or use tilewright::interpret");
  }
  const int num_threads = options.num_threads > 0 ? options.num_threads : Session::get().num_threads();
  auto out = std::make_shared<SimExecutable>(program, target, num_threads, options.on_print, remarks);
  lowered_tiles = out->tiles();
  return out;
}

}  // namespace tilewright
