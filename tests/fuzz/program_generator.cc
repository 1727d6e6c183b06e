#include "fuzz/program_generator.h"

#include "fuzz/kernel_generator.h"
#include "target/dtype.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace tilewright::fuzz {

namespace {

constexpr int64_t kMaxBlocks = 8;
constexpr uint64_t kAtomics = 3;  // in a kernel

// One program: its tensors and scalars, the values they get, and its kernels.
class Generator {
 public:
  explicit Generator(uint64_t seed) : seed_(seed), random_(seed), prefix_("p" + std::to_string(seed) + "_") {}
  std::vector<Contents> run();
  const std::map<std::string, int64_t>& words() const { return words_; }

 private:
  std::string name(const char* stem) { return prefix_ + stem + std::to_string(count_++); }
  DType tensor_dtype();
  T::Expr extent(int64_t value, bool may_share);
  TileInfo add_tensor(DType dtype, const std::vector<int64_t>& shape, const char* stem);
  std::vector<int64_t> pick_strides(const std::vector<int64_t>& shape);
  std::byte* element(TensorContents& contents, std::vector<int64_t>& at, size_t offset);
  void fill(TensorContents& contents);
  void add_scalars();
  void add_inputs();
  void add_kernel(bool is_last);
  Sums plan_sums(uint64_t turn);
  Output plan_output(const KernelPlan& plan, bool workspace);

  uint64_t seed_;
  Random random_;
  std::string prefix_;
  int count_ = 0;
  struct Extent {
    T::Expr value;
    int64_t number;
  };
  std::vector<Extent> dynamic_;
  Surroundings around_;
  std::vector<Contents> arguments_;
  std::map<std::string, int64_t> words_;
};

DType Generator::tensor_dtype() {
  if (random_.chance(80)) return random_.pick({DType::f32, DType::f32, DType::f16, DType::bf16, DType::i32});
  return random_.pick({DType::i8, DType::i64, DType::f64, DType::boolean, DType::u8, DType::i16});
}

T::Expr Generator::extent(int64_t value, bool may_share) {
  if (random_.chance(65)) return value;
  for (const Extent& known : dynamic_) {
    if (!may_share || random_.chance(50)) continue;
    if (known.number == value) return known.value;
    if (value > known.number) return known.value + (value - known.number);
  }
  const T::Expr fresh = T::dynamic(name("n"));
  dynamic_.push_back({.value = fresh, .number = value});
  around_.indices.push_back({.value = fresh, .low = value, .high = value});
  return fresh;
}

// Row-major with gaps, or in another order of the dimensions.
std::vector<int64_t> Generator::pick_strides(const std::vector<int64_t>& shape) {
  std::vector<size_t> order(shape.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  if (random_.chance(50)) std::swap(order.front(), order.back());
  std::vector<int64_t> strides(shape.size());
  int64_t step = random_.chance(70) ? 1 : random_.between(2, 3);
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = step;
    step *= std::max<int64_t>(shape[order[k]], 1) + (random_.chance(50) ? random_.between(0, 3) : 0);
  }
  return strides;
}

double random_float(Random& random, bool extreme) {
  const int64_t kind = random.between(0, 99);
  if (kind < 40) return double(random.between(-8, 8));
  // One bit more than bf16 (f16) holds: half of them are ties when rounded to it.
  if (kind < 46) return double(random.between(-511, 511)) / 64;
  if (kind < 50) return double(random.between(-4095, 4095)) / 512;
  if (kind < 95 || !extreme) return random.normal();
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  return random.pick({-0.0, kInf, -kInf, kNan, 1e-40, 65504.0, -3e38, 1e-7});
}

int64_t random_int(Random& random, DType t) {
  const int64_t kind = random.between(0, 99);
  if (is_boolean(t)) return kind & 1;
  if (kind < 90) return is_unsigned(t) ? random.between(0, 12) : random.between(-8, 8);
  return random.pick({min_value(t), max_value(t), int64_t(1), max_value(t) - 1});
}

void Generator::fill(TensorContents& contents) {
  int64_t num_elems = 1;
  for (int64_t e : contents.shape) num_elems *= e;
  int64_t last = 0;
  for (size_t d = 0; d < contents.shape.size(); ++d)
    last += std::max<int64_t>(contents.shape[d] - 1, 0) * contents.strides[d];
  const int64_t width = bytes_of(contents.dtype);
  contents.bytes.resize(size_t((last + 1) * width));
  const bool extreme = random_.chance(15);
  for (int64_t i = 0; i < num_elems; ++i) {
    int64_t rest = i, offset = 0;
    for (size_t d = contents.shape.size(); d-- > 0;) {
      offset += rest % contents.shape[d] * contents.strides[d];
      rest /= contents.shape[d];
    }
    std::byte* at = contents.bytes.data() + offset * width;
    if (is_float(contents.dtype)) {
      store_float(contents.dtype, at, random_float(random_, extreme));
    } else {
      store_int(contents.dtype, at, random_int(random_, contents.dtype));
    }
  }
}

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

TileInfo Generator::add_tensor(DType dtype, const std::vector<int64_t>& shape, const char* stem) {
  std::vector<T::Expr> extents;
  for (int64_t e : shape) extents.push_back(extent(e, true));
  TensorContents contents{.dtype = dtype, .shape = shape, .strides = row_major(shape), .bytes = {}};
  T::TensorOptions options;
  if (random_.chance(25)) {
    contents.strides = pick_strides(shape);
    contents.contiguous = false;
    for (int64_t stride : contents.strides) {
      const bool is_dynamic = random_.chance(30);
      options.strides.push_back(is_dynamic ? T::dynamic(name("s")) : T::Expr(stride));
    }
  }
  if (random_.chance(40))
    options.safe_value = is_boolean(dtype) || is_unsigned(dtype) ? 1 : random_.pick({1.0, -2.0, 5.0});
  fill(contents);
  arguments_.emplace_back(std::move(contents));
  const T::Tile tile = T::tensor(name(stem), T::Shape(extents), dtype, options);
  return {.tile = tile,
          .dtype = dtype,
          .shape = shape,
          .global = true,
          .extents = extents,
          .strided = !options.strides.empty()};
}

void Generator::add_scalars() {
  const int64_t count = random_.between(0, 2);
  for (int64_t i = 0; i < count; ++i) {
    const DType t =
        random_.pick({DType::i32, DType::i32, DType::i64, DType::f32, DType::f16, DType::boolean, DType::f64});
    const T::Expr value = T::scalar(name("x"), t);
    if (is_float(t)) {
      arguments_.emplace_back(round_to(t, random_.normal()));
      around_.scalars.push_back({.value = value, .dtype = t});
    } else if (is_boolean(t)) {
      arguments_.emplace_back(random_.between(0, 1));
      around_.scalars.push_back({.value = value, .dtype = t});
    } else {
      const int64_t number = random_.between(-3, 9);
      arguments_.emplace_back(number);
      around_.indices.push_back({.value = T::cast(value, DType::i64), .low = number, .high = number});
    }
  }
}

void Generator::add_inputs() {
  const int64_t count = random_.between(2, 4);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t rank = random_.between(1, 4);
    std::vector<int64_t> shape;
    for (int64_t d = 0; d < rank; ++d) {
      shape.push_back(random_.chance(10) ? 1 : random_.between(1, rank == 1 ? 60 : rank == 2 ? 24 : rank == 3 ? 9 : 5));
    }
    TileInfo input = add_tensor(i == 0 && random_.chance(50) ? DType::i32 : tensor_dtype(), shape, "A");
    input.frozen = true;
    around_.tensors.push_back(input);
  }
}

Output Generator::plan_output(const KernelPlan& plan, bool workspace) {
  const int64_t grid_rank = int64_t(plan.grid_extents.size());
  const int64_t rank = random_.between(grid_rank, 4);
  std::vector<int> grid_dim(size_t(rank), -1);
  for (int64_t g = 0; g < grid_rank; ++g) {
    int64_t d = random_.between(0, rank - 1);
    while (grid_dim[size_t(d)] >= 0) d = (d + 1) % rank;
    grid_dim[size_t(d)] = int(g);
  }
  std::vector<int64_t> block, shape;
  int64_t room = 256;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t most = std::min<int64_t>(room, rank == 1 ? 48 : rank == 2 ? 17 : 6);
    block.push_back(random_.between(1, std::max<int64_t>(most, 1)));
    room = std::max<int64_t>(room / block.back(), 1);
    const int g = grid_dim[size_t(d)];
    const int64_t covered = block.back() * (g < 0 ? 1 : plan.grid_extents[size_t(g)]);
    const bool tail = random_.chance(60);
    shape.push_back(tail ? std::max<int64_t>(1, covered - random_.between(0, block.back())) : covered);
  }
  const DType dtype = tensor_dtype();
  if (workspace) ++words_["word alloc_global"];
  if (!workspace) return {.tensor = add_tensor(dtype, shape, "C"), .grid_dim = grid_dim, .block = block};
  std::vector<T::Expr> extents(shape.begin(), shape.end());
  const T::Tile tile = T::alloc_global(T::Shape(extents), dtype);
  return {.tensor = {.tile = tile, .dtype = dtype, .shape = shape, .global = true, .extents = extents},
          .grid_dim = grid_dim,
          .block = block};
}

// Consecutive numbers go through every atomic of every dtype that has it.
Sums Generator::plan_sums(uint64_t turn) {
  static const std::vector<std::pair<AtomicWord, DType>> kTurns = [] {
    std::vector<std::pair<AtomicWord, DType>> turns;
    for (const DType t :
         {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i32, DType::u32, DType::i64, DType::u64}) {
      for (int word = 0; word < kNumAtomicWords; ++word) {
        if (AtomicWord(word) <= AtomicWord::min || !is_float(t)) turns.emplace_back(AtomicWord(word), t);
      }
    }
    return turns;
  }();
  const auto& [word, dtype] = kTurns[turn % kTurns.size()];
  return {.tensor = add_tensor(dtype, {random_.between(1, 6), random_.between(1, 12)}, "S"), .word = word};
}

void Generator::add_kernel(bool is_last) {
  KernelPlan plan{};
  if (is_last) plan.turn = seed_;
  const int64_t grid_rank = random_.between(1, 3);
  int64_t room = kMaxBlocks;
  for (int64_t g = 0; g < grid_rank; ++g) {
    plan.grid_extents.push_back(random_.between(1, std::min<int64_t>(room, 5)));
    room = std::max<int64_t>(room / plan.grid_extents.back(), 1);
  }
  const int64_t outputs = random_.between(1, 2);
  for (int64_t i = 0; i < outputs; ++i) plan.outputs.push_back(plan_output(plan, !is_last && i == 0));
  int64_t blocks = 1;
  for (int64_t e : plan.grid_extents) blocks *= e;
  plan.atomics = seed_ % 2 == 0;
  for (uint64_t i = 0; plan.atomics && i < kAtomics; ++i) plan.sums.push_back(plan_sums(seed_ / 2 * kAtomics + i));
  plan.dumps.push_back(add_tensor(DType::f64, {blocks, 6, random_.between(6, 10), random_.between(12, 24)}, "D"));
  plan.dumps.push_back(add_tensor(tensor_dtype(), {blocks, 2, random_.between(6, 10), random_.between(12, 24)}, "D"));
  for (size_t g = 0; g < plan.grid_extents.size(); ++g) {
    T::Expr extent = plan.grid_extents[g];
    // From the shape of a tensor, where that gives the number.
    for (const Output& output : plan.outputs) {
      for (size_t d = 0; d < output.block.size(); ++d) {
        const int64_t n = output.tensor.shape[d], b = output.block[d];
        if (output.grid_dim[d] == int(g) && (n + b - 1) / b == plan.grid_extents[g] && random_.chance(60)) {
          extent = T::ceildiv(output.tensor.extents[d], b);
        }
      }
    }
    plan.grid.push_back(extent);
  }
  plan.surroundings = around_;
  plan.words = &words_;
  KernelGenerator(random_, plan).run();
  for (const Output& output : plan.outputs) around_.tensors.push_back(output.tensor);
}

std::vector<Contents> Generator::run() {
  add_scalars();
  add_inputs();
  const int64_t kernels = random_.chance(70) ? 1 : random_.between(2, 3);
  if (kernels > 1) ++words_["word several kernels"];
  for (int64_t k = 1; k < kernels; ++k) add_kernel(false);
  add_kernel(true);
  return std::move(arguments_);
}

}  // namespace

TensorView TensorContents::view(std::byte* memory) const {
  return {.data = memory, .dtype = dtype, .shape = shape, .strides = contiguous ? std::vector<int64_t>() : strides};
}

RandomProgram generate_programs(std::span<const uint64_t> seeds) {
  std::vector<std::vector<Contents>> arguments;
  std::map<std::string, int64_t> words;
  Program program = T::prim_func("fuzz", [&] {
    for (uint64_t seed : seeds) {
      Generator generator(seed);
      arguments.push_back(generator.run());
      for (const auto& [word, times] : generator.words()) words[word] += times;
    }
  });
  return {.program = std::move(program), .arguments = std::move(arguments), .words = std::move(words)};
}

}  // namespace tilewright::fuzz
