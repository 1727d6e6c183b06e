#include "mutation/subjects.h"

#include "mutation/cluster_product.h"

#include "../../examples/elementwise.h"
#include "../../examples/gemm_epilogue.h"
#include "../../examples/histogram.h"
#include "../../examples/matmul_relu.h"
#include "../../examples/online_softmax.h"
#include "../../examples/prefix_sum.h"
#include "../../examples/rms_norm_silu.h"
#include "../../examples/split_k.h"
#include "../../examples/transpose.h"
#include "driver/device_reports.h"
#include "driver/executable.h"
#include "gpu/number_formats.h"
#include "passes/cuda_passes.h"
#include "runtime/bind.h"
#include "runtime/sim/machine.h"
#include "runtime/sim/tensor_map.h"
#include "schedule/tables.h"
#include "sim/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace tilewright::mutation {

namespace {

// As tilewright::check has it.
constexpr size_t kRedZoneBytes = 64 << 10;
constexpr size_t kAlignment = 256;
constexpr int kPoison = 0xff;

void encode(std::string& out, DType dtype, double x) {
  const auto put = [&](auto bits) { out.append(reinterpret_cast<const char*>(&bits), sizeof bits); };
  switch (dtype) {
    case DType::f16: return put(uint16_t(test::encode(test::kF16, x)));
    case DType::bf16: return put(uint16_t(test::encode(test::kBf16, x)));
    case DType::i32: return put(int32_t(x));
    case DType::f32: return put(float(x));
    default: throw std::invalid_argument("a subject of another dtype");
  }
}

int64_t product_of(const std::vector<int64_t>& shape) {
  int64_t out = 1;
  for (const int64_t n : shape) out *= n;
  return out;
}

int shared_unit_bytes(const ir::Kernel& kernel) {
  int64_t smallest = 16;
  for (const ir::Tile& tile : kernel.tiles) {
    if (tile.space == ir::Space::shared) smallest = std::min<int64_t>(smallest, bytes_of(tile.dtype));
  }
  return int(smallest);
}

std::vector<sim::SharedPart> shared_parts(const ir::Kernel& kernel) {
  const passes::SharedPlan plan = passes::shared_plan(kernel);
  std::vector<sim::SharedPart> out;
  for (size_t i = 0; i < kernel.tiles.size(); ++i) {
    if (plan.offsets[i] < 0) continue;
    const ir::Tile& tile = kernel.tiles[i];
    out.push_back({plan.offsets[i], plan.offsets[i] + tile.layout->cosize() * bytes_of(tile.dtype)});
  }
  return out;
}

std::string kind_of(sim::Finding::Kind kind) {
  switch (kind) {
    case sim::Finding::Kind::deadlock: return "deadlock";
    case sim::Finding::Kind::misuse: return "misuse";
    case sim::Finding::Kind::out_of_bounds: return "outside";
    case sim::Finding::Kind::race: return "race";
    default: return "uninitialised";
  }
}

constexpr const char* kKernel = "extern \"C\" __global__";

}  // namespace

// Fresh tensors, beside which there is memory that belongs to nobody.
class Subject::Memory {
 public:
  explicit Memory(const std::vector<Tensor>& tensors) : tensors_(tensors) {
    for (const Tensor& t : tensors) {
      const size_t bytes = 2 * kRedZoneBytes + t.initial.size() + kAlignment;
      memory_.emplace_back(static_cast<unsigned char*>(::operator new(bytes, std::align_val_t(kAlignment))));
      std::memset(memory_.back().get(), kPoison, bytes);
      std::memcpy(memory_.back().get() + kRedZoneBytes, t.initial.data(), t.initial.size());
      at_.push_back(memory_.back().get() + kRedZoneBytes);
    }
  }
  std::vector<void*>& at() { return at_; }
  std::vector<sim::Region> regions() const {
    std::vector<sim::Region> out;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      out.push_back({.begin = static_cast<const unsigned char*>(at_[i]),
                     .bytes = int64_t(tensors_[i].initial.size()),
                     .unit_bytes = int(bytes_of(tensors_[i].dtype)),
                     .guarded = true});
    }
    return out;
  }
  std::vector<std::string> results() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].is_parameter) out.emplace_back(static_cast<const char*>(at_[i]), tensors_[i].initial.size());
    }
    return out;
  }

 private:
  struct Free {
    void operator()(unsigned char* p) const { ::operator delete(p, std::align_val_t(kAlignment)); }
  };
  const std::vector<Tensor>& tensors_;
  std::vector<std::unique_ptr<unsigned char, Free>> memory_;
  std::vector<void*> at_;
};

Subject::Subject(std::string name, const ir::Program& program, bool is_table, const std::string& arch,
                 const std::vector<Shapes>& launches, const Values& values)
    : name_(std::move(name)), arch_(arch) {
  const CudaTarget target = cuda_target_from_arch(arch).value();
  std::vector<Remark> remarks;
  const ir::Program lowered =
      is_table ? passes::lower_cuda(passes::expand_unselected(program, target, remarks), program, target)
               : passes::cuda_pipeline(program, target, remarks);
  text_ = codegen::emit_cuda(lowered, target);
  for (const ir::Kernel& kernel : lowered.kernels) {
    shared_unit_bytes_.push_back(shared_unit_bytes(kernel));
    shared_parts_.push_back(shared_parts(kernel));
  }
  cut_into_pieces();
  for (const Shapes& shapes : launches) bind(program, shapes, values);
}

Subject::Subject(const HandWritten& kernel, const std::string& arch, const Values& values)
    : name_(kernel.name), arch_(arch), cluster_(kernel.cluster) {
  text_.source = kernel.text;
  text_.entries = {kernel.entry};
  shared_unit_bytes_ = {1};
  shared_parts_ = {{}};
  cut_into_pieces();
  Launch launch{.tensors = {}, .scalars = {}, .num_blocks = {kernel.num_blocks}};
  for (size_t t = 0; t < kernel.shapes.size(); ++t) {
    Tensor tensor{.initial = {}, .dtype = kernel.dtypes[t], .shape = kernel.shapes[t]};
    for (int64_t i = 0; i < product_of(tensor.shape); ++i) encode(tensor.initial, tensor.dtype, values(t, i));
    launch.tensors.push_back(std::move(tensor));
  }
  launches_.push_back(std::move(launch));
}

void Subject::cut_into_pieces() {
  const std::string& whole = text_.source;
  for (size_t at = whole.find(kKernel); at != std::string::npos;) {
    const size_t next = whole.find(kKernel, at + 1);
    pieces_.push_back(whole.substr(at, next == std::string::npos ? next : next - at));
    at = next;
  }
}

void Subject::bind(const ir::Program& program, const Shapes& shapes, const Values& values) {
  std::vector<std::string> contents(shapes.size());
  std::vector<Argument> arguments;
  for (size_t t = 0; t < shapes.size(); ++t) {
    const DType dtype = program.tensors[size_t(program.params.at(t).index)].dtype;
    for (int64_t i = 0; i < product_of(shapes[t]); ++i) encode(contents[t], dtype, values(t, i));
    arguments.emplace_back(TensorView{contents[t].data(), dtype, shapes[t]});
  }
  const BoundArguments bound = bind_arguments(program, arguments);
  Launch launch;
  for (size_t t = 0; t < bound.tensors.size(); ++t) {
    const BoundTensor& b = bound.tensors[t];
    const bool is_parameter = program.tensors[t].kind == ir::TensorKind::parameter;
    const auto bytes = size_t(b.num_elems() * bytes_of(program.tensors[t].dtype));
    launch.tensors.push_back({.initial = is_parameter ? std::string(static_cast<const char*>(b.data), bytes)
                                                      : std::string(bytes, char(kPoison)),
                              .dtype = program.tensors[t].dtype,
                              .shape = b.shape,
                              .is_parameter = is_parameter});
  }
  for (const ir::Scalar& s : program.scalars) {
    launch.scalars.push_back(parameter_bits(s.var.dtype(), *bound.scalars[size_t(s.var.var_id())]));
  }
  for (const ir::Kernel& kernel : program.kernels) {
    launch.num_blocks.push_back(1);
    for (const ir::Expr& extent : kernel.grid) launch.num_blocks.back() *= evaluate(extent, bound.scalars);
  }
  launches_.push_back(std::move(launch));
}

// ---- Compiling ----

std::shared_ptr<const sim::Module> Subject::compile(const std::vector<Variant>& variants) const {
  std::string whole = text_.source;
  std::vector<sim::KernelShape> shapes;
  const auto add_shape = [&](const std::string& symbol, size_t k) {
    shapes.push_back({symbol, text_.entries[k].shared_bytes, shared_unit_bytes_[k]});
  };
  for (size_t k = 0; k < pieces_.size(); ++k) add_shape(text_.entries[k].symbol, k);
  for (size_t v = 0; v < variants.size(); ++v) {
    const std::string& symbol = text_.entries[variants[v].kernel].symbol;
    std::string text = variants[v].text;
    const std::string name = fmt::format("{}_variant_{}", symbol, v);
    whole += "\n" + text.replace(text.find(symbol + "("), symbol.size(), name);
    add_shape(name, variants[v].kernel);
  }
  SourceMap map;
  map.locs.resize(size_t(std::count(whole.begin(), whole.end(), '\n')));
  test::Tools& tools = test::Tools::get();
  return sim::Module::compile(whole, map, shapes, sim_target_from_name("sim:" + arch_ + "+checked"), tools.compiler,
                              tools.cache);
}

// ---- Running ----

Outcome Subject::run(const sim::Module& module, size_t launch, const std::string& how, int variant, size_t of) const {
  const SimTarget target = sim_target_from_name("sim:" + arch_ + "+checked+" + how);
  Memory memory(launches_[launch].tensors);
  Outcome out;
  for (size_t k = 0; k < pieces_.size(); ++k) {
    const size_t number = variant >= 0 && k == of ? pieces_.size() + size_t(variant) : k;
    if (!run_kernel(module.kernels()[number], k, launches_[launch], memory, target, out)) return out;
  }
  out.results = memory.results();
  return out;
}

namespace {

cuda::TensorMapSpec spec_of(const ir::TensorMap& map, DType dtype, const std::vector<int64_t>& shape) {
  cuda::TensorMapSpec spec;
  spec.type = dtype == DType::f16 ? cuda::TensorMapType::f16 : cuda::TensorMapType::bf16;
  spec.swizzle = map.span_bytes == 128  ? cuda::TensorMapSwizzle::span128
                 : map.span_bytes == 64 ? cuda::TensorMapSwizzle::span64
                                        : cuda::TensorMapSwizzle::span32;
  spec.extents = {uint64_t(shape[1]), uint64_t(shape[0])};
  spec.strides_bytes = {uint64_t(shape[1] * bytes_of(dtype))};
  spec.box = {uint32_t(map.box[1]), uint32_t(map.box[0])};
  return spec;
}

}  // namespace

// False where something is reported.
bool Subject::run_kernel(const sim::Code& code, size_t k, const Launch& launch, Memory& memory, const SimTarget& target,
                         Outcome& out) const {
  const codegen::CudaEntry& entry = text_.entries[k];
  std::vector<cuda::TensorMap> maps;
  for (const ir::TensorMap& map : entry.maps) {
    const Tensor& t = launch.tensors[size_t(map.tensor)];
    maps.push_back(sim::encode_tensor_map(spec_of(map, t.dtype, t.shape), memory.at()[size_t(map.tensor)]));
  }
  int64_t first_block = 0;
  DeviceFailure failure;
  DeviceFailure* to_failure = &failure;
  std::vector<void*> arguments;
  for (void*& t : memory.at()) arguments.push_back(&t);
  for (const int64_t& s : launch.scalars) arguments.push_back(const_cast<int64_t*>(&s));
  for (cuda::TensorMap& map : maps) arguments.push_back(&map);
  arguments.push_back(&first_block);
  arguments.push_back(&to_failure);
  sim::Detector detector(memory.regions(), shared_unit_bytes_[k], int64_t(kRedZoneBytes), shared_parts_[k]);
  const auto blocks = unsigned(launch.num_blocks[k]);
  std::optional<sim::Finding> found;
  const auto cluster = unsigned(cluster_);
  for (unsigned block = 0; block < blocks && !found && failure.site == 0; block += cluster) {
    const sim::Block place{.block = {block, 0, 0},
                           .grid = {blocks, 1, 1},
                           .threads = {unsigned(entry.threads), 1, 1},
                           .cluster = {cluster, 1, 1}};
    found = sim::run_block(code, place, arguments.data(), target.adversary, &detector);
  }
  if (failure.site != 0) {
    out.report = "failed check";
  } else if (!detector.findings().empty()) {
    const sim::Finding& first = detector.findings().front();
    out = {.report = kind_of(first.kind), .text = first.text};
  } else if (found) {
    out = {.report = kind_of(found->kind), .text = found->text};
  }
  return out.report.empty();
}

// ---- The subjects ----

namespace {

double small_value(size_t t, int64_t i) { return double((i * 7 + i / 13 * 3 + int64_t(t) * 5) % 5) - 2; }

// As above, with an infinity among the first elements of a row of each operand whose rows have this many. Times the
// zeros behind the last k of the other operand it is NaN: that a row's tail is read into the next row shows.
Subject::Values with_infinities(int64_t columns_a, int64_t columns_b = 0) {
  return [columns_a, columns_b](size_t t, int64_t i) {
    const int64_t columns = t == 0 ? columns_a : t == 1 ? columns_b : 0;
    return columns > 0 && i == 5 * columns + 3 ? std::numeric_limits<double>::infinity() : small_value(t, i);
  };
}

using Shapes = Subject::Shapes;

Subject example(const std::string& name, const Program& program, const std::vector<Shapes>& launches,
                const Subject::Values& values = small_value) {
  return {name, program.ir(), false, "sm_80", launches, values};
}

Subject quickstart(const std::string& name, int64_t m, int64_t n, int64_t k, int block_m, int block_n, int block_k,
                   DType type) {
  return example(name, examples::matmul_relu(m, n, k, block_m, block_n, block_k, type), {{{m, k}, {k, n}, {m, n}}},
                 with_infinities(k));
}

Subject table(const std::string& name, const testing::Product& p, const ir::Program& program, const char* arch) {
  const Shapes shapes = {{p.m, p.k}, p.transpose_b ? std::vector{p.n, p.k} : std::vector{p.k, p.n}, {p.m, p.n}};
  return {name, program, true, arch, {shapes}, small_value};
}

// One warpgroup copies by cp.async, and multiplies what it copied.
ir::Program products_of_own_copies(const testing::Product& p) {
  constexpr const char* kSlots = R"(        schedule anchor {0}
        channel operands: (A_shared, B_shared) stages {1} from warps(0, 0) to warps(0, 0)
        slot wait(0) stage {0} order 0
        slot acquire(0) stage 0 order 1
        slot op(0) stage 0 order 2
        slot op(1) stage 0 order 3
        slot commit(0) stage 0 order 4
        slot op(2) stage {0} order 5
        slot release(0) stage {0} order 6
)";
  const std::string fragment = layout::to_string(layout::wgmma_accumulator(p.block_m, p.block_n, 1, 1));
  return ir::parse(testing::product_text(p, fragment, 128, "", fmt::format(kSlots, p.stages - 1, p.stages),
                                         testing::loads_text(p, "async_copy", "", ""), "warpgroup_gemm"),
                   "table", testing::schedule_defs());
}

// Numbers of bins, and some that are none.
Subject histogram(const std::string& name, int bins, int block, const std::vector<int64_t>& extents) {
  std::vector<Shapes> launches;
  for (const int64_t n : extents) launches.push_back({{n}, {bins}});
  return example(name, examples::histogram(bins, block), launches,
                 [bins](size_t t, int64_t i) { return t == 0 ? double(i * 37 % (bins + 2)) - 1 : 0; });
}

Subject gemm_epilogue(const std::string& name, int64_t m, int64_t n, int64_t k, int block_n) {
  return example(name, examples::gemm_epilogue(m, n, k, 16, block_n, 16), {{{m, k}, {n, k}, {n}, {m, n}, {m, n}}},
                 with_infinities(k, k));
}
Subject split_k(const std::string& name, int64_t m, int64_t n, int64_t k) {
  return example(name, examples::split_k(m, n, k, 2, 16, 8), {{{m, k}, {k, n}, {m, n}}}, with_infinities(k));
}

// Small tiles, extents that end inside of them, and more steps than stages. The condition that lets a thread take the
// path without checks is of use in the last rows where some threads take it there.
void add_examples(std::vector<Subject>& out) {
  out.push_back(example("elementwise", examples::elementwise(8, 16),
                        {{{19, 37}, {19, 37}, {19, 37}}, {{16, 37}, {16, 37}, {16, 37}}}));
  out.push_back(example("elementwise of large tiles", examples::elementwise(16, 64),
                        {{{35, 100}, {35, 100}, {35, 100}}, {{32, 100}, {32, 100}, {32, 100}}}));
  out.push_back(gemm_epilogue("gemm_epilogue", 27, 37, 50, 24));
  out.push_back(gemm_epilogue("gemm_epilogue, narrow", 27, 37, 50, 16));
  out.push_back(gemm_epilogue("gemm_epilogue, narrow and long", 43, 21, 66, 16));
  out.push_back(gemm_epilogue("gemm_epilogue, copies", 27, 45, 64, 32));
  out.push_back(histogram("histogram", 100, 128, {300, 384 + 102}));
  out.push_back(histogram("histogram of few", 40, 256, {450, 512 + 42}));
  out.push_back(quickstart("quickstart f16", 64, 64, 128, 32, 32, 16, DType::f16));
  out.push_back(quickstart("quickstart f16, tails", 70, 72, 136, 32, 32, 16, DType::f16));
  out.push_back(quickstart("quickstart f16, two steps", 70, 72, 32, 32, 32, 16, DType::f16));
  out.push_back(quickstart("quickstart bf16, large", 64, 128, 384, 64, 64, 64, DType::bf16));
  out.push_back(quickstart("quickstart bf16, three steps", 70, 136, 96, 32, 64, 32, DType::bf16));
  out.push_back(quickstart("quickstart f32", 24, 20, 40, 16, 16, 8, DType::f32));
  out.push_back(example("online_softmax", examples::online_softmax(5, 130, 4, 64), {{{5, 130}, {5, 130}}}));
  out.push_back(example("prefix_sum", examples::prefix_sum(150, 64), {{{150}, {150}}}));
  const auto rows = [](int64_t num_rows, int width, int block_rows) {
    const RowPlan plan{.block_rows = block_rows, .block_width = width, .num_parts = 1, .threads = 128};
    return examples::rms_norm_silu(num_rows, width, 1e-6, DType::f32, plan);
  };
  out.push_back(example("rms_norm_silu", rows(8, 151, 4), {{{8, 151}, {151}, {8, 151}}}));
  out.push_back(example("rms_norm_silu, a row", rows(5, 130, 1), {{{5, 130}, {130}, {5, 130}}}));
  out.push_back(example("rms_norm_silu, two rows", rows(6, 200, 2), {{{6, 200}, {200}, {6, 200}}}));
  out.push_back(example("rms_norm_silu, wide", rows(8, 270, 4), {{{8, 270}, {270}, {8, 270}}}));
  out.push_back(split_k("split_k", 20, 21, 100));
  out.push_back(example("transpose of small tiles", examples::transpose(16, 16),
                        {{{19, 37}, {37, 19}}, {{32, 37}, {37, 32}}, {{19, 48}, {48, 19}}}));
  out.push_back(example("transpose", examples::transpose(16, 24),
                        {{{19, 37}, {37, 19}}, {{32, 37}, {37, 32}}, {{19, 48}, {48, 19}}}));
}

void add_tables_of_cp_async(std::vector<Subject>& out) {
  testing::Product p{.m = 70, .n = 72, .k = 88, .block_m = 32, .block_n = 32, .block_k = 16, .stages = 2, .groups = 1};
  out.push_back(table("cp.async, 2 stages", p, testing::cp_async_product(p), "sm_80"));
  p.m = p.n = 64;
  for (const int stages : {3, 4}) {
    p.stages = stages;
    p.k = 16 * stages + 56;
    out.push_back(table(fmt::format("cp.async, {} stages", stages), p, testing::cp_async_product(p), "sm_80"));
  }
  p.block_m = 64;
  for (const int stages : {2, 3}) {
    p.stages = stages;
    p.k = 16 * 3 * stages + 8;
    out.push_back(table(fmt::format("wgmma of cp.async, {} stages", stages), p, products_of_own_copies(p), "sm_90a"));
  }
}

void add_tables_of_bulk_copies(std::vector<Subject>& out) {
  const auto add = [&](const std::string& name, const testing::Product& p) {
    out.push_back(table(name, p, testing::wgmma_product(p), "sm_90a"));
  };
  testing::Product p{.m = 72, .n = 40, .k = 456, .block_m = 64, .block_n = 32, .groups = 1};
  p.regs_compute = p.regs_load = 0;
  for (const int stages : {1, 2, 3}) {
    p.stages = stages;
    add(fmt::format("wgmma, {} stages", stages), p);
  }
  p.rounds = 3;
  p.k = 200;
  add("wgmma, 3 rounds", p);
  p.stages = 2;
  p.type = "bf16";
  add("wgmma, 3 rounds, bf16", p);
  add("wgmma, 2 groups", {.m = 130, .n = 136, .k = 264, .stages = 2});
  add("wgmma, 2 groups, 2 rounds", {.m = 130, .n = 136, .k = 200, .stages = 3, .rounds = 2});
  p = {.m = 70, .n = 72, .k = 296, .block_m = 64, .block_n = 64, .block_k = 32, .stages = 4, .groups = 1};
  p.transpose_b = true;
  p.regs_compute = p.regs_load = 0;
  add("wgmma, B [n, k]", p);
  p.stages = 1;
  p.type = "bf16";
  add("wgmma, B [n, k], bf16, 1 stage", p);
}

}  // namespace

std::vector<Subject> all_subjects() {
  std::vector<Subject> out;
  add_examples(out);
  add_tables_of_cp_async(out);
  add_tables_of_bulk_copies(out);
  out.push_back(cluster_product());
  return out;
}

std::vector<Subject> few_subjects() {
  static constexpr const char* kNames[] = {"histogram",      "quickstart f16, tails", "rms_norm_silu",
                                           "split_k",        "wgmma, 2 stages",       "wgmma of cp.async, 2 stages",
                                           "cluster product"};
  std::vector<Subject> out;
  for (Subject& subject : all_subjects()) {
    if (std::find(std::begin(kNames), std::end(kNames), subject.name()) != std::end(kNames))
      out.push_back(std::move(subject));
  }
  return out;
}

}  // namespace tilewright::mutation
