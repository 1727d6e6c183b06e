#include <tilewright/profile.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace tilewright {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

double Profile::quantile_ms(double q) const {
  if (samples_ms.empty()) return 0;
  std::vector<double> sorted = samples_ms;
  std::sort(sorted.begin(), sorted.end());
  const double at = std::clamp(q, 0.0, 1.0) * double(sorted.size() - 1);
  const auto low = size_t(std::floor(at));
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - double(low));
}

Profile profile(const std::function<void()>& function, const ProfileOptions& options) {
  const auto time_ms = [&] {
    const Clock::time_point start = Clock::now();
    function();
    return milliseconds_since(start);
  };
  return profile_timed(time_ms, options);
}

Profile profile_timed(const std::function<double()>& time_ms, const ProfileOptions& options) {
  for (int i = 0; i < options.warmup; ++i) time_ms();
  Profile result;
  const Clock::time_point begin = Clock::now();
  while (true) {
    result.samples_ms.push_back(time_ms());
    const double seconds = milliseconds_since(begin) / 1000;
    const bool enough = int(result.samples_ms.size()) >= options.min_repeats && seconds >= options.min_seconds;
    if (enough || seconds >= options.max_seconds) break;
  }
  const auto [low, high] = std::minmax_element(result.samples_ms.begin(), result.samples_ms.end());
  result.min_ms = *low;
  result.max_ms = *high;
  result.mean_ms =
      std::accumulate(result.samples_ms.begin(), result.samples_ms.end(), 0.0) / double(result.samples_ms.size());
  result.median_ms = result.quantile_ms(0.5);
  result.p10_ms = result.quantile_ms(0.1);
  result.p90_ms = result.quantile_ms(0.9);
  return result;
}

}  // namespace tilewright
