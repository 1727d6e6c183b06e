// The row operations of examples/rows at widths of every kind, with the plans of the library's rules: narrower than a
// vector, odd, of idle lanes, of several warps, and of several parts; rows with gaps, none, one and odd numbers of
// them.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include "../../examples/rows/elementwise.h"
#include "../../examples/rows/normalize.h"
#include "../../examples/rows/reduce.h"
#include "../../examples/rows/softmax.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
namespace rows = examples::rows;

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
// One rounding to f32, and a little for what follows of its second order.
const Real kUnit = 0x1p-24L * 1.001L;

HostArray random_array(DType dtype, std::vector<int64_t> shape, uint64_t seed, std::vector<int64_t> strides = {}) {
  HostArray a(dtype, std::move(shape), std::move(strides));
  a.fill_random(seed, -3, 3);
  return a;
}

std::string name_of(const char* what, DType dtype, int64_t num_rows, int64_t width) {
  return fmt::format("{} {} {}x{}", what, to_string(dtype), num_rows, width);
}

// What storing a number in `dtype` adds to its error: half a distance of its neighbours, or of the smallest numbers.
Real stored(DType dtype, Real value) { return std::abs(value) * unit_of(dtype) + subnormal_of(dtype); }

// ---- RMSNorm and SiLU ----

// The mean of squares is of `width` products and as many sums, a quotient and a sum with eps: (width + 4) roundings,
// half of them after the root, which is within 4 ulp, 8 roundings; two products. silu'(z) z / silu(z) is within 1 +
// |z|, and sigmoid within 8 roundings, the product one.
void expect_rms_norm_silu(const Args& before, int64_t num_rows, int64_t width, Real eps, Expected& y) {
  const HostArray &x = array(before, 0), &w = array(before, 1);
  for (int64_t i = 0; i < num_rows; ++i) {
    Real sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += x.get(i * width + j) * x.get(i * width + j);
    const Real scale = 1 / std::sqrt(sum / static_cast<Real>(width) + eps);
    for (int64_t j = 0; j < width; ++j) {
      const Real z = x.get(i * width + j) * scale * w.get(j), want = z / (1 + std::exp(-z));
      const Real roundings = (static_cast<Real>(width + 4) / 2 + 10) * (1 + std::abs(z)) + 9;
      y.set(i * width + j, want, roundings * kUnit * std::abs(want) + stored(x.dtype(), want));
    }
  }
}

Row rms_norm_silu_row(DType dtype, int64_t num_rows, int64_t width, int64_t gap = 0) {
  const std::vector<int64_t> strides = gap > 0 ? std::vector{width + gap, int64_t(1)} : std::vector<int64_t>{};
  constexpr double kEps = 1e-5;
  return tensor_row(
      name_of("rms_norm_silu", dtype, num_rows, width) + (gap > 0 ? fmt::format(" apart {}", gap) : ""),
      {random_array(dtype, {num_rows, width}, uint64_t(width), strides), random_array(dtype, {width}, 2),
       HostArray(dtype, {num_rows, width}, strides)},
      [=](const Tiles& t) {
        rows::rms_norm_silu(t[0], t[1], t[2], num_rows, width, kEps, suggest_row_plan(num_rows, width, dtype));
      },
      [=](const Args& before, std::vector<Expected>& after) {
        expect_rms_norm_silu(before, num_rows, width, kEps, after[2]);
      });
}

// Rows with a NaN, an infinity, and zeros alone: the first is NaN all over; of the second x / infinity is 0, and
// infinity / infinity NaN; of the third everything is 0.
Row special_norm_row() {
  constexpr int64_t kRows = 3, kWidth = 70;
  HostArray x = random_array(DType::f32, {kRows, kWidth}, 5), w(DType::f32, {kWidth});
  x.set(17, std::numeric_limits<Real>::quiet_NaN());
  x.set(kWidth + 40, -kInfinity);
  for (int64_t j = 0; j < kWidth; ++j) x.set(2 * kWidth + j, 0), w.set(j, 1);
  return tensor_row(
      "rms_norm_silu of NaN, infinity and zeros", {x, w, HostArray(DType::f32, {kRows, kWidth})},
      [=](const Tiles& t) {
        rows::rms_norm_silu(t[0], t[1], t[2], kRows, kWidth, 1e-5, suggest_row_plan(kRows, kWidth, DType::f32));
      },
      [=](const Args&, std::vector<Expected>& after) {
        const Real nan = std::numeric_limits<Real>::quiet_NaN();
        for (int64_t j = 0; j < kWidth; ++j) {
          after[2].set(j, nan);
          after[2].set(kWidth + j, j == 40 ? nan : Real(0));
          after[2].set(2 * kWidth + j, 0);
        }
      });
}

// ---- LayerNorm ----

struct Moments {
  Real mean = 0, factor = 0, magnitude = 0, variance = 0;  // magnitude: mean of |x|
};
Moments moments_of(const HostArray& x, int64_t row, int64_t width, Real eps) {
  Moments m;
  const auto n = static_cast<Real>(width);
  for (int64_t j = 0; j < width; ++j) {
    m.mean += x.get(row * width + j) / n;
    m.magnitude += std::abs(x.get(row * width + j)) / n;
  }
  for (int64_t j = 0; j < width; ++j) m.variance += std::pow(x.get(row * width + j) - m.mean, 2) / n;
  m.factor = 1 / std::sqrt(m.variance + eps);
  return m;
}
// Of the mean: width + 1 roundings of the mean magnitude.
Real mean_error(const Moments& m, int64_t width) { return static_cast<Real>(width + 1) * kUnit * m.magnitude; }
// Relative, of the factor: a shift of the mean by d adds d^2 to the variance (differences from the true mean add up to
// 0); each difference and its square round thrice, their sum width times, quotient and eps twice; half after the
// root; 8.
Real factor_error(const Moments& m, int64_t width, Real eps) {
  const Real shift = mean_error(m, width) + 3 * kUnit * (m.magnitude + std::sqrt(m.variance));
  const Real of_mean = (shift * shift + 2 * kUnit * shift * m.magnitude) / (m.variance + eps);
  return (static_cast<Real>(width + 6) * kUnit + of_mean) / 2 + 8 * kUnit;
}

void expect_layer_norm(const Args& before, int64_t num_rows, int64_t width, Real eps, std::vector<Expected>& after) {
  const HostArray &x = array(before, 0), &w = array(before, 1), &b = array(before, 2);
  for (int64_t i = 0; i < num_rows; ++i) {
    const Moments m = moments_of(x, i, width, eps);
    const Real of_mean = mean_error(m, width), of_factor = factor_error(m, width, eps);
    after[4].set(i, m.mean, of_mean + kUnit * std::abs(m.mean));
    after[5].set(i, m.factor, of_factor * m.factor);
    for (int64_t j = 0; j < width; ++j) {
      const Real d = x.get(i * width + j) - m.mean, scaled = d * m.factor * w.get(j), want = scaled + b.get(j);
      const Real error = std::abs(m.factor * w.get(j)) * (of_mean + kUnit * std::abs(d)) +
                         std::abs(scaled) * (of_factor + 3 * kUnit) + kUnit * std::abs(want);
      after[3].set(i * width + j, want, error * 1.01L + stored(x.dtype(), want));
    }
  }
}

Row layer_norm_row(DType dtype, int64_t num_rows, int64_t width) {
  constexpr double kEps = 1e-5;
  return tensor_row(
      name_of("layer_norm", dtype, num_rows, width),
      {random_array(dtype, {num_rows, width}, 1), random_array(dtype, {width}, 2), random_array(dtype, {width}, 3),
       HostArray(dtype, {num_rows, width}), HostArray(DType::f32, {num_rows}), HostArray(DType::f32, {num_rows})},
      [=](const Tiles& t) {
        rows::layer_norm(t[0], t[1], t[2], t[3], t[4], t[5], num_rows, width, kEps,
                         suggest_row_plan(num_rows, width, dtype));
      },
      [=](const Args& before, std::vector<Expected>& after) {
        expect_layer_norm(before, num_rows, width, kEps, after);
      });
}

// Of sums of n products in f32, each within a few roundings of its magnitude.
Real sum_error(Real magnitude, int64_t count, int roundings) {
  return static_cast<Real>(count + roundings) * kUnit * magnitude;
}

Row layer_norm_backward_row(DType dtype, int64_t num_rows, int64_t width) {
  HostArray mean = random_array(DType::f32, {num_rows}, 4), factor(DType::f32, {num_rows});
  for (int64_t i = 0; i < num_rows; ++i) factor.set(i, 0.5L + static_cast<Real>(i % 7) / 8);
  return tensor_row(
      name_of("layer_norm_backward", dtype, num_rows, width),
      {random_array(dtype, {num_rows, width}, 1), random_array(dtype, {width}, 2),
       random_array(dtype, {num_rows, width}, 3), mean, factor, HostArray(dtype, {num_rows, width}),
       HostArray(DType::f32, {width}), HostArray(DType::f32, {width})},
      [=](const Tiles& t) {
        rows::layer_norm_backward(t[0], t[1], t[2], t[3], t[4], t[5], num_rows, width,
                                  suggest_row_plan(num_rows, width, dtype, 2));
        rows::layer_norm_backward_weights(t[0], t[2], t[3], t[4], t[6], t[7], width,
                                          suggest_column_plan(num_rows, width, dtype));
      },
      [=](const Args& before, std::vector<Expected>& after) {
        const HostArray &x = array(before, 0), &w = array(before, 1), &g = array(before, 2);
        const HostArray &m = array(before, 3), &r = array(before, 4);
        const auto n = static_cast<Real>(width);
        std::vector<Real> dw(size_t(width), 0), dw_size = dw, db = dw, db_size = dw;
        for (int64_t i = 0; i < num_rows; ++i) {
          Real mean_g = 0, size_g = 0, mean_p = 0, size_p = 0;
          for (int64_t j = 0; j < width; ++j) {
            const Real of_y = g.get(i * width + j), norm = (x.get(i * width + j) - m.get(i)) * r.get(i);
            mean_g += of_y * w.get(j) / n, size_g += std::abs(of_y * w.get(j)) / n;
            mean_p += of_y * w.get(j) * norm / n, size_p += std::abs(of_y * w.get(j) * norm) / n;
            dw[size_t(j)] += of_y * norm, dw_size[size_t(j)] += std::abs(of_y * norm);
            db[size_t(j)] += of_y, db_size[size_t(j)] += std::abs(of_y);
          }
          for (int64_t j = 0; j < width; ++j) {
            const Real norm = (x.get(i * width + j) - m.get(i)) * r.get(i), own = g.get(i * width + j) * w.get(j);
            const Real want = r.get(i) * (own - mean_g - norm * mean_p);
            const Real error = sum_error(size_g, width, 6) + std::abs(norm) * sum_error(size_p, width, 10) +
                               4 * kUnit * (std::abs(own) + size_g + std::abs(norm) * size_p);
            after[5].set(i * width + j, want, std::abs(r.get(i)) * error * 1.01L + stored(dtype, want));
          }
        }
        for (int64_t j = 0; j < width; ++j) {
          after[6].set(j, dw[size_t(j)], sum_error(dw_size[size_t(j)], num_rows, 6));
          after[7].set(j, db[size_t(j)], sum_error(db_size[size_t(j)], num_rows, 2));
        }
      });
}

Row channel_norm_row(DType dtype, int64_t batch, int64_t channels, int64_t positions) {
  constexpr double kEps = 1e-5;
  return tensor_row(
      fmt::format("channel_norm {} {}x{}x{}", to_string(dtype), batch, channels, positions),
      {random_array(dtype, {batch, channels, positions}, 1), random_array(dtype, {channels}, 2),
       HostArray(dtype, {batch, channels, positions})},
      [=](const Tiles& t) {
        rows::channel_norm(t[0], t[1], t[2], batch, channels, positions, kEps,
                           suggest_column_plan(channels, positions, dtype, true));
      },
      [=](const Args& before, std::vector<Expected>& after) {
        const HostArray &x = array(before, 0), &w = array(before, 1);
        const auto at = [&](int64_t n, int64_t c, int64_t p) { return (n * channels + c) * positions + p; };
        for (int64_t n = 0; n < batch; ++n) {
          for (int64_t p = 0; p < positions; ++p) {
            Real sum = 0;
            for (int64_t c = 0; c < channels; ++c) sum += std::pow(x.get(at(n, c, p)), 2);
            const Real scale = 1 / std::sqrt(sum / static_cast<Real>(channels) + Real(kEps));
            for (int64_t c = 0; c < channels; ++c) {
              const Real want = x.get(at(n, c, p)) * scale * w.get(c);
              const Real roundings = static_cast<Real>(channels + 4) / 2 + 10;
              after[2].set(at(n, c, p), want, roundings * kUnit * std::abs(want) + stored(dtype, want));
            }
          }
        }
      });
}

// ---- softmax ----

struct Exponentials {
  Real top = -kInfinity, sum = 0, spread = 0;
};
Exponentials exponentials_of(const HostArray& x, int64_t row, int64_t width) {
  Exponentials e;
  for (int64_t j = 0; j < width; ++j) e.top = std::max(e.top, x.get(row * width + j));
  for (int64_t j = 0; j < width; ++j) {
    const Real v = x.get(row * width + j);
    e.sum += std::exp(v - e.top);
    if (v != -kInfinity) e.spread = std::max(e.spread, e.top - v);
  }
  return e;
}
// An exponential is within 4 ulp, 8 roundings, and one of its argument, at most `spread`; a row of several parts scales
// its sum by one more for each, whose arguments add up to `spread`; a sum of n terms is n.
Real sum_roundings(const Exponentials& e, int64_t width, int64_t parts) {
  return 8 + e.spread + static_cast<Real>(10 * parts) + e.spread + static_cast<Real>(width);
}

void expect_softmax(const HostArray& x, int64_t num_rows, int64_t width, int64_t parts, bool logarithm, Expected& y) {
  for (int64_t i = 0; i < num_rows; ++i) {
    const Exponentials e = exponentials_of(x, i, width);
    const Real of_sum = sum_roundings(e, width, parts) * kUnit;
    for (int64_t j = 0; j < width; ++j) {
      const Real d = x.get(i * width + j) - e.top;  // NaN of infinities
      if (logarithm) {
        const Real want = d - std::log(e.sum);
        // The logarithm, 8 roundings; its sum with the largest; the difference.
        const Real error = of_sum + kUnit * (8 * std::log(e.sum) + std::abs(e.top) + std::log(e.sum) + std::abs(want));
        y.set(i * width + j, want, std::isfinite(want) ? error * 1.01L + stored(x.dtype(), want) : 0);
      } else {
        const Real want = std::exp(d) / e.sum;
        const Real error = (of_sum + (8 + e.spread + 2) * kUnit) * want;
        y.set(i * width + j, want, std::isfinite(want) && want > 0 ? error * 1.01L + stored(x.dtype(), want) : 0);
      }
    }
  }
}

Row softmax_row_of(std::string name, const HostArray& x, bool logarithm) {
  const int64_t num_rows = x.shape()[0], width = x.shape()[1];
  const RowPlan plan = suggest_row_plan(num_rows, width, x.dtype());
  return tensor_row(
      std::move(name), {x, HostArray(x.dtype(), {num_rows, width})},
      [=](const Tiles& t) { rows::softmax(t[0], t[1], num_rows, plan, logarithm); },
      [=](const Args& before, std::vector<Expected>& after) {
        expect_softmax(array(before, 0), num_rows, width, plan.num_parts, logarithm, after[1]);
      });
}
Row softmax_row(DType dtype, int64_t num_rows, int64_t width, bool logarithm) {
  return softmax_row_of(name_of(logarithm ? "log_softmax" : "softmax", dtype, num_rows, width),
                        random_array(dtype, {num_rows, width}, 7), logarithm);
}

// Minus infinities that an attention mask leaves, up to whole rows; a plus infinity and a NaN, whose rows are NaN.
Row special_softmax_row(bool logarithm, int64_t width) {
  HostArray x = random_array(DType::f32, {5, width}, 9);
  for (int64_t j = 0; j < width; ++j) {
    if (j != width - 1) x.set(j, -kInfinity);  // but the last
    if (j % 2 == 0) x.set(width + j, -kInfinity);
    x.set(2 * width + j, -kInfinity);
  }
  x.set(3 * width + width / 2, std::numeric_limits<Real>::quiet_NaN());
  return softmax_row_of(fmt::format("{} of infinities and NaN {}", logarithm ? "log_softmax" : "softmax", width), x,
                        logarithm);
}

Row cross_entropy_row(DType dtype, int64_t num_rows, int64_t width) {
  HostArray classes(DType::i32, {num_rows});
  for (int64_t i = 0; i < num_rows; ++i) classes.set(i, static_cast<Real>(i * 5 % (width + 2) - 1));  // -1 ... width
  const RowPlan plan = suggest_row_plan(num_rows, width, dtype);
  return tensor_row(
      name_of("cross_entropy", dtype, num_rows, width),
      {random_array(dtype, {num_rows, width}, 7), classes, HostArray(DType::f32, {num_rows})},
      [=](const Tiles& t) { rows::cross_entropy(t[0], t[1], t[2], num_rows, width, plan); },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < num_rows; ++i) {
          const auto c = static_cast<int64_t>(array(before, 1).get(i));
          if (c < 0 || c >= width) {
            after[2].set(i, 0);
            continue;
          }
          const Exponentials e = exponentials_of(array(before, 0), i, width);
          const Real x = array(before, 0).get(i * width + c), want = e.top + std::log(e.sum) - x;
          const Real error = sum_roundings(e, width, plan.num_parts) + 9 * std::log(e.sum) + std::abs(e.top) +
                             std::abs(x) + std::abs(want);
          after[2].set(i, want, error * kUnit * 1.01L);
        }
      });
}

// ---- sums and transposes: whole numbers, so that there is one result ----

HostArray whole_numbers(DType dtype, std::vector<int64_t> shape) {
  HostArray a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, static_cast<Real>(i * 7 % 13 - 6));
  return a;
}

Row reduce_row(DType dtype, int64_t num_rows, int64_t width) {
  return tensor_row(
      name_of("sums and transpose", dtype, num_rows, width),
      {whole_numbers(dtype, {num_rows, width}), HostArray(DType::f32, {num_rows}), HostArray(DType::f32, {width}),
       HostArray(dtype, {width, num_rows})},
      [=](const Tiles& t) {
        rows::row_sum(t[0], t[1], num_rows, suggest_row_plan(num_rows, width, dtype));
        rows::column_sum(t[0], t[2], width, suggest_column_plan(num_rows, width, dtype));
        rows::transpose(t[0], t[3], num_rows, width);
      },
      [=](const Args& before, std::vector<Expected>& after) {
        std::vector<Real> sums(size_t(width), 0);
        for (int64_t i = 0; i < num_rows; ++i) {
          Real sum = 0;
          for (int64_t j = 0; j < width; ++j) {
            const Real x = array(before, 0).get(i * width + j);
            sum += x;
            sums[size_t(j)] += x;
            after[3].set(j * num_rows + i, x);
          }
          after[1].set(i, sum);
        }
        for (int64_t j = 0; j < width; ++j) after[2].set(j, sums[size_t(j)]);
      });
}

// ---- elementwise ----

Row activation_row(DType dtype, int64_t count, rows::Activation by) {
  return tensor_row(
      fmt::format("activation {} {} {}", int(by), to_string(dtype), count),
      {random_array(dtype, {count}, 1), random_array(dtype, {count}, 2), HostArray(dtype, {count})},
      [=](const Tiles& t) { rows::activation_and_residual(t[0], t[1], t[2], count, by); },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < count; ++i) {
          const Real x = array(before, 0).get(i), r = array(before, 1).get(i);
          Real y = x, error = 0;
          if (by == rows::Activation::silu) y = x / (1 + std::exp(-x)), error = 9 * std::abs(y);
          if (by == rows::Activation::gelu) {
            // erf is within 8 roundings, and one of its argument and one of its constant, times erf'; 1 + erf may
            // cancel.
            const Real a = x / std::sqrt(Real(2)), f = std::erf(a);
            y = x * (1 + f) / 2;
            error = std::abs(x) / 2 * (8 * std::abs(f) + 2 * std::abs(a) * 1.13L * std::exp(-a * a) + 1 + f) +
                    2 * std::abs(y);
          }
          const Real want = y + r;
          after[2].set(i, want, (error + std::abs(want)) * kUnit * 1.01L + stored(dtype, want));
        }
      });
}

Row rotary_row(DType dtype, int64_t tokens, int64_t heads, int64_t half) {
  const HostArray x = random_array(dtype, {tokens * heads, 2, half}, 1);
  return tensor_row(
      fmt::format("rotary {} {}x{}x{}", to_string(dtype), tokens, heads, half),
      {x, random_array(DType::f32, {tokens, half}, 2), random_array(DType::f32, {tokens, half}, 3),
       HostArray(dtype, {tokens * heads, 2, half})},
      [=](const Tiles& t) {
        rows::rotary_embedding(t[0], t[1], t[2], t[3], tokens, heads, suggest_row_plan(tokens * heads, half, dtype, 2));
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t r = 0; r < tokens * heads; ++r) {
          for (int64_t j = 0; j < half; ++j) {
            const int64_t first = r * 2 * half + j, second = first + half, angle = r / heads * half + j;
            const Real u = array(before, 0).get(first), v = array(before, 0).get(second);
            const Real c = array(before, 1).get(angle), s = array(before, 2).get(angle);
            const Real error = 2.01L * kUnit;
            const Real p = u * c - v * s, q = v * c + u * s;
            after[3].set(first, p, error * (std::abs(u * c) + std::abs(v * s)) + stored(dtype, p));
            after[3].set(second, q, error * (std::abs(v * c) + std::abs(u * s)) + stored(dtype, q));
          }
        }
      });
}

}  // namespace

std::vector<Row> norm_rows() {
  std::vector<Row> out;
  constexpr DType kTypes[] = {DType::bf16, DType::f16, DType::f32};
  size_t next = 0;
  for (const int64_t width :
       {1, 2, 3, 31, 33, 95, 96, 97, 159, 160, 161, 192, 256, 320, 384, 512, 640, 1000, 1024, 4095}) {
    out.push_back(rms_norm_silu_row(kTypes[next++ % 3], width > 1000 ? 2 : 5, width));
  }
  std::mt19937 random(20261201);
  for (int i = 0; i < 50; ++i) {
    // Every size of width alike, most of them small.
    const auto width = int64_t(std::exp2(std::uniform_real_distribution<double>(0, 11)(random)));
    out.push_back(rms_norm_silu_row(kTypes[next++ % 3], 1 + i % 4, width));
  }
  out.push_back(rms_norm_silu_row(DType::bf16, 1, 65536));
  out.push_back(rms_norm_silu_row(DType::f32, 2, 40002));
  for (const DType dtype : kTypes) out.push_back(rms_norm_silu_row(dtype, 0, 160));
  for (const int64_t gap : {1, 4, 8}) out.push_back(rms_norm_silu_row(DType::bf16, 70, 96, gap));
  out.push_back(rms_norm_silu_row(DType::f32, 7, 33, 3));
  out.push_back(special_norm_row());
  return out;
}

std::vector<Row> layer_norm_rows() {
  std::vector<Row> out;
  for (const auto& [num_rows, width] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 1}, {0, 8}, {67, 96}, {2, 1000}, {5, 33}, {1, 4095}, {2, 40000}}) {
    out.push_back(layer_norm_row(width % 2 ? DType::f32 : DType::bf16, num_rows, width));
  }
  for (const auto& [num_rows, width] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 1}, {0, 8}, {70, 96}, {33, 1000}, {5, 33}, {2, 36000}}) {
    out.push_back(layer_norm_backward_row(width % 2 ? DType::f32 : DType::bf16, num_rows, width));
  }
  out.push_back(channel_norm_row(DType::bf16, 2, 96, 200));
  out.push_back(channel_norm_row(DType::f32, 1, 33, 37));
  out.push_back(channel_norm_row(DType::bf16, 1, 600, 72));
  out.push_back(channel_norm_row(DType::f16, 3, 1, 5));
  out.push_back(channel_norm_row(DType::f32, 0, 4, 5));
  return out;
}

std::vector<Row> softmax_rows() {
  std::vector<Row> out;
  for (const bool logarithm : {false, true}) {
    out.push_back(softmax_row(DType::f32, 5, 1, logarithm));
    out.push_back(softmax_row(DType::bf16, 9, 96, logarithm));
    out.push_back(softmax_row(DType::f32, 3, 1001, logarithm));
    out.push_back(softmax_row(DType::f16, 2, 4096, logarithm));
    out.push_back(softmax_row(DType::f32, 1, 33001, logarithm));
    out.push_back(softmax_row(DType::bf16, 0, 40, logarithm));
    out.push_back(special_softmax_row(logarithm, 130));
    out.push_back(special_softmax_row(logarithm, 65000));
  }
  out.push_back(cross_entropy_row(DType::f32, 9, 7));
  out.push_back(cross_entropy_row(DType::bf16, 3, 5000));
  out.push_back(cross_entropy_row(DType::f32, 2, 50257));
  return out;
}

std::vector<Row> row_sum_rows() {
  std::vector<Row> out;
  out.push_back(reduce_row(DType::f32, 1, 1));
  out.push_back(reduce_row(DType::f32, 70, 130));
  out.push_back(reduce_row(DType::bf16, 65, 136));
  out.push_back(reduce_row(DType::f16, 300, 33));
  out.push_back(reduce_row(DType::f32, 3, 1025));
  out.push_back(reduce_row(DType::f32, 1000, 3));
  out.push_back(reduce_row(DType::bf16, 0, 24));
  for (const auto by : {rows::Activation::none, rows::Activation::silu, rows::Activation::gelu}) {
    out.push_back(activation_row(DType::bf16, 8192 + 8, by));
    out.push_back(activation_row(DType::f32, 4097, by));
    out.push_back(activation_row(DType::f16, 3, by));
  }
  out.push_back(rotary_row(DType::bf16, 9, 8, 64));
  out.push_back(rotary_row(DType::f32, 5, 3, 33));
  out.push_back(rotary_row(DType::bf16, 2, 1, 1));
  return out;
}

}  // namespace tilewright::tests
