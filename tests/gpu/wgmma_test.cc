// wgmma against products in double arithmetic: every n, every type, every layout of shared memory.
//
// The host lays the operands out in shared memory byte by byte, as the manual's figures of canonical layouts say; the
// kernel copies this image and multiplies.
#include "gpu/fragments.h"
#include "gpu/gpu_test.h"
#include "gpu/matrices.h"

#include <fmt/format.h>

namespace tilewright::test {
namespace {

constexpr int kSteps = 4;  // of k, 32 bytes each
constexpr int kImageA = 0, kImageB = 16384, kImageBytes = kImageB + 65536;

// One operand in shared memory, as the kernel's struct Tile has it.
struct Tile {
  uint32_t leading, stride, layout;
  uint32_t at[kSteps];  // where each k step starts in the image
};

enum class Order { k_major, mn_major };

// Where element (mn, k) of `bytes` bytes lies from the start of an operand of `mn_extent` rows or columns.
struct Placement {
  Order order;
  uint32_t span;  // 128, 64, 32 or 0: no swizzle
  uint32_t mn_extent, k_extent, bytes;

  uint32_t swizzled(uint32_t row, uint32_t byte) const {
    const uint32_t linear = row * span + byte, row128 = linear / 128;
    const uint32_t mask = span == 128 ? 7 : span == 64 ? 3 : 1;
    return linear ^ (row128 & mask) * 16;
  }
  uint32_t slab_bytes() const { return (order == Order::k_major ? mn_extent : k_extent) * span; }
  uint32_t at(uint32_t mn, uint32_t k) const {
    const uint32_t along = (order == Order::k_major ? k : mn) * bytes, across = order == Order::k_major ? mn : k;
    if (span != 0) return along / span * slab_bytes() + swizzled(across, along % span);
    // Core matrices of 8 x 16 bytes, 128 bytes each: first those across, then those along.
    const uint32_t across_extent = order == Order::k_major ? mn_extent : k_extent;
    return along / 16 * (across_extent * 16) + across / 8 * 128 + across % 8 * 16 + along % 16;
  }
  Tile tile(uint32_t offset) const {
    const uint32_t across_extent = order == Order::k_major ? mn_extent : k_extent;
    Tile out = {};
    out.layout = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    for (uint32_t s = 0; s < kSteps; ++s) out.at[s] = offset + at(0, s * 32 / bytes);
    if (span != 0) {
      out.leading = order == Order::k_major ? 0 : slab_bytes();
      out.stride = 8 * span;
    } else {
      // From 8 rows of m or n to the next 8 is `stride`, from 16 bytes (8 rows) of k to the next is `leading`.
      out.leading = order == Order::k_major ? across_extent * 16 : 128;
      out.stride = order == Order::k_major ? 128 : across_extent * 16;
    }
    return out;
  }
};

struct Variant {
  std::string function;  // without the prefix wgmma_
  std::string header;
  Type a, b, d;
  int n;
  bool a_in_registers = false;
  Order a_order = Order::k_major, b_order = Order::k_major;
  uint32_t span = 128;

  int k_extent() const { return kSteps * 256 / bits_of(a); }
  int padded_n() const {
    // A slab of an MN-major operand is whole.
    const int unit = b_order == Order::mn_major && span ? int(span) / 2 : 8;
    return (n + unit - 1) / unit * unit;
  }
  std::string name() const {
    return fmt::format("{}_n{}_{}_{}{}_{}", function, n, a_in_registers ? "rs" : "ss",
                       a_order == Order::k_major ? "k" : "mn", b_order == Order::k_major ? "k" : "mn", span);
  }
  std::string template_arguments() const {
    const char* a_major = a_order == Order::k_major ? "k" : "mn";
    const char* b_major = b_order == Order::k_major ? "k" : "mn";
    if (bits_of(a) != 16) return fmt::format("<{}>", n);
    if (a_in_registers) return fmt::format("<{}, Major::{}>", n, b_major);
    return fmt::format("<{}, Major::{}, Major::{}>", n, a_major, b_major);
  }
};

constexpr const char* kCommonText = R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/fence.h>
#include <tilewright/device/cuda/memory.h>
using namespace tilewright::device;
struct Tile { u32 leading, stride, layout, at[4]; };
__device__ __forceinline__ u64 descriptor_at(u32 base, const Tile& t, u32 step) {
  return wgmma_descriptor(base + t.at[step], t.leading, t.stride, SharedLayout(t.layout));
}
// The image at the next multiple of 1024 bytes, in sight of the asynchronous proxy.
__device__ __forceinline__ u32 load_image(const u32* image, u32 bytes) {
  extern __shared__ char dynamic[];
  const u32 base = (shared_address(dynamic) + 1023) / 1024 * 1024;
  for (u32 i = threadIdx.x * 4; i < bytes; i += 4 * blockDim.x) store_shared_v1(base + i, image + i / 4);
  fence_async_shared();
  sync_block();
  return base;
}
)";

std::string kernel_text(const Variant& v) {
  const char* type = v.d == Type::f32 ? "float" : v.d == Type::s32 ? "i32" : "u32";
  const int registers = v.d == Type::f16 ? v.n / 4 : v.n / 2;
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__(128) {0}(const u32* image, u32 bytes, Tile a, Tile b, const u32* ra, {1}* d,
                                                      bool accumulate) {{
  const u32 base = load_image(image, bytes);
  {1} rd[{2}];
  u32 r[{3}][4];
  for (u32 i = 0; i < {2}; ++i) rd[i] = d[threadIdx.x * {2} + i];
  for (u32 s = 0; s < {3}; ++s)
    for (u32 i = 0; i < 4; ++i) r[s][i] = ra[(s * 128 + threadIdx.x) * 4 + i];
  pin<{2}>(rd);
  wgmma_fence();
#pragma unroll
  for (u32 s = 0; s < {3}; ++s) {{
    wgmma_{4}{5}(rd, {6}, descriptor_at(base, b, s), accumulate || s != 0);
  }}
  wgmma_commit();
  wgmma_wait<0>();
  pin<{2}>(rd);
  for (u32 i = 0; i < {2}; ++i) d[threadIdx.x * {2} + i] = rd[i];
}}
)",
                     v.name(), type, registers, kSteps, v.function, v.template_arguments(),
                     v.a_in_registers ? "r[s]" : "descriptor_at(base, a, s)");
}

FragmentShape a_shape(const Variant& v) {
  if (v.a == Type::tf32) return {128, 4, 32, in_warpgroup(mma_a_k8_tf32)};
  if (bits_of(v.a) == 8) return {128, 16, 8, in_warpgroup(mma_a_k32_8bit)};
  return {128, 8, 16, in_warpgroup(mma_a_k16_16bit)};
}

class WgmmaTest : public GpuTest {
 protected:
  void check_all(const std::vector<Variant>& variants) {
    if (machine().device && machine().device->properties().arch() != "sm_90a") {
      GTEST_SKIP() << machine().device->properties().arch() << " has no wgmma";
    }
    constexpr size_t kPerModule = 16;
    for (size_t begin = 0; begin < variants.size(); begin += kPerModule) {
      const std::vector<Variant> part(variants.begin() + long(begin),
                                      variants.begin() + long(std::min(begin + kPerModule, variants.size())));
      std::string text;
      for (const Variant& v : part) text += "#include <tilewright/device/cuda/" + v.header + ".h>\n";
      text += kCommonText;
      for (const Variant& v : part) text += kernel_text(v);
      const auto loaded = module(text);
      if (!loaded) GTEST_SKIP() << "compiled in part, not run: " << machine().why_not;
      for (const Variant& v : part) {
        Kernel kernel = loaded->kernel(v.name());
        kernel.allow_shared(kImageBytes + 1024);
        check(kernel, v, true, true);
        check(kernel, v, false, true);
        check(kernel, v, false, false);
      }
    }
    fmt::print("  {} kernels, worst error {:.3f} of the bound\n", variants.size(), worst_);
  }

 private:
  static void place(std::vector<uint32_t>& image, uint32_t at, uint32_t bits, uint32_t bytes) {
    std::memcpy(reinterpret_cast<char*>(image.data()) + at, &bits, bytes);
  }

  void check(const Kernel& kernel, const Variant& v, bool exact, bool accumulate) {
    std::mt19937 random(unsigned(v.n) * 2 + exact);
    const int k = v.k_extent();
    const uint32_t bytes = uint32_t(bits_of(v.a)) / 8;
    const Matrix a = random_matrix(64, k, v.a, exact, random), b = random_matrix(k, v.n, v.b, exact, random);
    Matrix c = random_matrix(64, v.n, v.d, exact, random);
    const Placement place_a{v.a_order, v.span, 64, uint32_t(k), bytes};
    const Placement place_b{v.b_order, v.span, uint32_t(v.padded_n()), uint32_t(k), bytes};
    std::vector<uint32_t> image(kImageBytes / 4, 0xffffffff);
    for (int kk = 0; kk < k; ++kk) {
      for (int m = 0; m < 64; ++m) place(image, kImageA + place_a.at(uint32_t(m), uint32_t(kk)), a.at(m, kk), bytes);
      for (int n = 0; n < v.n; ++n) place(image, kImageB + place_b.at(uint32_t(n), uint32_t(kk)), b.at(kk, n), bytes);
    }
    const FragmentShape shape_a = a_shape(v);
    std::vector<uint32_t> a_registers;
    for (int s = 0; s < kSteps; ++s) {
      const auto step = pack(shape_a, [&](int row, int column) { return a.at(row, s * k / kSteps + column); });
      a_registers.insert(a_registers.end(), step.begin(), step.end());
    }
    const FragmentShape shape_d = {128, v.n / 2, bits_of(v.d), wgmma_accumulator};
    const auto d_array = array(pack(shape_d, [&](int row, int column) { return c.at(row, column); }));
    run(kernel, {.block = {128, 1, 1}, .dynamic_shared_bytes = kImageBytes + 1024}, array(image), uint32_t(kImageBytes),
        place_a.tile(kImageA), place_b.tile(kImageB), array(a_registers), d_array, accumulate);
    Comparison comparison;
    const OpenOrder sums(!exact && !is_integer(v.d));
    unpack(shape_d, d_array.read(), [&](int row, int column, uint32_t bits) {
      const Sum want = product_at(a, b, row, column, accumulate ? c.value(row, column) : 0);
      const bool must_be_equal = exact || is_integer(v.d);
      const double bound = must_be_equal ? 0 : (k + 2) * accumulator_unit(v.d, v.a) * want.magnitude;
      comparison.add(decode(v.d, bits), want, bound, fmt::format("[{}, {}]", row, column));
    });
    EXPECT_LE(comparison.worst, 1) << v.name() << (exact ? " exact " : " real ") << accumulate << " "
                                   << comparison.where;
    worst_ = std::max(worst_, comparison.worst);
  }

  double worst_ = 0;
};

using enum Type;

std::vector<Variant> both_forms(const Variant& base, const std::vector<int>& ns) {
  std::vector<Variant> out;
  for (const int n : ns) {
    for (const bool registers : {false, true}) {
      Variant v = base;
      v.n = n;
      v.a_in_registers = registers;
      out.push_back(v);
    }
  }
  return out;
}

const std::vector<int> kSomeN = {8, 40, 64, 136, 256};

std::vector<int> every_n() {
#if defined(TILEWRIGHT_SIMULATED_GPU)
  return kSomeN;  // one code for all of them
#else
  if (ChipRecord::is_on()) return kSomeN;  // what the simulator compares itself with
  std::vector<int> out;
  for (int n = 8; n <= 256; n += 8) out.push_back(n);
  return out;
#endif
}

TEST_F(WgmmaTest, Bf16EveryN) {
  check_all(both_forms({"m64k16_f32_bf16", "wgmma_bf16", bf16, bf16, f32, 0}, every_n()));
}

TEST_F(WgmmaTest, F16AccumulatorsEveryN) {
  check_all(both_forms({"m64k16_f16_f16", "wgmma_f16_f16", f16, f16, f16, 0}, every_n()));
}

TEST_F(WgmmaTest, S8EveryN) {
  std::vector<int> ns = {8, 16, 24};
  for (int n = 32; n <= 256; n += 16) ns.push_back(n);
  check_all(both_forms({"m64k32_s32_s8", "wgmma_s8", s8, s8, s32, 0}, ns));
}

TEST_F(WgmmaTest, F16) { check_all(both_forms({"m64k16_f32_f16", "wgmma_f16", f16, f16, f32, 0}, kSomeN)); }
TEST_F(WgmmaTest, Tf32) { check_all(both_forms({"m64k8_f32_tf32", "wgmma_tf32", tf32, tf32, f32, 0}, kSomeN)); }

std::vector<Variant> both_forms_of(const std::vector<Variant>& bases, const std::vector<int>& ns) {
  std::vector<Variant> out;
  for (const Variant& base : bases) {
    const std::vector<Variant> some = both_forms(base, ns);
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

TEST_F(WgmmaTest, Fp8) {
  check_all(both_forms_of({{"m64k32_f32_e4m3", "wgmma_e4m3", e4m3, e4m3, f32, 0},
                           {"m64k32_f32_e4m3_e5m2", "wgmma_e4m3", e4m3, e5m2, f32, 0},
                           {"m64k32_f32_e5m2", "wgmma_e5m2", e5m2, e5m2, f32, 0},
                           {"m64k32_f32_e5m2_e4m3", "wgmma_e5m2", e5m2, e4m3, f32, 0}},
                          {8, 96, 256}));
}

TEST_F(WgmmaTest, OtherIntegers) {
  check_all(both_forms_of({{"m64k32_s32_s8_u8", "wgmma_s8", s8, u8, s32, 0},
                           {"m64k32_s32_u8", "wgmma_u8", u8, u8, s32, 0},
                           {"m64k32_s32_u8_s8", "wgmma_u8", u8, s8, s32, 0}},
                          {16, 96, 256}));
}

TEST_F(WgmmaTest, EveryLayout) {
  std::vector<Variant> variants;
  for (const uint32_t span : {128u, 64u, 32u, 0u}) {
    for (const Order a_order : {Order::k_major, Order::mn_major}) {
      for (const Order b_order : {Order::k_major, Order::mn_major}) {
        for (const int n : {8, 64, 96, 256}) {
          Variant v{"m64k16_f32_bf16", "wgmma_bf16", bf16, bf16, f32, n};
          v.span = span, v.a_order = a_order, v.b_order = b_order;
          variants.push_back(v);
          v.a_in_registers = true;
          if (a_order == Order::k_major) variants.push_back(v);
        }
      }
    }
  }
  for (const uint32_t span : {64u, 32u, 0u}) {
    Variant v{"m64k32_f32_e4m3", "wgmma_e4m3", e4m3, e4m3, f32, 96};
    v.span = span;
    variants.push_back(v);
    v = {"m64k8_f32_tf32", "wgmma_tf32", tf32, tf32, f32, 96};
    v.span = span;
    variants.push_back(v);
  }
  check_all(variants);
}

}  // namespace
}  // namespace tilewright::test
