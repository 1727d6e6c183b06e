// Kernels, grids and loops: options that must not change a result, orders of blocks, what is reported.
#include "ops/op_table.h"
#include "ops/raster.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tilewright::tests {
namespace {

using Walk = std::vector<ops::BlockIndex>;

// The order of blocks, walked as the definition says: panels of grid rows, columns in turn from both ends.
Walk walk_by_rows(int64_t columns, int64_t rows, int64_t panel) {
  Walk out;
  bool backwards = false;
  for (int64_t top = 0; top < rows; top += panel, backwards = !backwards) {
    for (int64_t step = 0; step < columns; ++step) {
      for (int64_t row = top; row < std::min(top + panel, rows); ++row)
        out.push_back({.x = backwards ? columns - 1 - step : step, .y = row});
    }
  }
  return out;
}

Walk walk(ops::RasterOrder order, int64_t columns, int64_t rows, int64_t panel) {
  if (order == ops::RasterOrder::row) return walk_by_rows(columns, rows, panel);
  Walk out = walk_by_rows(rows, columns, panel);
  for (ops::BlockIndex& at : out) std::swap(at.x, at.y);
  return out;
}

TEST(Raster, HostFormWalksPanels) {
  for (const ops::RasterOrder order : {ops::RasterOrder::row, ops::RasterOrder::col}) {
    for (int64_t panel = 1; panel <= 9; ++panel) {
      for (int64_t x = 1; x <= 33; ++x) {
        for (int64_t y = 1; y <= 33; ++y) {
          const Walk want = walk(order, x, y, panel);
          ASSERT_EQ(int64_t(want.size()), x * y);
          for (int64_t n = 0; n < x * y; ++n) {
            const ops::BlockIndex got = ops::raster_block({.panel_size = panel, .order = order}, x, y, n);
            ASSERT_EQ(got, want[size_t(n)]) << x << "x" << y << " panel " << panel << " block " << n;
          }
        }
      }
    }
  }
}

// Each kernel writes down the blocks in the order in which they run on one thread.
TEST(Raster, CompiledKernelsWalkPanels) {
  constexpr int kPanels = 9;
  const Program program = T::prim_func("rasters", [] {
    auto gx = T::dynamic("gx"), gy = T::dynamic("gy");
    T::tensor("grid", {gy, gx}, T::u8);
    std::vector<T::Tile> orders, counts;
    for (int k = 0; k < 2 * kPanels; ++k) {
      orders.push_back(T::tensor(fmt::format("order{}", k), {33 * 33}, T::i32));
      counts.push_back(T::tensor(fmt::format("count{}", k), {1}, T::i32));
    }
    for (int k = 0; k < 2 * kPanels; ++k) {
      auto [x, y] = T::Kernel({gx, gy});
      T::use_swizzle(k / 2 + 1, {.order = k % 2 == 0 ? T::row : T::column});
      orders[size_t(k)](counts[size_t(k)](0)) = y * gx + x;
      counts[size_t(k)](0) += 1;
    }
  });
  const CompiledKernel kernel = compile(program, {.target = "cpu", .num_threads = 1, .optimize = 0});
  for (int64_t x = 0; x <= 33; ++x) {
    for (int64_t y = 0; y <= 33; y += x % 3 == 0 ? 1 : 3) {
      std::vector<std::vector<int32_t>> orders(2 * kPanels, std::vector<int32_t>(33 * 33));
      std::vector<int32_t> counts(2 * kPanels);
      std::vector<uint8_t> grid(size_t(x * y));
      std::vector<Argument> arguments = {TensorView{grid.data(), DType::u8, {y, x}}};
      for (size_t k = 0; k < orders.size(); ++k) {
        arguments.emplace_back(TensorView{orders[k].data(), DType::i32, {33 * 33}});
        arguments.emplace_back(TensorView{&counts[k], DType::i32, {1}});
      }
      kernel.run(arguments);
      for (size_t k = 0; k < orders.size(); ++k) {
        const Walk want = walk(k % 2 == 0 ? ops::RasterOrder::row : ops::RasterOrder::col, x, y, int64_t(k / 2 + 1));
        ASSERT_EQ(counts[k], x * y);
        for (size_t n = 0; n < want.size(); ++n) ASSERT_EQ(orders[k][n], want[n].y * x + want[n].x) << k << " " << n;
      }
    }
  }
}

Program raster_of_rank(int rank, bool enable) {
  return T::prim_func("ranks", [=] {
    auto A = T::tensor("A", {4, 3, 5}, T::i32);
    if (rank == 1) {
      auto [x] = T::Kernel({T::Expr(5)});
      T::use_swizzle(2, {.enable = enable});
      for (auto [z, y] : T::grid(4, 3)) A(z, y, x) += z * 15 + y * 5 + x + 1;
    } else {
      auto [x, y, z] = T::Kernel({5, 3, 4});
      T::use_swizzle(2, {.order = T::col, .enable = enable});
      A(z, y, x) += z * 15 + y * 5 + x + 1;
    }
  });
}

TEST(Raster, GridsOfOneAndThreeDimensions) {
  for (const int rank : {1, 3}) {
    for (const bool enable : {true, false}) {
      const Program program = raster_of_rank(rank, enable);
      EXPECT_EQ(program.print().find("use_swizzle") != std::string::npos, enable);
      for (const char* runner : {"interpreter", "cpu"}) {
        const Args after = run_on(runner, program, {HostArray(T::i32, {4, 3, 5})});
        for (int64_t i = 0; i < 60; ++i) ASSERT_EQ(array(after, 0).get(i), i + 1) << runner << " " << rank;
      }
    }
  }
  const CompiledKernel one = compile(raster_of_rank(1, true), {.target = "cpu", .optimize = 0});
  ASSERT_EQ(one.remarks().size(), 1u);
  EXPECT_EQ(one.remarks()[0].kind, "raster");
  EXPECT_EQ(one.remarks()[0].text, "use_swizzle changes nothing in ranks: its grid has one dimension");
  EXPECT_TRUE(compile(raster_of_rank(3, true), {.target = "cpu", .optimize = 0}).remarks().empty());
}

TEST(Kernels, ThreadExtentsAndQueries) {
  const Program program = T::prim_func("queries", [] {
    auto out = T::tensor("out", {2, 3}, T::i32);
    {
      auto [x, y] = T::Kernel({3, 2}, {.threads = {32, 4}});
      EXPECT_EQ(T::get_thread_extent(), 32);
      EXPECT_EQ(T::get_thread_extent(1), 4);
      EXPECT_EQ(T::get_thread_extent(2), 1);
      out(T::get_block_binding(1), T::get_block_binding()) =
          T::get_block_binding(1) * T::get_block_extent(0) + x + T::get_block_extent(1) * 100;
    }
    auto [x] = T::Kernel({T::Expr(1)});
    EXPECT_EQ(T::get_thread_extent(), 128);
    EXPECT_EQ(T::get_thread_extent(2), 1);
  });
  EXPECT_NE(program.print().find("threads 128 (32, 4) {"), std::string::npos) << program.print();
  EXPECT_EQ(parse_program(program.print(), "queries.tw").print(), program.print());
  for (const char* runner : {"interpreter", "cpu"}) {
    const Args after = run_on(runner, program, {HostArray(T::i32, {2, 3})});
    EXPECT_EQ(array(after, 0).values(), (std::vector<Real>{200, 201, 202, 203, 204, 205})) << runner;
  }
}

TEST(Kernels, OptionsOfLoopsAreInTheText) {
  const Program program = T::prim_func("options", [] {
    auto A = T::tensor("A", {8, 8}, T::f32);
    auto [x] = T::Kernel({T::Expr(1)});
    for (auto i : T::unroll(8, {.factor = 4})) A(i, 0) = 1;
    for (auto i : T::unroll(0, 8, 2, {.explicit_ = true})) A(i, 1) = 1;
    for (auto i : T::vectorized(8)) A(i, 2) = 1;
    for (auto [i, j] : T::Parallel({8, 4}, {.coalesced_width = 2})) A(i, 4 + j) = 1;
    for (auto k : T::Pipelined(8, {.num_stages = 2, .order = {1, 0}, .stage = {0, 1}, .group = {{0}, {1}}})) {
      A(k, 3) = 1;
      A(k, 3) = 2;
    }
  });
  const std::string text = program.print();
  for (const char* line :
       {"in unrolled(0:8) {factor = 4} {", "in unrolled(0:+4 step 2) {explicit = true} {", "in vectorized(0:8) {",
        "in parallel(0:8, 0:4) {coalesced_width = 2} {",
        "in pipelined(0:8) {num_stages = 2, order = \"1, 0\", stage = \"0, 1\", group = \"0; 1\"} {"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_EQ(parse_program(text, "options.tw").print(), text);
}

// ---- grids without blocks --------------------------------------------------------------------------------------

TEST(EmptyGrid, StaticOnesAreRemarks) {
  const Program program = T::prim_func("nothing", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto [x, y] = T::Kernel({4, 0});
    A(x) = 1;
  });
  const CompiledKernel kernel = compile(program, {.target = "cpu", .optimize = 0});
  ASSERT_EQ(kernel.remarks().size(), 1u);
  EXPECT_EQ(kernel.remarks()[0].kind, "empty_grid");
  EXPECT_EQ(kernel.remarks()[0].text, "the grid of nothing has an extent of 0, so that no block runs");
  std::vector<float> a(4, 7);
  kernel(TensorView{a.data(), DType::f32, {4}});
  EXPECT_EQ(a, std::vector<float>(4, 7));
}

TEST(EmptyGrid, DynamicOnesAreRemarksOfTheLaunch) {
  const Program program = T::prim_func("rows", [] {
    auto m = T::dynamic("m");
    auto A = T::tensor("A", {m, 4}, T::f32);
    auto [x, y] = T::Kernel({2, m});
    A(y, x) = 1;
  });
  const CompiledKernel kernel = compile(program, {.target = "cpu", .optimize = 0});
  EXPECT_TRUE(kernel.remarks().empty());
  std::vector<float> a(8, 7);
  EXPECT_TRUE(kernel.bind(TensorView{a.data(), DType::f32, {2, 4}}).remarks().empty());
  EXPECT_EQ(kernel.report().find("without blocks"), std::string::npos);
  const Launch launch = kernel.bind(TensorView{a.data(), DType::f32, {0, 4}});
  ASSERT_EQ(launch.remarks().size(), 1u);
  EXPECT_EQ(launch.remarks()[0].kind, "empty_grid");
  EXPECT_EQ(launch.remarks()[0].text, "no block of rows runs: its grid is 2 x 0");
  launch();
  kernel(TensorView{a.data(), DType::f32, {0, 4}});
  EXPECT_EQ(a, std::vector<float>(8, 7));
  EXPECT_NE(kernel.report().find("kernel tw_rows: 2 launches had a grid without blocks\n"), std::string::npos)
      << kernel.report();
}

// ---- what the interpreter finds ----------------------------------------------------------------------------------

struct Report {
  std::string message, notes;
  int line = 0;
};

Report report_of(const Program& program, std::vector<Argument> arguments) {
  try {
    interpret(program, std::move(arguments));
  } catch (const Error& e) {
    Report report{.message = e.message(), .notes = {}, .line = e.loc().line};
    for (const Note& note : e.notes()) report.notes += note.text + "\n";
    return report;
  }
  return {.message = "it ran", .notes = {}};
}

TEST(Workspaces, AreUndefinedUntilWritten) {
  int line = 0;
  const Program program = T::prim_func("late", [&] {
    auto A = T::tensor("A", {6}, T::f32);
    auto m = T::scalar("m", T::i32);
    auto W = T::alloc_global({2, 3}, T::f32);
    {
      auto [x] = T::Kernel({T::Expr(3)});
      T::if_(x < m, [&] { W(1, x) = x; });
    }
    auto [x] = T::Kernel({T::Expr(3)});
    line = __LINE__ + 1;
    A(x) = W(1, x);
  });
  std::vector<float> a(6, 5);
  const TensorView view{a.data(), DType::f32, {6}};
  EXPECT_EQ(report_of(program, {view, int64_t(3)}).message, "it ran");
  EXPECT_EQ(a, (std::vector<float>{0, 1, 2, 5, 5, 5}));
  const Report report = report_of(program, {view, int64_t(2)});
  EXPECT_EQ(report.message, "workspace_1[1, 2] of global f32[2, 3] is read before it is written, in block (2)");
  EXPECT_EQ(report.line, line);
}

TEST(Blocks, DependencesNameBothLines) {
  int write = 0, read = 0;
  const Program program = T::prim_func("chained", [&] {
    auto A = T::tensor("A", {4, 8}, T::f32);
    auto [x] = T::Kernel({T::Expr(4)});
    auto row = T::alloc_shared({8}, T::f32);
    read = __LINE__ + 1;
    T::copy(A(x - 1, 0), row);
    write = __LINE__ + 1;
    T::copy(row, A(x, 0));
  });
  std::vector<float> a(32, 1);
  const Report report = report_of(program, {TensorView{a.data(), DType::f32, {4, 8}}});
  EXPECT_EQ(report.message, "block (1) reads A[0, 0], which block (0) writes: blocks run in any order");
  EXPECT_EQ(report.line, read);
  EXPECT_EQ(report.notes.find(fmt::format("block (0) writes it at {}:{}\n", __FILE__, write)), 0u) << report.notes;
  EXPECT_EQ(a, std::vector<float>(32, 1));
}

// ---- interrupts ------------------------------------------------------------------------------------------------

Program endless() {
  return T::prim_func("endless", [] {
    auto A = T::tensor("A", {8}, T::i32);
    auto stop = T::scalar("stop", T::i32);
    auto [x] = T::Kernel({T::Expr(8)});
    auto v = T::alloc_var(T::i32, 1);
    T::while_(v != stop, [&] { v = v * 3 % 1000003 + 1; });
    A(x) = v;
  });
}

// Runs `kernel` without end until `interrupt` stops it.
std::string interrupted_run(const CompiledKernel& kernel, std::vector<int32_t>& a,
                            const std::function<void()>& interrupt) {
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      interrupt();
    }
  });
  std::string message = "it ended";
  try {
    kernel(TensorView{a.data(), DType::i32, {8}}, int64_t(-1));
  } catch (const Error& e) {
    message = e.message() + (e.loc().known() ? " at a line" : "");
  }
  done = true;
  other.join();
  return message;
}

TEST(Interrupt, StopsWhileLoopsAndLeavesTheProcessUsable) {
  for (const int num_threads : {1, 2}) {
    const CompiledKernel kernel = compile(endless(), {.target = "cpu", .num_threads = num_threads});
    std::vector<int32_t> a(8);
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(interrupted_run(kernel, a, interrupt_launches),
                "the launch of endless was interrupted in this while loop at a line");
      kernel(TensorView{a.data(), DType::i32, {8}}, int64_t(4));
      EXPECT_EQ(a, std::vector<int32_t>(8, 4));
    }
  }
}

TEST(Interrupt, FromASignalHandler) {
  const CompiledKernel kernel = compile(endless(), {.target = "cpu", .num_threads = 2});
  std::vector<int32_t> a(8);
  auto* const before = std::signal(SIGINT, [](int) { interrupt_launches(); });
  EXPECT_EQ(interrupted_run(kernel, a, [] { std::raise(SIGINT); }),
            "the launch of endless was interrupted in this while loop at a line");
  std::signal(SIGINT, before);
}

TEST(Interrupt, BlocksThatHaveNotBegunDoNotBegin) {
  const Program program = T::prim_func("many", [] {
    auto A = T::tensor("A", {1}, T::i32);
    auto n = T::scalar("n", T::i64);
    auto [x] = T::Kernel({n});
    T::if_(x < 0, [&] { A(x) = 1; });
  });
  const CompiledKernel kernel = compile(program, {.target = "cpu", .num_threads = 2, .optimize = 0});
  int32_t a = 0;
  const Launch launch = kernel.bind(TensorView{&a, DType::i32, {1}}, int64_t(1) << 36);
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    interrupt_launches();
  });
  try {
    launch();
    ADD_FAILURE() << "2^36 blocks ran";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "the launch of many was interrupted");
  }
  other.join();
}

// ---- generated source on disk ----------------------------------------------------------------------------------

std::string content(const std::string& path) {
  std::ifstream in(path);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

TEST(SourcePath, HoldsTheSourceUnderOneName) {
  const CompiledKernel kernel = compile(endless(), {.target = "cpu", .optimize = 0});
  const std::string path = kernel.source_path();
  EXPECT_EQ(kernel.source_path(), path);
  EXPECT_EQ(content(path), kernel.get_kernel_source());
  EXPECT_TRUE(path.ends_with("endless.cc")) << path;
  // One file in the cache; without a cache each kernel has a file of its own.
  const CompiledKernel again = compile(endless(), {.target = "cpu", .optimize = 0});
  EXPECT_EQ(content(again.source_path()), again.get_kernel_source());
}

}  // namespace
}  // namespace tilewright::tests
