// The product of clusters is right, without a report, under all schedules; what is planted into it is in
// mutation_test.cc.
#include "gpu/number_formats.h"
#include "mutation/cluster_product.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tilewright::mutation {
namespace {

std::vector<double> decoded(const std::string& bytes) {
  std::vector<double> out;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + i, 2);
    out.push_back(test::decode(test::kF16, bits));
  }
  return out;
}

TEST(ClusterProduct, IsRightUnderAllSchedules) {
  const Subject subject = cluster_product();
  const auto module = subject.compile({});
  for (const std::string order : {"fair", "greedy", "reverse", "random+seed=1", "random+seed=2", "random+seed=3"}) {
    for (const std::string time : {"late", "early", "anytime"}) {
      const Outcome outcome = subject.run(*module, 0, order + "+" + time);
      ASSERT_EQ(outcome.report, "") << order << " " << time << ": " << outcome.text;
      const std::vector<double> a = decoded(outcome.results[0]), b = decoded(outcome.results[1]),
                                c = decoded(outcome.results[2]);
      using P = ClusterProduct;
      for (int64_t i = 0; i < P::m; ++i) {
        for (int64_t j = 0; j < P::n; ++j) {
          double want = 0;  // at most 800, exact in f16
          for (int64_t l = 0; l < P::k; ++l) want += a[size_t(i * P::k + l)] * b[size_t(l * P::n + j)];
          ASSERT_EQ(c[size_t(i * P::n + j)], want) << order << " " << time << " " << i << " " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::mutation
