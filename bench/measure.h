// What benchmarks share: a check that the machine is quiet, alternating measurement of two sides, one row per result.
#pragma once

#include <tilewright/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench {

// Says what was refused; gives the exit status of it.
inline int report(const tilewright::Error& e) {
  fmt::print(stderr, "{}\n", e.what());
  return e.kind() == tilewright::ErrorKind::toolchain ? 3 : 2;
}

// Busy and total clock ticks of all cores since boot, and those of this process.
struct Ticks {
  double busy = 0, total = 0, own = 0;
};

inline Ticks read_ticks() {
  Ticks t;
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  for (int i = 0; i < 8; ++i) {
    double v = 0;
    stat >> v;
    t.total += v;
    if (i != 3 && i != 4) t.busy += v;  // not idle, not waiting for a disk
  }
  std::ifstream self("/proc/self/stat");
  std::string line;
  std::getline(self, line);
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 2)));
  for (int i = 0; i < 13 && fields >> word; ++i) {
    if (i >= 11) t.own += std::atof(word.c_str());  // utime, stime
  }
  return t;
}

// Share of the machine's cores that others used over the last `seconds`, 0 to 1.
inline double foreign_load(double seconds) {
  const Ticks before = read_ticks();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const Ticks after = read_ticks();
  const double total = after.total - before.total;
  return total > 0 ? std::max(0.0, (after.busy - before.busy) - (after.own - before.own)) / total : 0;
}

// Ends the program with status 2 where others use more than a tenth of the machine: the figures would mean nothing.
inline void refuse_under_load(bool force) {
  const double load = foreign_load(0.5);
  if (load <= 0.1 || force) return;
  fmt::print(stderr,
             "bench: other processes use {:.0f} % of this machine; try again when it is quiet, or pass --force\n",
             100 * load);
  std::exit(2);
}

// What every benchmark takes.
struct Flags {
  bool json = false, force = false;
};

// Nothing for an argument that is no flag, after a line of usage.
inline std::optional<Flags> parse_flags(int argc, char** argv, const char* name) {
  Flags out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg != "--json" && arg != "--force") {
      fmt::print(stderr, "usage: {} [--json] [--force]\n", name);
      return std::nullopt;
    }
    (arg == "--json" ? out.json : out.force) = true;
  }
  return out;
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t n = v.size();
  return n == 0 ? 0 : n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

// Times single calls for about `seconds`, at least three of them.
inline void sample_ms(const std::function<void()>& f, double seconds, std::vector<double>& out) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int i = 0; i < 3 || std::chrono::duration<double>(Clock::now() - begin).count() < seconds; ++i) {
    const auto start = Clock::now();
    f();
    out.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
}

inline double measure_ms(const std::function<void()>& f, double seconds) {
  std::vector<double> samples;
  f();
  sample_ms(f, seconds, samples);
  return median(samples);
}

struct Pair {
  double ours_ms = 0;
  double peer_ms = 0;
};

// Medians of single calls. Both sides take turns, so that a slow phase of the machine hits both; `hand_over` runs
// before each turn of the peer and waits until our threads sleep, and the peer's threads get 30 ms to fall asleep.
inline Pair measure_alternating(const std::function<void()>& ours, const std::function<void()>& peer,
                                const std::function<void()>& hand_over, int rounds, double seconds_a_turn) {
  std::vector<double> our_samples, peer_samples;
  ours();
  hand_over();
  peer();
  for (int r = 0; r < rounds; ++r) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ours();
    sample_ms(ours, seconds_a_turn, our_samples);
    hand_over();
    peer();
    sample_ms(peer, seconds_a_turn, peer_samples);
  }
  return {.ours_ms = median(our_samples), .peer_ms = median(peer_samples)};
}

inline std::string device_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "cpu";
}

// One result. `ratio` above 1 means that ours is better, for times too.
struct Row {
  std::string name, shape, dtype, tile, peer_name, unit;
  int threads = 1;
  double ours = 0;
  std::optional<double> peer = {};
  std::optional<double> ratio = {};
};

inline void print_row(const Row& row, bool json) {
  if (json) {
    nlohmann::ordered_json out = {{"name", row.name},       {"shape", row.shape}, {"dtype", row.dtype},
                                  {"threads", row.threads}, {"tile", row.tile},   {"device", device_name()},
                                  {"ours", row.ours},       {"peer", nullptr},    {"peer_name", nullptr},
                                  {"ratio", nullptr},       {"unit", row.unit}};
    if (row.peer) out["peer"] = *row.peer, out["peer_name"] = row.peer_name;
    if (row.ratio) out["ratio"] = *row.ratio;
    fmt::print("{}\n", out.dump());
  } else {
    fmt::print("{:<22} {:<16} {:<5} {}T  tile {:<13} {:>9.3f} {}", row.name, row.shape, row.dtype, row.threads,
               row.tile, row.ours, row.unit);
    if (row.peer) fmt::print("   {:>9.3f} {}", *row.peer, row.peer_name);
    if (row.ratio) fmt::print("   ratio {:.2f}", *row.ratio);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

}  // namespace bench
