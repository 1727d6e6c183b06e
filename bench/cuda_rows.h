// What the benchmarks of row operations on NVIDIA GPUs share: tensors of N(0, 1), one launch against the driver's copy
// of as many bytes in the same run, and rows of the results that are compared with their definition in f64.
#pragma once

#include "device_copy.h"

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <CLI/CLI.hpp>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bench {

using namespace tilewright;

// Of the rows that are checked, from both ends.
inline int64_t checked_row(int64_t check, int64_t rows) { return check % 2 ? rows - 1 - check / 2 : check / 2; }

// Elements of a tensor on the device as the host knows them: they repeat, see normal_bytes.
class DeviceTensor {
 public:
  DeviceTensor(std::shared_ptr<const cuda::Device> device, const DeviceCopy& copy, DType dtype,
               std::vector<int64_t> shape, uint64_t seed)
      : dtype_(dtype), shape_(std::move(shape)), buffer_(std::move(device), size_t(num_elems() * bytes_of(dtype))) {
    if (num_elems() == 0) return;
    const int64_t known = std::min(num_elems(), kNormalPeriod);
    const std::vector<std::byte> bytes = normal_bytes(dtype, known, seed);
    values_.resize(size_t(known));
    for (int64_t i = 0; i < known; ++i) {
      values_[size_t(i)] = float(load_float(dtype, bytes.data() + i * bytes_of(dtype)));
    }
    buffer_.write(bytes);
    // The rest is copied from it.
    const size_t all = size_t(num_elems() * bytes_of(dtype));
    for (size_t done = bytes.size(); done < all; done += bytes.size()) {
      copy(buffer_.address() + done, buffer_.address(), std::min(bytes.size(), all - done));
    }
  }
  int64_t num_elems() const {
    int64_t n = 1;
    for (const int64_t extent : shape_) n *= extent;
    return n;
  }
  int64_t num_bytes() const { return num_elems() * bytes_of(dtype_); }
  DType dtype() const { return dtype_; }
  uint64_t address() const { return buffer_.address(); }
  double at(int64_t i) const { return values_[size_t(i % kNormalPeriod)]; }
  TensorView view() const {
    return {.data = reinterpret_cast<void*>(buffer_.address()),
            .dtype = dtype_,
            .shape = shape_,
            .device = DeviceKind::cuda};
  }

 private:
  DType dtype_;
  std::vector<int64_t> shape_;
  cuda::DeviceBuffer buffer_;
  std::vector<float> values_;
};

class RowBench {
 public:
  RowBench(bool json, int rounds) : json_(json), rounds_(rounds), device_(Session::get().gpu()), copy_(*device_) {}

  DeviceTensor tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed = 1) const {
    return DeviceTensor(device_, copy_, dtype, std::move(shape), seed);
  }

  // Times `kernel` on `tensors`, of which it reads and writes `moved_bytes`, against a copy of as many, half of them
  // read.
  void run(const std::string& name, const std::string& shape, const CompiledKernel& kernel,
           const std::vector<const DeviceTensor*>& tensors, int64_t moved_bytes) {
    std::vector<TensorView> views;
    for (const DeviceTensor* t : tensors) views.push_back(t->view());
    const Launch launch = kernel.bind_arguments({views.begin(), views.end()});
    const size_t half = size_t(moved_bytes / 2);
    if (half > peer_bytes_) {
      from_.emplace(device_, half);
      to_.emplace(device_, half);
      from_->fill(0);
      peer_bytes_ = half;
    }
    std::vector<double> ours, peer;
    launch();
    for (int round = 0; round < rounds_; ++round) {
      peer.push_back(cold_ms([&] { copy_(to_->address(), from_->address(), half); }));
      ours.push_back(cold_ms([&] { launch(); }));
    }
    const double our_rate = 1e-6 * double(moved_bytes) / median(ours);
    const double peer_rate = 1e-6 * double(2 * half) / median(peer);
    for (const Remark& remark : kernel.remarks()) fmt::print(stderr, "{}: {}\n", remark.kind, remark.text);
    print_row({.name = name,
               .shape = shape,
               .dtype = std::string(to_string(tensors[0]->dtype())),
               .tile = fmt::format("{:.4f} ms", median(ours)),
               .peer_name = "cuMemcpyDtoD",
               .unit = "GB/s",
               .threads = 1,
               .ours = our_rate,
               .peer = peer_rate,
               .ratio = our_rate / peer_rate},
              json_);
    ratios_[name].push_back(our_rate / peer_rate);
  }

  // `count` elements of a tensor from `first` on, as they are now.
  std::vector<double> read(const DeviceTensor& tensor, int64_t first, int64_t count) const {
    const int64_t size = bytes_of(tensor.dtype());
    cuda::DeviceBuffer part(device_, size_t(count * size));
    copy_(part.address(), tensor.address() + uint64_t(first * size), size_t(count * size));
    std::vector<std::byte> bytes(size_t(count * size));
    part.read(bytes);
    std::vector<double> out;
    for (int64_t i = 0; i < count; ++i) out.push_back(load_float(tensor.dtype(), bytes.data() + i * size));
    return out;
  }

  // One number of a result against what it must be.
  void judge(const std::string& name, double got, double want, double bound) {
    if (std::abs(got - want) <= bound) return;
    if (!wrong_) fmt::print(stderr, "bench: {} is wrong: {} instead of {} within {:.3g}\n", name, got, want, bound);
    wrong_ = true;
  }

  void print_summary() const {
    for (const auto& [name, ratios] : ratios_) {
      double logs = 0;
      for (const double r : ratios) logs += std::log(r);
      fmt::print(stderr, "{:<22} geometric mean {:.3f}, lowest {:.3f} of {}\n", name,
                 std::exp(logs / double(ratios.size())), *std::min_element(ratios.begin(), ratios.end()),
                 ratios.size());
    }
  }
  int status() const { return wrong_ ? 1 : 0; }

 private:
  bool json_;
  int rounds_;
  std::shared_ptr<const cuda::Device> device_;
  DeviceCopy copy_;
  std::optional<cuda::DeviceBuffer> from_, to_;
  size_t peer_bytes_ = 0;
  std::map<std::string, std::vector<double>> ratios_;
  bool wrong_ = false;
};

struct RowOptions {
  bool json = false, force = false;
  int rounds = 15;
  std::vector<int64_t> widths;
  int64_t elems = 0;
  std::string dtype;
};
// The options above, then `body`; the exit status.
template <class Body>
int row_main(int argc, char** argv, const char* what, RowOptions options, Body body) {
  CLI::App app(what);
  app.add_flag("--json", options.json, "one object a line");
  app.add_flag("--force", options.force, "accepted for symmetry: the load of the CPU does not matter");
  app.add_option("--rounds", options.rounds, "launches of each side")->check(CLI::Range(1, 1000));
  app.add_option("--widths", options.widths, "elements of a row")->delimiter(',');
  app.add_option("--elems", options.elems, "elements of a tensor")->check(CLI::Range(int64_t(1), int64_t(1) << 34));
  app.add_option("--dtype", options.dtype, "of the tensors")->check(CLI::IsMember({"bf16", "f16", "f32"}));
  CLI11_PARSE(app, argc, argv);
  try {
    RowBench bench(options.json, options.rounds);
    body(bench, options, dtype_from_string(options.dtype).value());
    bench.print_summary();
    return bench.status();
  } catch (const Error& e) {
    return report(e);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 3;
  }
}

}  // namespace bench
