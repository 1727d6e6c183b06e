// Timing of launches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tilewright {

struct ProfileOptions {
  int warmup = 3;            // launches before timing
  int min_repeats = 5;       // timed launches at least
  double min_seconds = 0.1;  // and at least this long altogether
  double max_seconds = 5;    // stop early past this
};

// Times of single launches, in milliseconds.
struct Profile {
  double median_ms = 0, mean_ms = 0, min_ms = 0, max_ms = 0;
  double p10_ms = 0, p90_ms = 0;
  std::vector<double> samples_ms;

  // The q-quantile (0 to 1) of the samples, linearly interpolated.
  double quantile_ms(double q) const;
};

// Times any function the same way.
Profile profile(const std::function<void()>& function, const ProfileOptions& options = {});
// The same for a function that runs something and says how many milliseconds that took.
Profile profile_timed(const std::function<double()>& time_ms, const ProfileOptions& options = {});

}  // namespace tilewright
