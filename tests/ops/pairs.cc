#include "ops/pairs.h"

#include <fmt/format.h>

namespace tilewright::tests {

using Tiles = std::vector<T::Tile>;

Row pairs_row(const std::string& name, DType dtype, std::initializer_list<Real> list, std::vector<BinaryOp> ops) {
  const auto count = static_cast<int64_t>(list.size()), n = count * count;
  HostArray single(dtype, {count}), a(dtype, {n}), b(dtype, {n});
  single.fill_with(list);
  for (int64_t i = 0; i < n; ++i) {
    a.set(i, single.get(i / count));
    b.set(i, single.get(i % count));
  }
  std::vector<HostArray> arrays = {a, b};
  for (size_t k = 0; k < ops.size(); ++k) arrays.emplace_back(dtype, std::vector{n});
  return tensor_row(
      fmt::format("{} {}", name, to_string(dtype)), arrays,
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1}, {.threads = 96});
        auto x = T::alloc_fragment({n}, dtype);
        auto y = T::alloc_fragment({n}, dtype);
        auto z = T::alloc_fragment({n}, dtype);
        T::copy(t[0], x);
        T::copy(t[1], y);
        for (size_t k = 0; k < ops.size(); ++k) {
          if (k % 2 == 0) {
            for (auto i : T::Parallel(n)) z(i) = ops[k].build(x(i), y(i));
            T::copy(z, t[2 + k]);
          } else {
            for (auto i : T::Parallel(n)) t[2 + k](i) = ops[k].build(t[0](i), t[1](i));
          }
        }
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (size_t k = 0; k < ops.size(); ++k) {
          for (int64_t i = 0; i < n; ++i) {
            const Value v = ops[k].expected(array(before, 0).get(i), array(before, 1).get(i), dtype);
            after[2 + k].set(i, v.value, v.bound);
          }
        }
      });
}

}  // namespace tilewright::tests
