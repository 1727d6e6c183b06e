// What blocks and kernels of one program do together: persistent blocks, workspaces between kernels.
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;

Row persistent_row(std::vector<int64_t> domain, int64_t waves_of, int group_size) {
  const auto rank = static_cast<int64_t>(domain.size());
  int64_t points = 1;
  for (int64_t e : domain) points *= e;
  // visits[block, w, d] of the w-th point of a block: its coordinates plus 1.
  const int64_t most = points + 1;
  HostArray visits(T::i32, {waves_of, most, rank}), counts(T::i32, {waves_of});
  return tensor_row(
      fmt::format("Persistent ({}) wave {} group {}", fmt::join(domain, ", "), waves_of, group_size), {visits, counts},
      [=](const Tiles& t) {
        auto [b] = T::Kernel({waves_of});
        auto at = T::alloc_var(T::i32, 0);
        const auto put = [&](const std::vector<T::Expr>& point) {
          for (size_t d = 0; d < point.size(); ++d) t[0](b, at, d) = point[d] + 1;
          at += 1;
        };
        const T::PersistentOptions options{.group_size = group_size};
        if (rank == 1) {
          for (auto i : T::Persistent({domain[0]}, waves_of, b, options)) put({i});
        } else if (rank == 2) {
          for (auto [i, j] : T::Persistent({domain[0], domain[1]}, waves_of, b, options)) put({i, j});
        } else {
          for (auto [i, j, k] : T::Persistent({domain[0], domain[1], domain[2]}, waves_of, b, options)) put({i, j, k});
        }
        t[1](b) = at;
      },
      [=](const Args&, std::vector<Expected>& after) {
        // The loops that the order (last / g, other dimensions, last % g) is short for.
        const int64_t last = domain.back(), g = std::max<int64_t>(1, std::min<int64_t>(group_size, last));
        int64_t number = 0;
        std::vector<int64_t> count(static_cast<size_t>(waves_of), 0);
        const std::function<void(std::vector<int64_t>, int64_t)> walk = [&](std::vector<int64_t> point, int64_t outer) {
          if (static_cast<int64_t>(point.size()) + 1 < rank) {
            point.push_back(0);
            for (int64_t i = 0; i < domain[point.size() - 1]; ++i) {
              point.back() = i;
              walk(point, outer);
            }
            return;
          }
          point.push_back(0);
          for (int64_t r = 0; r < g; ++r, ++number) {
            point.back() = outer * g + r;
            if (point.back() >= last) continue;
            const auto block = number % waves_of;
            int64_t& nth = count[static_cast<size_t>(block)];
            for (int64_t d = 0; d < rank; ++d)
              after[0].set((block * most + nth) * rank + d, static_cast<Real>(point[static_cast<size_t>(d)] + 1));
            ++nth;
          }
        };
        for (int64_t outer = 0; outer * g < last; ++outer) walk({}, outer);
        for (int64_t b = 0; b < waves_of; ++b) after[1].set(b, static_cast<Real>(count[static_cast<size_t>(b)]));
      });
}

// The number of blocks, the domain and the index are known at launch; each point must be visited once.
Row dynamic_persistent_row() {
  Row row{.name = "Persistent at launch",
          .declare = {},
          .launches = {},
          .reference = [](const Args& before, std::vector<Expected>& after) {
            const auto wave = std::get<int64_t>(before[1]);
            for (int64_t i = 0; i < array(before, 0).size() && wave >= 1; ++i)
              after[0].set(i, static_cast<Real>(i + 1));
          }};
  row.declare = [](const std::string& prefix) -> Kernels {
    auto m = T::dynamic(prefix + "m"), n = T::dynamic(prefix + "n");
    auto visits = T::tensor(prefix + "visits", {m, n}, T::i32);
    auto wave = T::scalar(prefix + "wave", T::i64);
    return [=] {
      auto [b] = T::Kernel({T::max(wave, 3)});
      for (auto [y, x] : T::Persistent({m, n}, wave, b, {.group_size = 3})) visits(y, x) += y * n + x + 1;
    };
  };
  for (const auto& [m, n, wave] : std::vector<std::array<int64_t, 3>>{
           {4, 7, 5}, {1, 1, 1}, {0, 3, 2}, {3, 0, 2}, {5, 2, 100}, {9, 9, 1}, {2, 3, 0}, {2, 3, -4}}) {
    row.launches.push_back({HostArray(T::i32, {m, n}), wave});
  }
  return row;
}

// A product whose K is split over blocks, and a second kernel that adds the parts; all extents are known at launch.
Row split_k_row() {
  Row row{.name = "split K through a workspace",
          .declare = {},
          .launches = {},
          .reference = [](const Args& before, std::vector<Expected>& after) {
            const int64_t m = array(before, 0).shape()[0], k = array(before, 0).shape()[1],
                          n = array(before, 1).shape()[1];
            for (int64_t i = 0; i < m; ++i) {
              for (int64_t j = 0; j < n; ++j) {
                Real sum = 0;
                for (int64_t p = 0; p < k; ++p) sum += array(before, 0).at({i, p}) * array(before, 1).at({p, j});
                after[2].set(i * n + j, sum);
              }
            }
          }};
  row.declare = [](const std::string& prefix) -> Kernels {
    constexpr int64_t kM = 16, kN = 24, kK = 8;
    auto m = T::dynamic(prefix + "m"), n = T::dynamic(prefix + "n"), k = T::dynamic(prefix + "k");
    auto A = T::tensor(prefix + "A", {m, k}, T::f32), B = T::tensor(prefix + "B", {k, n}, T::f32),
         C = T::tensor(prefix + "C", {m, n}, T::f32);
    const T::Expr splits = T::ceildiv(k, kK);
    auto parts = T::alloc_global({splits, m, n}, T::f32);
    return [=] {
      {
        auto [bx, by, bz] = T::Kernel({T::ceildiv(n, kN), T::ceildiv(m, kM), splits});
        auto a = T::alloc_shared({kM, kK}, T::f32);
        auto b = T::alloc_shared({kK, kN}, T::f32);
        auto c = T::alloc_fragment({kM, kN}, T::f32);
        T::clear(c);
        T::copy(A(by * kM, bz * kK), a);
        T::copy(B(bz * kK, bx * kN), b);
        T::gemm(a, b, c);
        T::copy(c, parts(bz, by * kM, bx * kN));
      }
      {
        auto [bx, by] = T::Kernel({T::ceildiv(n, kN), T::ceildiv(m, kM)});
        auto part = T::alloc_fragment({kM, kN}, T::f32);
        auto sum = T::alloc_fragment({kM, kN}, T::f32);
        T::clear(sum);
        for (auto s : T::serial(splits)) {
          T::copy(parts(s, by * kM, bx * kN), part);
          for (auto [i, j] : T::Parallel({kM, kN}, {.coalesced_width = 4})) sum(i, j) += part(i, j);
        }
        T::copy(sum, C(by * kM, bx * kN));
      }
    };
  };
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {17, 25, 9}, {16, 24, 32}, {5, 3, 0}, {0, 4, 7}, {33, 50, 23}}) {
    HostArray a(T::f32, {m, k}), b(T::f32, {k, n});
    for (int64_t i = 0; i < a.size(); ++i) a.set(i, static_cast<Real>(i % 17 - 8));
    for (int64_t i = 0; i < b.size(); ++i) b.set(i, static_cast<Real>(i % 13 - 6));
    row.launches.push_back({a, b, HostArray(T::f32, {m, n}).fill_with({9})});
  }
  return row;
}

Row workspace_row() {
  HostArray A(T::f32, {40, 9}), out(T::f32, {9});
  for (int64_t i = 0; i < A.size(); ++i) A.set(i, static_cast<Real>(i % 31 - 11));
  Row row = tensor_row("workspace between kernels", {A, out}, {}, [](const Args& before, std::vector<Expected>& after) {
    for (int64_t j = 0; j < 9; ++j) {
      Real sum = 0;
      for (int64_t i = 0; i < 40; ++i) sum += array(before, 0).at({i, j});
      after[1].set(j, sum);
    }
  });
  row.declare = [=](const std::string& prefix) -> Kernels {
    const Tiles t = {declare_tensor(prefix + "A", A), declare_tensor(prefix + "out", out),
                     T::alloc_global({4, 9}, T::f32)};
    return [t] {
      {
        auto [b] = T::Kernel({4});
        auto part = T::alloc_fragment({10, 9}, T::f32);
        auto sum = T::alloc_fragment({9}, T::f32);
        T::copy(t[0](b * 10, 0), part);
        T::reduce_sum(part, sum, {.dim = 0});
        T::copy(sum, t[2](b, 0));
      }
      {
        auto blocks = T::Kernel({1});
        auto part = T::alloc_fragment({4, 9}, T::f32);
        auto sum = T::alloc_fragment({9}, T::f32);
        T::copy(t[2], part);
        T::reduce_sum(part, sum, {.dim = 0});
        T::copy(sum, t[1]);
      }
    };
  };
  return row;
}

}  // namespace

std::vector<Row> block_rows() {
  std::vector<Row> rows;
  for (const std::vector<int64_t>& domain :
       {std::vector<int64_t>{10}, {3, 7}, {7, 3}, {1, 9}, {4, 16}, {2, 3, 5}, {3, 2, 9}, {0, 4}, {4, 0}}) {
    for (const auto& [waves_of, group_size] : {std::pair(1, 8), std::pair(3, 2), std::pair(4, 8), std::pair(50, 1)})
      rows.push_back(persistent_row(domain, waves_of, group_size));
  }
  rows.push_back(dynamic_persistent_row());
  rows.push_back(split_k_row());
  rows.push_back(workspace_row());
  return rows;
}

}  // namespace tilewright::tests
