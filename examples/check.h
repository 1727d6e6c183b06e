// What the examples share: random numbers and the verdict.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace examples {

inline constexpr double kUnit = 0x1p-24;  // the relative error of one rounding to f32

inline std::vector<float> random_floats(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = normal(random);
  return values;
}

// The largest error of a result, in itself and as a part of what rounding explains.
class Check {
 public:
  explicit Check(std::string target) : target_(std::move(target)) {}

  // A NaN is within no bound; half the smallest number of f32 is within each one but 0.
  void add(double got, double want, double bound = 0) {
    const double error = std::abs(got - want);
    const double part = bound > 0    ? error / (bound + 0x1p-150)
                        : error == 0 ? 0
                                     : std::numeric_limits<double>::infinity();
    error_ = std::isnan(error) ? error : std::max(error_, error);
    part_ = std::isnan(part) ? std::numeric_limits<double>::infinity() : std::max(part_, part);
  }
  bool ok() const { return part_ <= 1; }
  void print(const std::string& name, const std::string& shape) const {
    std::printf("%s %s on %s: max error %.3g, %.3f of the bound: %s\n", name.c_str(), shape.c_str(), target_.c_str(),
                error_, part_, ok() ? "ok" : "WRONG");
  }

 private:
  std::string target_;
  double error_ = 0, part_ = 0;
};

}  // namespace examples
