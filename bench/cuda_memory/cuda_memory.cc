// Kernels that only move memory on an NVIDIA GPU against the driver's copy from device to device in the same run: a
// copy, the sum of two tensors and the sums of rows, of f32 tensors of 4 GiB (--gib). Rates count bytes read and
// written on both sides; each sample begins with a cold L2 cache, and both sides take turns.
#include "../device_copy.h"

#include <tilewright/language.h>

#include <CLI/CLI.hpp>

#include <cmath>

namespace {

using namespace tilewright;
namespace T = tilewright::lang;

constexpr int64_t kColumns = 1 << 15;

struct Work {
  const char* name;
  int tensors;  // of 4 GiB that are read or written
  int threads, block_rows, block_columns;
  T::Program (*program)(const Work&, int64_t rows);
  // What the element of the first column of a row becomes; inputs as floats.
  double (*expected)(const float* a, const float* b);
  bool per_row = false;
};

T::Program copy_program(const Work& w, int64_t rows) {
  return T::prim_func("copy", [&] {
    auto A = T::tensor("A", {rows, kColumns}, T::f32);
    T::tensor("B", {rows, kColumns}, T::f32);  // as in the others
    auto C = T::tensor("C", {rows, kColumns}, T::f32);
    auto [bx, by] =
        T::Kernel({T::Expr(kColumns / w.block_columns), T::Expr(rows / w.block_rows)}, {.threads = w.threads});
    auto a = T::alloc_fragment({w.block_rows, w.block_columns}, T::f32);
    T::copy(A(by * w.block_rows, bx * w.block_columns), a);
    T::copy(a, C(by * w.block_rows, bx * w.block_columns));
  });
}

T::Program add_program(const Work& w, int64_t rows) {
  return T::prim_func("add", [&] {
    auto A = T::tensor("A", {rows, kColumns}, T::f32), B = T::tensor("B", {rows, kColumns}, T::f32);
    auto C = T::tensor("C", {rows, kColumns}, T::f32);
    auto [bx, by] =
        T::Kernel({T::Expr(kColumns / w.block_columns), T::Expr(rows / w.block_rows)}, {.threads = w.threads});
    auto a = T::alloc_fragment({w.block_rows, w.block_columns}, T::f32);
    auto b = T::alloc_fragment({w.block_rows, w.block_columns}, T::f32);
    T::copy(A(by * w.block_rows, bx * w.block_columns), a);
    T::copy(B(by * w.block_rows, bx * w.block_columns), b);
    for (auto [i, j] : T::Parallel(w.block_rows, w.block_columns)) a(i, j) = a(i, j) + b(i, j);
    T::copy(a, C(by * w.block_rows, bx * w.block_columns));
  });
}

T::Program row_sum_program(const Work& w, int64_t rows) {
  return T::prim_func("row_sum", [&] {
    auto A = T::tensor("A", {rows, kColumns}, T::f32);
    T::tensor("B", {rows, kColumns}, T::f32);  // as in the others
    auto C = T::tensor("C", {rows}, T::f32);
    auto [by] = T::Kernel({T::Expr(rows / w.block_rows)}, {.threads = w.threads});
    auto a = T::alloc_fragment({w.block_rows, w.block_columns}, T::f32);
    auto sum = T::alloc_fragment({w.block_rows}, T::f32);
    T::clear(sum);
    for (auto k : T::serial(kColumns / w.block_columns)) {
      T::copy(A(by * w.block_rows, k * w.block_columns), a);
      T::reduce_sum(a, sum, {.dim = 1, .clear = false});
    }
    T::copy(sum, C(by * w.block_rows));
  });
}

const Work kWork[] = {
    {"cuda_copy", 2, 256, 1, 1024, copy_program, [](const float* a, const float*) { return double(a[0]); }},
    {"cuda_add", 3, 256, 1, 1024, add_program, [](const float* a, const float* b) { return double(a[0] + b[0]); }},
    {"cuda_row_sum", 1, 256, 8, 1024, row_sum_program,
     [](const float* a, const float*) {
       double sum = 0;
       for (int64_t j = 0; j < kColumns; ++j) sum += a[j];
       return sum;
     },
     true},
};

class Bench {
 public:
  Bench(int64_t rows, bool json)
      : rows_(rows),
        json_(json),
        device_(Session::get().gpu()),
        copy_(*device_),
        a_(device_, num_bytes()),
        b_(device_, num_bytes()),
        c_(device_, num_bytes()) {
    fill(a_, host_a_, 1);
    fill(b_, host_b_, 2);
  }

  bool run(const Work& work) {
    const CompiledKernel kernel = compile(work.program(work, rows_), {.target = "cuda"});
    const auto view = [&](const cuda::DeviceBuffer& buffer, std::vector<int64_t> shape) {
      return TensorView{.data = reinterpret_cast<void*>(buffer.address()),
                        .dtype = DType::f32,
                        .shape = std::move(shape),
                        .device = DeviceKind::cuda};
    };
    const Launch launch =
        kernel.bind(view(a_, {rows_, kColumns}), view(b_, {rows_, kColumns}),
                    view(c_, work.per_row ? std::vector<int64_t>{rows_} : std::vector<int64_t>{rows_, kColumns}));
    std::vector<double> ours, peer;
    for (int round = 0; round < 15; ++round) {
      peer.push_back(bench::cold_ms([&] { copy_(c_.address(), b_.address(), num_bytes()); }));
      ours.push_back(bench::cold_ms([&] { launch(); }));
    }
    const double our_rate = 1e-6 * work.tensors * double(num_bytes()) / bench::median(ours);
    const double peer_rate = 2e-6 * double(num_bytes()) / bench::median(peer);
    bench::print_row({.name = work.name,
                      .shape = fmt::format("{}x{}", rows_, kColumns),
                      .dtype = "f32",
                      .tile = fmt::format("{}x{}", work.block_rows, work.block_columns),
                      .peer_name = "cuMemcpyDtoD",
                      .unit = "GB/s",
                      .threads = work.threads,
                      .ours = our_rate,
                      .peer = peer_rate,
                      .ratio = our_rate / peer_rate},
                     json_);
    return is_right(work);
  }

 private:
  size_t num_bytes() const { return size_t(rows_ * kColumns) * sizeof(float); }
  // A part is made by the host, the rest copied from it.
  void fill(cuda::DeviceBuffer& to, std::vector<float>& host, uint64_t seed) {
    const int64_t count = std::min<int64_t>(rows_, kHostRows) * kColumns;
    const std::vector<std::byte> bytes = bench::normal_bytes(DType::f32, count, seed);
    host.resize(size_t(count));
    std::memcpy(host.data(), bytes.data(), bytes.size());
    to.write(bytes);
    for (size_t done = bytes.size(); done < num_bytes(); done += bytes.size()) {
      copy_(to.address() + done, to.address(), std::min(bytes.size(), num_bytes() - done));
    }
    device_->synchronize();
  }
  // The rows that the host knows: f32 sums in any order are within the bound.
  bool is_right(const Work& work) {
    const int64_t rows = std::min<int64_t>(rows_, kHostRows), stride = work.per_row ? 1 : kColumns;
    std::vector<float> got(size_t(rows * stride));
    c_.read(std::as_writable_bytes(std::span(got)));
    for (int64_t i = 0; i < rows; ++i) {
      const float *a = host_a_.data() + i * kColumns, *b = host_b_.data() + i * kColumns;
      double magnitude = 0;
      for (int64_t j = 0; work.per_row && j < kColumns; ++j) magnitude += std::abs(double(a[j]));
      if (!(std::abs(double(got[size_t(i * stride)]) - work.expected(a, b)) <= magnitude * kColumns * 0x1p-24)) {
        fmt::print(stderr, "bench: wrong result of {} in row {}\n", work.name, i);
        return false;
      }
    }
    return true;
  }

  static constexpr int64_t kHostRows = 512;
  int64_t rows_;
  bool json_;
  std::shared_ptr<const cuda::Device> device_;
  bench::DeviceCopy copy_;
  cuda::DeviceBuffer a_, b_, c_;
  std::vector<float> host_a_, host_b_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Kernels that move memory on an NVIDIA GPU against the driver's copy");
  bool json = false, force = false;
  double gib = 4;
  app.add_flag("--json", json, "one object a line");
  app.add_flag("--force", force, "accepted for symmetry: the load of the CPU does not matter");
  app.add_option("--gib", gib, "size of a tensor")->check(CLI::Range(0.001, 32.0));
  CLI11_PARSE(app, argc, argv);
  try {
    const int64_t rows = std::max<int64_t>(8, std::llround(gib * double(1 << 30) / (kColumns * 4)) / 8 * 8);
    Bench bench(rows, json);
    bool right = true;
    for (const Work& work : kWork) right &= bench.run(work);
    return right ? 0 : 1;
  } catch (const Error& e) {
    return bench::report(e);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 3;
  }
}
