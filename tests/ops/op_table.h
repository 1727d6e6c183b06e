// The table of operations: each row is a small program with inputs and a reference that is written from the meaning of
// the words alone. Every row runs on the interpreter, on the CPU at every level of this machine, and on the simulator.
#pragma once

#include "ops/host_array.h"

#include <tilewright/language.h>

#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tilewright::tests {

namespace T = tilewright::lang;

using Arg = std::variant<HostArray, int64_t, double>;
using Args = std::vector<Arg>;

// What an argument holds afterwards: |got - value| <= bound for each element. A bound of 0 means equal, an infinite one
// that nothing is said.
struct Expected {
  std::vector<Real> value;
  std::vector<Real> bound;
  bool signed_zeros = false;  // equal includes the sign of zero

  void set(int64_t at, Real v, Real b = 0) {
    value[static_cast<size_t>(at)] = v;
    bound[static_cast<size_t>(at)] = b;
  }
};

using Reference = std::function<void(const Args& before, std::vector<Expected>& after)>;
using Kernels = std::function<void()>;

struct Row {
  std::string name;
  // Declares the parameters, with names that begin with `prefix`, and returns what opens the kernels.
  std::function<Kernels(const std::string& prefix)> declare;
  std::vector<Args> launches;
  // Starts from "unchanged".
  Reference reference;
};

const HostArray& array(const Args& args, size_t i);

// A row with one launch over `arrays`, declared as tensors of constant shape; `kernels` gets their tiles in order.
Row tensor_row(std::string name, std::vector<HostArray> arrays,
               std::function<void(const std::vector<T::Tile>&)> kernels, Reference reference);
T::Tile declare_tensor(const std::string& name, const HostArray& like, double safe_value = 0);

std::vector<Row> copy_rows();
std::vector<Row> cast_rows();
std::vector<Row> fill_rows();
std::vector<Row> transpose_rows();
std::vector<Row> gather_rows();
std::vector<Row> view_rows();
std::vector<Row> gemm_rows();
std::vector<Row> reduce_rows();
std::vector<Row> scan_rows();
std::vector<Row> row_kernel_rows();
std::vector<Row> norm_rows();
std::vector<Row> layer_norm_rows();
std::vector<Row> softmax_rows();
std::vector<Row> row_sum_rows();
std::vector<Row> atomic_rows();
std::vector<Row> float_rows();
std::vector<Row> math_rows();
std::vector<Row> function_rows();
std::vector<Row> pattern_rows();
std::vector<Row> integer_rows();
std::vector<Row> raster_rows();
std::vector<Row> control_rows();
std::vector<Row> block_rows();
std::vector<Row> dynamic_rows();

// The parts of the table, which its tests go through.
struct Part {
  const char* name;
  std::vector<Row> (*rows)();
  size_t rows_per_program;  // of one compilation
};
inline constexpr Part kParts[] = {
    {"copy", copy_rows, 12},      {"cast", cast_rows, 6},
    {"fill", fill_rows, 8},       {"transpose", transpose_rows, 12},
    {"gather", gather_rows, 10},  {"view", view_rows, 12},
    {"gemm", gemm_rows, 12},      {"reduce", reduce_rows, 40},
    {"scan", scan_rows, 40},      {"row_kernel", row_kernel_rows, 8},
    {"norm", norm_rows, 10},      {"layer_norm", layer_norm_rows, 6},
    {"softmax", softmax_rows, 6}, {"row_sum", row_sum_rows, 6},
    {"atomic", atomic_rows, 12},  {"float", float_rows, 4},
    {"math", math_rows, 6},       {"function", function_rows, 6},
    {"pattern", pattern_rows, 4}, {"integer", integer_rows, 8},
    {"raster", raster_rows, 10},  {"control", control_rows, 10},
    {"block", block_rows, 20},    {"dynamic", dynamic_rows, 4},
};

// One program of all rows; its arguments are those of the rows, one after the other.
Program program_of(std::span<const Row> rows, const std::string& name = "rows");
// Empty when `after` is what the row's reference makes of `before`.
std::string check_row(const Row& row, const Args& before, std::span<const Arg> after);

// Runs rows, `rows_per_program` in one program, and fails the current test with one line for each that is wrong.
void check_rows(std::span<const Row> rows, size_t rows_per_program);

// Compares one argument; empty when right, otherwise the first wrong element and the number of wrong ones.
std::string difference(const HostArray& got, const Expected& want);
// As a launch takes them.
std::vector<Argument> views(Args& args);
// "interpreter", "cpu:x86-64", ..., "cuda", and where `simulated` "sim:sm_80+checked+greedy": what can run a program
// here.
std::vector<std::string> all_runners(bool simulated = false);
// Runs `program` on copies of `args` and returns them.
Args run_on(const std::string& runner, const Program& program, const Args& args);

}  // namespace tilewright::tests
