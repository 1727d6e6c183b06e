// Loops, branches, variables, scalars, rasters and extents known at launch.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;

// A kernel of one block that appends numbers to an i32 tensor of 32 elements; the others stay 0.
Row trace_row(const std::string& name, std::function<void(const std::function<void(const T::Expr&)>&)> body,
              std::vector<int> trace) {
  return tensor_row(
      name, {HostArray(T::i32, {32})},
      [body](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto at = T::alloc_var(T::i32, 0);
        body([&](const T::Expr& value) {
          t[0](at) = value;
          at = at + 1;
        });
      },
      [trace](const Args&, std::vector<Expected>& after) {
        for (size_t i = 0; i < trace.size(); ++i) after[0].set(static_cast<int64_t>(i), trace[i]);
      });
}

using Put = std::function<void(const T::Expr&)>;

void add_loops(std::vector<Row>& rows) {
  rows.push_back(trace_row("serial stop",
                           [](const Put& put) {
                             for (auto i : T::serial(4)) put(i);
                           },
                           {0, 1, 2, 3}));
  rows.push_back(trace_row("serial start stop",
                           [](const Put& put) {
                             for (auto i : T::serial(-2, 3)) put(i);
                           },
                           {-2, -1, 0, 1, 2}));
  rows.push_back(trace_row("serial step",
                           [](const Put& put) {
                             for (auto i : T::serial(1, 11, 4)) put(i);
                           },
                           {1, 5, 9}));
  rows.push_back(trace_row("serial negative step",
                           [](const Put& put) {
                             for (auto i : T::serial(10, 0, -3)) put(i);
                           },
                           {10, 7, 4, 1}));
  rows.push_back(trace_row("serial negative step exact",
                           [](const Put& put) {
                             for (auto i : T::serial(6, 0, -3)) put(i);
                           },
                           {6, 3}));
  rows.push_back(trace_row("serial empty",
                           [](const Put& put) {
                             for (auto i : T::serial(5, 5)) put(i);
                             for (auto i : T::serial(5, 2)) put(i);
                             for (auto i : T::serial(2, 5, -1)) put(i);
                             put(77);
                           },
                           {77}));
  rows.push_back(trace_row("unroll",
                           [](const Put& put) {
                             for (auto i : T::unroll(1, 8, 3)) put(i * 2);
                           },
                           {2, 8, 14}));
  rows.push_back(trace_row("unroll with options",
                           [](const Put& put) {
                             for (auto i : T::unroll(7, {.factor = 3})) put(i);
                             for (auto i : T::unroll(9, 0, -4, {.explicit_ = true})) put(i);
                             for (auto i : T::unroll(0, {.factor = 100000})) put(i);
                           },
                           {0, 1, 2, 3, 4, 5, 6, 9, 5, 1}));
  rows.push_back(trace_row("vectorized is serial",
                           [](const Put& put) {
                             auto sum = T::alloc_var(T::i32, 1);
                             for (auto i : T::vectorized(5)) {
                               sum = sum * 2 + i;
                               put(sum);
                             }
                             for (auto i : T::vectorized(3, 6)) {
                               T::if_(i == 4, [] { T::loop_continue(); });
                               put(i);
                             }
                             for (auto i : T::vectorized(4, 2)) put(i);
                           },
                           {2, 5, 12, 27, 58, 3, 5}));
  rows.push_back(trace_row("grid",
                           [](const Put& put) {
                             for (auto [i, j, k] : T::grid(2, 1, 3)) put(i * 100 + j * 10 + k);
                             for (auto [i, j] : T::grid(3, 0)) put(i + j);
                             for (auto i : T::grid(2)) put(70 + i);
                           },
                           {0, 1, 2, 100, 101, 102, 70, 71}));
  rows.push_back(trace_row("break in a grid leaves the innermost loop",
                           [](const Put& put) {
                             for (auto [i, j] : T::grid(3, 4)) {
                               T::if_(j == i, [] { T::loop_break(); });
                               T::if_(j == 1, [] { T::loop_continue(); });
                               put(i * 10 + j);
                             }
                           },
                           {10, 20}));
  rows.push_back(trace_row(
      "Pipelined by hand",
      [](const Put& put) {
        auto x = T::alloc_var(T::i32, 0);
        for (auto k : T::Pipelined(
                 3,
                 {.num_stages = 2, .order = {2, 0, 1}, .stage = {1, 0, 1}, .sync = {{0, 2}}, .group = {{0}, {1, 2}}})) {
          x = x * 2 + k;
          put(x);
        }
      },
      {0, 1, 4}));
  rows.push_back(trace_row("break and continue in Pipelined and unroll",
                           [](const Put& put) {
                             for (auto i : T::Pipelined(9, {.num_stages = 3})) {
                               T::if_(i == 1, [] { T::loop_continue(); });
                               T::if_(i == 4, [] { T::loop_break(); });
                               put(i);
                             }
                             for (auto i : T::unroll(9, {.factor = 4})) {
                               T::if_(i == 1, [] { T::loop_continue(); });
                               T::if_(i == 6, [] { T::loop_break(); });
                               put(i);
                             }
                           },
                           {0, 2, 3, 0, 2, 3, 4, 5}));
  rows.push_back(trace_row("steps",
                           [](const Put& put) {
                             for (auto i : T::serial(5, -6, -int64_t(1) << 31)) put(i);
                             for (auto i : T::serial(-7, 8, int64_t(1) << 31)) put(i);
                             for (auto i : T::serial(-4, 5, 3)) {
                               for (auto j : T::serial(i, -i, -2)) put(i * 10 + j);
                             }
                           },
                           {5, -7, 20 + 2, 20 + 0}));
  rows.push_back(trace_row("Pipelined start stop",
                           [](const Put& put) {
                             for (auto i : T::Pipelined(2, 5, {.num_stages = 2})) put(i);
                           },
                           {2, 3, 4}));
  rows.push_back(trace_row("nested",
                           [](const Put& put) {
                             for (auto i : T::serial(3)) {
                               for (auto j : T::serial(i, 3)) put(i * 10 + j);
                             }
                           },
                           {0, 1, 2, 11, 12, 22}));
  rows.push_back(trace_row("break and continue",
                           [](const Put& put) {
                             for (auto i : T::serial(10)) {
                               T::if_(i % 2 == 1, [] { T::loop_continue(); });
                               T::if_(i > 6, [] { T::loop_break(); });
                               put(i);
                             }
                             put(-1);
                           },
                           {0, 2, 4, 6, -1}));
  rows.push_back(trace_row("break leaves the inner loop",
                           [](const Put& put) {
                             for (auto i : T::serial(3)) {
                               for (auto j : T::serial(5)) {
                                 T::if_(j == i, [] { T::loop_break(); });
                                 put(i * 10 + j);
                               }
                               put(100 + i);
                             }
                           },
                           {100, 10, 101, 20, 21, 102}));
  rows.push_back(trace_row("if else",
                           [](const Put& put) {
                             for (auto i : T::serial(4)) {
                               T::if_(i % 2 == 0, [&] { put(i); }).else_([&] {
                                 T::if_(i == 3, [&] { put(33); }).else_([&] { put(-i); });
                               });
                             }
                           },
                           {0, -1, 2, 33}));
  rows.push_back(trace_row("while",
                           [](const Put& put) {
                             auto x = T::alloc_var(T::i32, 100);
                             T::while_(x > 5, [&] {
                               put(x);
                               x = x / 3;
                             });
                             put(x);
                           },
                           {100, 33, 11, 3}));
  rows.push_back(trace_row("while with break",
                           [](const Put& put) {
                             auto x = T::alloc_var(T::i64, 1);
                             T::while_(x < 1000, [&] {
                               x *= 2;
                               T::if_(x == 8, [] { T::loop_continue(); });
                               T::if_(x > 32, [] { T::loop_break(); });
                               put(x);
                             });
                             put(x);
                           },
                           {2, 4, 16, 32, 64}));
  rows.push_back(trace_row("var without start value",
                           [](const Put& put) {
                             auto x = T::alloc_var(T::i32);
                             x = 4;
                             x += 3;
                             x -= 1;
                             put(x);
                             auto y = T::alloc_var(T::i32, x);
                             y = x;
                             x = 0;
                             put(y);
                             put(x);
                           },
                           {6, 6, 0}));
}

// Sums blocks of 8 over a pipelined loop; the sum is exact, so that stages cannot matter.
Row stages_row(int num_stages, int64_t steps) {
  HostArray A(T::f32, {steps, 8}), B(T::f16, {steps, 8});
  A.fill_random(31, -100, 100);
  B.fill_random(32, -100, 100);
  for (int64_t i = 0; i < A.size(); ++i) {
    A.set(i, std::round(A.get(i)));
    B.set(i, std::round(B.get(i)));
  }
  return tensor_row(
      fmt::format("Pipelined num_stages {} steps {}", num_stages, steps), {A, B, HostArray(T::f32, {8})},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto a = T::alloc_shared({1, 8}, T::f32);
        auto b = T::alloc_shared({1, 8}, T::f16);
        auto sum = T::alloc_fragment({8}, T::f32);
        T::clear(sum);
        for (auto k : T::Pipelined(steps, {.num_stages = num_stages})) {
          T::copy(t[0](k, 0), a);
          T::copy(t[1](k, 0), b);
          for (auto i : T::Parallel(8)) sum(i) = sum(i) + a(0, i) + T::cast(b(0, i), T::f32) * T::cast(k, T::f32);
        }
        T::copy(sum, t[2]);
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 8; ++i) {
          Real sum = 0;
          for (int64_t k = 0; k < steps; ++k)
            sum += array(before, 0).at({k, i}) + array(before, 1).at({k, i}) * static_cast<Real>(k);
          after[2].set(i, sum);
        }
      });
}

void add_values(std::vector<Row>& rows) {
  rows.push_back(tensor_row(
      "let against reading again", {HostArray(T::i32, {4}).fill_with({3, 4, 5, 6})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto kept = T::let(t[0](0) + 1);
        const T::Expr again = t[0](0) + 1;
        t[0](0) = 50;
        t[0](1) = kept;
        t[0](2) = again;
      },
      [](const Args&, std::vector<Expected>& after) {
        after[0].set(0, 50);
        after[0].set(1, 4);
        after[0].set(2, 51);
      }));
  rows.push_back(tensor_row(
      "assignments on elements", {HostArray(T::f32, {4}).fill_with({8})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        t[0](0) += 2;
        t[0](1) -= 2;
        t[0](2) *= 2;
        t[0](3) /= 2;
      },
      [](const Args&, std::vector<Expected>& after) {
        const Real want[] = {10, 6, 16, 4};
        for (int64_t i = 0; i < 4; ++i) after[0].set(i, want[i]);
      }));
  rows.push_back(tensor_row(
      "guarded read and gather",
      {HostArray(T::i32, {6}).fill_with({5, -1, 2, 6, 0, 100}), HostArray(T::f32, {6}).fill_with({1, 2, 3, 4, 5, 6}),
       HostArray(T::f32, {6}), HostArray(T::f32, {6}), HostArray(T::f32, {6})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        for (auto i : T::Parallel(6)) {
          auto from = T::let(t[0](i));
          t[2](i) = t[1](from);
          t[3](i) = T::if_then_else(from >= 0 && from < 6, t[1](from), -9);
        }
        for (auto i : T::serial(6)) t[4](t[0](i)) = t[1](i);
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 6; ++i) {
          const auto from = static_cast<int64_t>(array(before, 0).get(i));
          const bool inside = from >= 0 && from < 6;
          after[2].set(i, inside ? array(before, 1).get(from) : Real(0));
          after[3].set(i, inside ? array(before, 1).get(from) : Real(-9));
          if (inside) after[4].set(from, array(before, 1).get(i));
        }
      }));
  rows.push_back(tensor_row(
      "Parallel of three and of no iterations", {HostArray(T::i32, {2, 3, 5})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1}, {.threads = 7});
        for (auto [i, j, k] : T::Parallel(2, 3, 5)) t[0](i, j, k) = i * 100 + j * 10 + k;
        for (auto [i, j] : T::Parallel(2, 0)) t[0](i, j, 0) = 5;
      },
      [](const Args&, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 30; ++i) after[0].set(i, static_cast<Real>(i / 15 * 100 + i / 5 % 3 * 10 + i % 5));
      }));
  rows.push_back(tensor_row(
      "local array", {HostArray(T::i32, {8})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1}, {.threads = 1});
        auto l = T::alloc_local({8}, T::i32);
        for (auto i : T::serial(8)) l(i) = i * i;
        for (auto i : T::serial(8)) t[0](i) = l(7 - i);
      },
      [](const Args&, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 8; ++i) after[0].set(i, static_cast<Real>((7 - i) * (7 - i)));
      }));
  rows.push_back(tensor_row(
      "grid of three dimensions and an empty one", {HostArray(T::i32, {3, 2, 4})},
      [](const Tiles& t) {
        {
          auto [x, y, z] = T::Kernel({4, 2, 3});
          t[0](z, y, x) = z * 100 + y * 10 + x;
        }
        {
          auto [x] = T::Kernel({0});
          t[0](0, 0, x) = -1;
        }
      },
      [](const Args&, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 24; ++i) after[0].set(i, static_cast<Real>(i / 8 * 100 + i / 4 % 2 * 10 + i % 4));
      }));
}

constexpr DType kScalarTypes[] = {T::i32, T::i64, T::u8, T::i16, T::f32, T::f64, T::f16};

Row scalars_row() {
  constexpr size_t kCount = std::size(kScalarTypes);
  Row row{.name = "scalars",
          .declare = {},
          .launches = {},
          .reference = [](const Args& before, std::vector<Expected>& after) {
            for (size_t k = 0; k < kCount; ++k) {
              const bool integer = std::holds_alternative<int64_t>(before[1 + k]);
              const Real given = integer ? static_cast<Real>(std::get<int64_t>(before[1 + k]))
                                         : static_cast<Real>(std::get<double>(before[1 + k]));
              after[0].set(static_cast<int64_t>(k),
                           cast_real(is_float(kScalarTypes[k]) ? round_real(kScalarTypes[k], given) : given,
                                     kScalarTypes[k], T::f64));
            }
          }};
  row.declare = [](const std::string& prefix) -> Kernels {
    auto out = T::tensor(prefix + "out", {static_cast<int64_t>(kCount)}, T::f64);
    std::vector<T::Expr> scalars;
    for (size_t k = 0; k < kCount; ++k) scalars.push_back(T::scalar(fmt::format("{}s{}", prefix, k), kScalarTypes[k]));
    return [=] {
      auto blocks = T::Kernel({1});
      for (size_t k = 0; k < kCount; ++k) out(k) = T::cast(scalars[k], T::f64);
    };
  };
  const HostArray out(T::f64, {static_cast<int64_t>(kCount)});
  row.launches.push_back({out, int64_t(-5), int64_t(1) << 40, int64_t(200), int64_t(-300), 0.1, 0.1, 0.1});
  row.launches.push_back({out, int64_t(0), int64_t(-1), int64_t(0), int64_t(32767), -0.5, 1e300, 65504.0});
  return row;
}

Row raster_row(int panel_size, T::Order order) {
  Row row{.name = fmt::format("use_swizzle {} {}", panel_size, order == T::row ? "row" : "col"),
          .declare = {},
          .launches = {},
          .reference = [](const Args&, std::vector<Expected>& after) {
            for (size_t i = 0; i < after[0].value.size(); ++i)
              after[0].set(static_cast<int64_t>(i), static_cast<Real>(i + 1));
          }};
  row.declare = [=](const std::string& prefix) -> Kernels {
    auto gx = T::dynamic(prefix + "gx"), gy = T::dynamic(prefix + "gy");
    auto visits = T::tensor(prefix + "visits", {gy, gx}, T::i32);
    return [=] {
      auto [x, y] = T::Kernel({gx, gy});
      T::use_swizzle(panel_size, {.order = order});
      visits(y, x) = visits(y, x) + y * gx + x + 1;
    };
  };
  for (int64_t y = 1; y <= 9; ++y) {
    for (int64_t x = 1; x <= 9; ++x) row.launches.push_back({HostArray(T::i32, {y, x})});
  }
  for (const auto& shape : std::vector<std::vector<int64_t>>{{0, 5}, {5, 0}, {33, 17}, {1, 100}, {100, 1}, {31, 64}}) {
    row.launches.push_back({HostArray(T::i32, shape)});
  }
  return row;
}

Reference scaled_reference(double scale) {
  return [scale](const Args& before, std::vector<Expected>& after) {
    for (int64_t i = 0; i < array(before, 0).size(); ++i) {
      after[1].set(i, round_real(T::f32, array(before, 0).get(i) * static_cast<Real>(scale)));
    }
  };
}

std::vector<Args> square_launches() {
  std::vector<Args> launches;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{0, 5}, {1, 1}, {127, 33}, {129, 64}, {16, 0}, {32, 48}}) {
    launches.push_back({HostArray(T::f32, shape).fill_random(41, -9, 9), HostArray(T::f32, shape)});
  }
  return launches;
}

Row dynamic_copy_row() {
  Row row{.name = "dynamic extents, copies",
          .declare = {},
          .launches = square_launches(),
          .reference = scaled_reference(2)};
  row.declare = [](const std::string& prefix) -> Kernels {
    auto m = T::dynamic(prefix + "m"), n = T::dynamic(prefix + "n");
    auto A = T::tensor(prefix + "A", {m, n}, T::f32), B = T::tensor(prefix + "B", {m, n}, T::f32);
    return [=] {
      auto [bx, by] = T::Kernel({T::ceildiv(n, 48), T::ceildiv(m, 32)});
      auto f = T::alloc_fragment({32, 48}, T::f32);
      T::copy(A(by * 32, bx * 48), f);
      for (auto [i, j] : T::Parallel(32, 48)) f(i, j) *= 2;
      T::copy(f, B(by * 32, bx * 48));
    };
  };
  return row;
}

Row dynamic_loop_row() {
  Row row{.name = "dynamic extents, elements",
          .declare = {},
          .launches = square_launches(),
          .reference = scaled_reference(3)};
  row.declare = [](const std::string& prefix) -> Kernels {
    auto m = T::dynamic(prefix + "m"), n = T::dynamic(prefix + "n");
    auto A = T::tensor(prefix + "A", {m, n}, T::f32), B = T::tensor(prefix + "B", {m, n}, T::f32);
    return [=] {
      auto [b] = T::Kernel({m});
      for (auto j : T::Parallel(n)) B(b, j) = A(b, j) * 3;
    };
  };
  return row;
}

// One compiled product for every m and k.
Row dynamic_gemm_row() {
  constexpr int64_t kN = 20;
  Row row{.name = "dynamic extents, gemm",
          .declare = {},
          .launches = {},
          .reference = [](const Args& before, std::vector<Expected>& after) {
            const int64_t m = array(before, 0).shape()[0], k = array(before, 0).shape()[1];
            for (int64_t i = 0; i < m; ++i) {
              for (int64_t j = 0; j < kN; ++j) {
                Real sum = 0, magnitudes = 0;
                for (int64_t p = 0; p < k; ++p) {
                  const Real term = array(before, 0).at({i, p}) * array(before, 1).at({p, j});
                  sum += term;
                  magnitudes += std::fabs(term);
                }
                after[2].set(i * kN + j, sum,
                             static_cast<Real>(k + 2) * unit_of(T::f32) * magnitudes + subnormal_of(T::f32) / 2);
              }
            }
          }};
  row.declare = [](const std::string& prefix) -> Kernels {
    auto m = T::dynamic(prefix + "m"), k = T::dynamic(prefix + "k");
    auto A = T::tensor(prefix + "A", {m, k}, T::f16), B = T::tensor(prefix + "B", {k, kN}, T::f16),
         C = T::tensor(prefix + "C", {m, kN}, T::f32);
    return [=] {
      auto [by] = T::Kernel({T::ceildiv(m, 32)});
      auto a = T::alloc_shared({32, 16}, T::f16);
      auto b = T::alloc_shared({16, kN}, T::f16);
      auto c = T::alloc_fragment({32, kN}, T::f32);
      T::clear(c);
      for (auto ko : T::Pipelined(T::ceildiv(k, 16), {.num_stages = 2})) {
        T::copy(A(by * 32, ko * 16), a);
        T::copy(B(ko * 16, 0), b);
        T::gemm(a, b, c);
      }
      T::copy(c, C(by * 32, 0));
    };
  };
  for (const auto& [m, k] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 7}, {1, 1}, {127, 40}, {129, 16}, {5, 0}, {64, 33}}) {
    row.launches.push_back({HostArray(T::f16, {m, k}).fill_random(51, -1, 1),
                            HostArray(T::f16, {k, kN}).fill_random(52, -1, 1),
                            HostArray(T::f32, {m, kN}).fill_with({9})});
  }
  return row;
}

}  // namespace

std::vector<Row> raster_rows() {
  std::vector<Row> rows;
  for (const int panel_size : {1, 2, 3, 4, 8, 10}) {
    for (const T::Order order : {T::row, T::col}) rows.push_back(raster_row(panel_size, order));
  }
  return rows;
}

std::vector<Row> control_rows() {
  std::vector<Row> rows;
  add_loops(rows);
  add_values(rows);
  for (const int num_stages : {0, 1, 2, 3, 4}) {
    for (const int64_t steps : {0, 1, 2, 5}) rows.push_back(stages_row(num_stages, steps));
  }
  rows.push_back(scalars_row());
  return rows;
}

std::vector<Row> dynamic_rows() { return {dynamic_copy_row(), dynamic_loop_row(), dynamic_gemm_row()}; }

}  // namespace tilewright::tests
