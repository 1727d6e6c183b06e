// Every cell of the fragments that examples/plot_layout draws, against the tables of the PTX manual (9.7.15.5, "Matrix
// fragments for mma.m16n8k16", ldmatrix, and 9.7.16.5, "Register fragments and shared memory matrix layouts" of wgmma),
// which say for each lane and register which element it holds: with g = lane / 4 and c = lane % 4.
#include "../../examples/plot_layout.h"
#include "harness/folders.h"
#include "ops/op_table.h"
#include "runtime/process.h"

#include <tilewright/plot.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

namespace tilewright::tests {
namespace {

struct Element {
  int row = 0, col = 0;
};

struct Table {
  const char* name;
  int rows, cols, threads, registers;
  std::function<Element(int thread, int i)> element;
};

const std::vector<Table>& tables() {
  static const std::vector<Table> kTables = {
      {"mma_a", 16, 16, 32, 8,
       [](int lane, int i) {
         const int g = lane >> 2, c = lane & 3;
         return Element{i < 2 || (i >= 4 && i < 6) ? g : g + 8, i < 4 ? c * 2 + (i & 1) : c * 2 + (i & 1) + 8};
       }},
      {"mma_b", 16, 8, 32, 4,
       [](int lane, int i) {
         const int g = lane >> 2, c = lane & 3;
         return Element{i < 2 ? c * 2 + (i & 1) : c * 2 + (i & 1) + 8, g};
       }},
      {"mma_c", 16, 8, 32, 4,
       [](int lane, int i) {
         const int g = lane >> 2, c = lane & 3;
         return Element{i < 2 ? g : g + 8, c * 2 + (i & 1)};
       }},
      // Register r of a lane has two elements of row g of matrix r, the lower half first.
      {"ldmatrix_x4", 32, 8, 32, 8,
       [](int lane, int i) {
         const int matrix = i >> 1, row = lane >> 2, col = 2 * (lane & 3) + (i & 1);
         return Element{8 * matrix + row, col};
       }},
      {"wgmma_c", 64, 64, 128, 32,
       [](int thread, int i) {
         const int warp = thread >> 5, g = (thread & 31) >> 2, c = thread & 3;
         return Element{16 * warp + g + 8 * ((i >> 1) & 1), 8 * (i >> 2) + 2 * c + (i & 1)};
       }},
  };
  return kTables;
}

// The label of each cell, from the instruction's side.
std::vector<std::vector<std::string>> cells_of(const Table& table) {
  std::vector<std::vector<std::string>> cells(size_t(table.rows), std::vector<std::string>(size_t(table.cols)));
  for (int thread = 0; thread < table.threads; ++thread) {
    for (int i = 0; i < table.registers; ++i) {
      const Element at = table.element(thread, i);
      std::string& cell = cells[size_t(at.row)][size_t(at.col)];
      EXPECT_EQ(cell, "") << table.name;
      cell = fmt::format("t{}.{}", thread, i);
    }
  }
  return cells;
}

TEST(PlotLayout, EveryCellIsWhereTheManualHasIt) {
  const ProcessResult all = run_process({.command = {testing::build_folder() / "examples" / "plot_layout"}});
  ASSERT_TRUE(all.ok()) << all.output;
  std::istringstream in(all.output);
  for (const Table& table : tables()) {
    std::string name, line;
    ASSERT_TRUE(in >> name && std::getline(in, line));
    EXPECT_EQ(name, table.name);
    int num_cells = 0;
    for (const std::vector<std::string>& row : cells_of(table)) {
      ASSERT_TRUE(std::getline(in, line));
      std::istringstream words(line);
      for (const std::string& cell : row) {
        std::string label;
        ASSERT_TRUE(words >> label) << table.name << ": " << line;
        EXPECT_EQ(label, cell) << table.name;
        ++num_cells;
      }
    }
    EXPECT_EQ(num_cells, table.threads * table.registers);  // none is held twice
    ASSERT_TRUE(std::getline(in, line));
    EXPECT_EQ(line, "");
  }
}

// What a browser shows under the pointer.
TEST(PlotLayout, EveryCellIsExplained) {
  const Program program = examples::plot_layout();
  for (const Table& table : tables()) {
    const std::string svg = plot(program, table.name, {.target = "cuda:sm_90a"});
    for (int thread = 0; thread < table.threads; ++thread) {
      for (int i = 0; i < table.registers; ++i) {
        const Element at = table.element(thread, i);
        const std::string title = fmt::format("<g><title>({}, {}); thread {} (warp {}, lane {}), register {}</title>",
                                              at.row, at.col, thread, thread / 32, thread % 32, i);
        EXPECT_NE(svg.find(title), std::string::npos) << table.name << ": " << title;
      }
    }
  }
}

// The compiler's own accumulator of one warp is the manual's, too.
TEST(PlotLayout, AGemmLeavesTheManualsFragment) {
  const Program program = T::prim_func("one_warp", [] {
    auto blocks = T::Kernel({1}, {.threads = 32});
    auto a = T::alloc_shared({16, 16}, T::f16), b = T::alloc_shared({16, 16}, T::f16);
    auto c = T::alloc_fragment({16, 16}, T::f32, "c");
    T::clear(a);
    T::clear(b);
    T::clear(c);
    T::gemm(a, b, c);
  });
  std::istringstream in(plot(program, "c", {.target = "cuda:sm_80", .format = PlotFormat::text}));
  const std::vector<std::vector<std::string>> cells = cells_of(tables()[2]);
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 16; ++col) {
      std::string label, want = cells[size_t(row)][size_t(col % 8)];
      ASSERT_TRUE(in >> label);
      // The second instruction's registers follow.
      if (col >= 8) want = fmt::format("{}.{}", want.substr(0, want.find('.')), want.back() - '0' + 4);
      EXPECT_EQ(label, want) << row << ", " << col;
    }
  }
}

// Tensors pass through the fragments unchanged.
TEST(PlotLayout, NothingIsLostOnTheWay) {
  const Program program = examples::plot_layout();
  Args args;
  for (const Table& table : tables()) {
    const DType dtype = std::string_view(table.name).ends_with("_c") ? T::f32 : T::f16;
    args.emplace_back(HostArray(dtype, {table.rows, table.cols}).fill_random(args.size() + 1, -8, 8));
    args.emplace_back(HostArray(dtype, {table.rows, table.cols}));
  }
  for (const char* runner : {"interpreter", "cpu", "sim:sm_80+checked", "sim:sm_90a+checked+reverse"}) {
    const Args after = run_on(runner, program, args);
    for (size_t t = 0; t < args.size(); t += 2) {
      for (int64_t i = 0; i < array(args, t).size(); ++i) {
        ASSERT_EQ(array(after, t + 1).get(i), array(args, t).get(i)) << runner << " " << tables()[t / 2].name;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::tests
