// Metamorphic pairs: random computations in forms that differ in one choice give the same numbers, on the interpreter
// and on the CPU; and choices that mean nothing to a CPU leave its code as it is.
#include "codegen/cpu.h"
#include "fuzz/comparison.h"
#include "fuzz/forms.h"
#include "fuzz/random.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/passes.h"
#include "runtime/interp/interp.h"
#include "target/dtype.h"
#include "harness/machine.h"

#include <tilewright/compile.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright::fuzz {
namespace {

constexpr uint64_t kSeeds = 40, kSeedsPerProgram = 2;

// The elements of a tensor in row-major order.
std::vector<double> values_of(const TensorContents& tensor, const std::vector<std::byte>& bytes) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.shape[0]; ++i) {
    for (int64_t j = 0; j < tensor.shape[1]; ++j) {
      const std::byte* at = bytes.data() + (i * tensor.strides[0] + j * tensor.strides[1]) * bytes_of(tensor.dtype);
      out.push_back(is_float(tensor.dtype) ? load_float(tensor.dtype, at) : double(load_int(tensor.dtype, at)));
    }
  }
  return out;
}

struct Case {
  uint64_t seed;
  Form form;
  Computation computation;
  size_t first;  // argument of the program
};

std::vector<std::vector<double>> results_of(const Case& c, const Memory& memory) {
  std::vector<std::vector<double>> out;
  for (const size_t at : c.computation.results) {
    const auto& tensor = std::get<TensorContents>(c.computation.arguments[at]);
    out.push_back(values_of(tensor, memory.bytes[c.first + at]));
  }
  return out;
}

// Compares every case with the first of its seed.
void expect_equal(const std::vector<Case>& cases, const Memory& memory, const std::string& runner) {
  const Case* plain = nullptr;
  for (const Case& c : cases) {
    if (plain == nullptr || plain->seed != c.seed) plain = &c;
    const auto want = results_of(*plain, memory), got = results_of(c, memory);
    for (size_t r = 0; r < want.size(); ++r) {
      const auto differs = std::mismatch(want[r].begin(), want[r].end(), got[r].begin(), got[r].end());
      if (differs.first == want[r].end()) continue;
      ADD_FAILURE() << runner << ", seed " << c.seed << ", " << c.form.name << ": element "
                    << differs.first - want[r].begin() << " of " << (r == 0 ? "C" : "R") << " is " << *differs.second
                    << ", but " << *differs.first << " in the plain form";
      break;
    }
  }
}

void run_seeds(uint64_t first, uint64_t last) {
  std::vector<Case> cases;
  std::vector<Contents> contents;
  const Program program = T::prim_func("forms", [&] {
    for (uint64_t seed = first; seed < last; ++seed) {
      for (const Form& form : forms_of(seed)) {
        Computation computation = add_computation(seed, form, fmt::format("c{}_", cases.size()));
        const size_t at = contents.size();
        contents.insert(contents.end(), computation.arguments.begin(), computation.arguments.end());
        cases.push_back({.seed = seed, .form = form, .computation = std::move(computation), .first = at});
      }
    }
  });
  Memory interpreted(contents), compiled(contents);
  interpret(program, interpreted.arguments);
  expect_equal(cases, interpreted, "interpreter");
  compile(program, {.target = "cpu", .num_threads = 2, .optimize = 0}).run(compiled.arguments);
  expect_equal(cases, compiled, "cpu");
  for (size_t i = 0; i < contents.size(); ++i) {
    EXPECT_EQ(interpreted.bytes[i] == compiled.bytes[i], true) << "argument " << i << " of seed " << first;
  }
  if (!testing::has_gpu()) return;
  Memory on_gpu(contents);
  compile(program, {.target = "cuda"}).run(on_gpu.arguments);
  expect_equal(cases, on_gpu, "cuda");
}

TEST(Forms, AgreeWithThePlainOne) {
  for (uint64_t first = 1; first <= kSeeds; first += kSeedsPerProgram) {
    SCOPED_TRACE(fmt::format("seeds {} to {}", first, first + kSeedsPerProgram - 1));
    EXPECT_NO_THROW(run_seeds(first, first + kSeedsPerProgram)) << "seeds from " << first;
  }
}

// Says otherwise how the work of a kernel is shared out among threads and overlapped in time.
class OtherChoices : public ir::Rewriter {
 public:
  explicit OtherChoices(uint64_t seed) : random_(seed) {}
  using Rewriter::rewrite;

  void rewrite(const ir::Stmt& stmt, ir::Block& out) override {
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) {
      ir::OpStmt other = *op;
      std::erase_if(other.attrs, [](const auto& attr) {
        return attr.first == "policy" || attr.first == "k_pack" || attr.first == "batch";
      });
      return out.push_back(ir::make_stmt(std::move(other), stmt->loc));
    }
    ir::Block parts;
    Rewriter::rewrite(stmt, parts);
    const auto* loop = ir::get_if<ir::ForStmt>(parts[0]);
    if (loop && (loop->kind == ir::LoopKind::pipelined || loop->kind == ir::LoopKind::vectorized)) {
      ir::ForStmt other = *loop;
      other.kind = random_.pick({ir::LoopKind::pipelined, ir::LoopKind::serial});
      other.attrs.clear();
      if (other.kind == ir::LoopKind::pipelined) other.attrs = {{"num_stages", random_.between(0, 4)}};
      parts = {ir::make_stmt(std::move(other), stmt->loc)};
    }
    out.insert(out.end(), parts.begin(), parts.end());
  }
  int threads() { return int(random_.pick({32, 64, 96, 128, 256, 512})); }

 private:
  Random random_;
};

TEST(Forms, ChoicesForThreadsLeaveTheCodeForCpusAlone) {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    RandomProgram generated = generate_programs({&seed, 1});
    const ir::Program& program = generated.program.ir();
    ir::Program other = program;
    OtherChoices choices(seed);
    for (ir::Kernel& kernel : other.kernels) {
      kernel.threads = choices.threads();
      for (ir::Tile& tile : kernel.tiles) {  // fragments of other threads
        if (tile.annotated && tile.fragment) tile.fragment.reset(), tile.annotated.reset(), tile.placed = {};
      }
      kernel.thread_extents.clear();
      const ir::Block body = kernel.body;
      kernel.body = static_cast<ir::Rewriter&>(choices).rewrite(body);
    }
    changed += !ir::equal(program, other);
    std::vector<Remark> remarks;
    const auto code = [&](const ir::Program& p) {
      return codegen::emit_cpu(passes::cpu_pipeline(p, {.level = CpuLevel::avx512}, remarks), {}).source;
    };
    ASSERT_EQ(code(program), code(other)) << "seed " << seed;
    Memory one(generated.arguments[0]), two(generated.arguments[0]);
    interpret(program, one.arguments);
    interpret(other, two.arguments);
    ASSERT_EQ(one.bytes == two.bytes, true) << "the interpreter, seed " << seed;
  }
  EXPECT_GE(changed, 90);
}

TEST(Forms, ComputeSomething) {
  int64_t others = 0, elements = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Computation computation;
    const Program program =
        T::prim_func("plain", [&] { computation = add_computation(seed, forms_of(seed)[0], "p_"); });
    Memory memory(computation.arguments);
    interpret(program, memory.arguments);
    const size_t at = computation.results[0];
    const auto values = values_of(std::get<TensorContents>(computation.arguments[at]), memory.bytes[at]);
    elements += int64_t(values.size());
    for (size_t i = 1; i < values.size(); ++i) others += values[i] != values[i - 1];
  }
  EXPECT_GT(others * 2, elements) << "results hardly differ from their neighbours";
}

}  // namespace
}  // namespace tilewright::fuzz
