// What warps do, counted: accesses whose patterns are known, and the quickstart by its properties.
#include "harness/machine.h"
#include "../../examples/matmul_relu.h"

#include "sim/text_machine.h"
#include "sim/tools.h"

#include <tilewright/check.h>
#include <tilewright/language.h>

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tilewright::test {
namespace {

namespace T = tilewright::lang;

constexpr const char* kSchedules[] = {"fair", "greedy", "reverse+early", "random+anytime+seed=5"};

class CountedText : public ::testing::Test {
 protected:
  void SetUp() override {
    TW_NEEDS(Tools::get().compiler.kind() == CompilerKind::gcc,
             "the host compiler is clang, which takes vectors apart before it reports accesses: nothing is counted");
  }
};

struct alignas(256) Array {
  std::array<uint32_t, 4096> words = {};
  sim::Region region() { return {reinterpret_cast<unsigned char*>(words.data()), int64_t(sizeof words), 4}; }
};

// By line of `body`, from 1; the same under all schedules.
std::map<int, Counters> count(const std::string& body, int threads = 32, int blocks = 1,
                              const std::string& arch = "sm_80") {
  const std::string text =
      "extern \"C\" __global__ void k(u32* in, u32* out) {\n"
      "  extern __shared__ unsigned char shared_memory[];\n"
      "  u32* box = reinterpret_cast<u32*>(shared_memory);\n"
      "  float* floats = reinterpret_cast<float*>(shared_memory);\n"
      "  const u32 t = threadIdx.x;\n" +
      body + "\n}";
  std::map<int, Counters> first;
  for (const char* how : kSchedules) {
    const TextMachine machine(text, 8192, "sim:" + arch + "+checked+" + how);
    Array in, out;
    uint32_t *from = in.words.data(), *to = out.words.data();
    std::map<int, Counters> lines;
    for (auto& [line, counters] : machine.count(blocks, threads, {&from, &to}, {in.region(), out.region()})) {
      lines[line - 5] = counters;
    }
    if (first.empty()) first = lines;
    EXPECT_EQ(lines == first, true) << how << "\n" << body;
  }
  return first;
}

Counters::Level shared_of(const std::string& body) { return count(body).at(1).shared; }

// Requests, transactions, the ideal, bytes read, bytes written.
Counters::Level level(int64_t requests, int64_t transactions, int64_t ideal, int64_t read, int64_t written) {
  return {requests, transactions, ideal, read, written};
}

std::string to_text(const Counters::Level& l) {
  return fmt::format("{} requests, {} transactions, ideal {}, {} read, {} written", l.requests, l.transactions, l.ideal,
                     l.read_bytes, l.written_bytes);
}

#define EXPECT_LEVEL(got, want) EXPECT_TRUE((got) == (want)) << to_text(got) << "; expected " << to_text(want)

// Word i lies in bank i % 32. With a stride of s words the lanes fall into 32 / gcd(s, 32) banks.
TEST_F(CountedText, BanksOfAStride) {
  const std::pair<int, int> wavefronts_of[] = {{1, 1}, {2, 2}, {3, 1}, {4, 4}, {32, 32}, {33, 1}, {48, 16}};
  for (const auto& [stride, wavefronts] : wavefronts_of) {
    EXPECT_LEVEL(shared_of(fmt::format("box[{} * t] = t;", stride)), level(1, wavefronts, 1, 0, 128));
    EXPECT_LEVEL(shared_of(fmt::format("const u32 x = box[{} * t];\nout[t] = x;", stride)),
                 level(1, wavefronts, 1, 128, 0));
  }
}

TEST_F(CountedText, LanesOfOneWordShareIt) {
  EXPECT_LEVEL(shared_of("const u32 x = box[blockIdx.x];\nout[t] = x;"), level(1, 1, 1, 128, 0));
  EXPECT_LEVEL(shared_of("const u32 x = box[t / 2];\nout[t] = x;"), level(1, 1, 1, 128, 0));
  // Words 0 and 32 of one bank.
  EXPECT_LEVEL(shared_of("const u32 x = box[t % 2 * 32];\nout[t] = x;"), level(1, 2, 1, 128, 0));
  // Elements of 1 and 2 bytes: 8 and 16 words.
  EXPECT_LEVEL(shared_of("shared_memory[t] = 1;"), level(1, 1, 1, 0, 32));
  EXPECT_LEVEL(shared_of("reinterpret_cast<u16*>(box)[t] = 1;"), level(1, 1, 1, 0, 64));
  // One byte of each second word.
  EXPECT_LEVEL(shared_of("shared_memory[8 * t] = 1;"), level(1, 2, 1, 0, 32));
}

TEST_F(CountedText, VectorsAreServedByPartsOfTheWarp) {
  const auto load = [](int count, int stride) {
    return shared_of(
        fmt::format("float v[{0}]; load_vector<{0}>(v, floats + {1} * t);\nout[t] = u32(v[0] + v[1]);", count, stride));
  };
  EXPECT_LEVEL(load(2, 2), level(1, 2, 2, 256, 0));
  // 16 lanes in steps of 4 words meet in 8 pairs of banks.
  EXPECT_LEVEL(load(2, 4), level(1, 4, 2, 256, 0));
  EXPECT_LEVEL(load(4, 4), level(1, 4, 4, 512, 0));
  // 8 lanes in steps of 8 words meet in 4 groups of banks, in steps of 32 words in one.
  EXPECT_LEVEL(load(4, 8), level(1, 8, 4, 512, 0));
  EXPECT_LEVEL(load(4, 32), level(1, 32, 4, 512, 0));
  EXPECT_LEVEL(load(4, 0), level(1, 4, 4, 512, 0));
  EXPECT_LEVEL(shared_of("float v[4] = {}; store_vector<4>(floats + 4 * t, v);"), level(1, 4, 4, 0, 512));
}

TEST_F(CountedText, AtomsOfSharedMemory) {
  EXPECT_LEVEL(shared_of("u32 v[4]; load_shared_v4(v, 16 * t); out[t] = v[0] + v[3];"), level(1, 4, 4, 512, 0));
  EXPECT_LEVEL(shared_of("u32 v[2]; load_shared_v2(v, 16 * t); out[t] = v[0] + v[1];"), level(1, 4, 2, 256, 0));
  EXPECT_LEVEL(shared_of("u32 v[1]; load_shared_v1(v, 8 * t); out[t] = v[0];"), level(1, 2, 1, 128, 0));
  EXPECT_LEVEL(shared_of("out[t] = load_shared_u16(2 * t);"), level(1, 1, 1, 64, 0));
  EXPECT_LEVEL(shared_of("u32 v[4] = {t, t, t, t}; store_shared_v4(16 * t, v);"), level(1, 4, 4, 0, 512));
}

// Rows of 64 elements of 16 bits begin in one bank; where pieces of 16 bytes are exchanged by the row, in all.
TEST_F(CountedText, RowsOfMatrices) {
  const auto load = [](int matrices, const std::string& address) {
    return shared_of(fmt::format("u32 a[4] = {{}}; load_matrix_x{}(a, {});\nout[t] = a[0] + a[3];", matrices, address));
  };
  const std::string linear = "t % 8 * 128 + t / 8 * 16", exchanged = "t % 8 * 128 + (t / 8 ^ t % 8) * 16";
  EXPECT_LEVEL(load(4, linear), level(1, 32, 4, 512, 0));
  EXPECT_LEVEL(load(4, exchanged), level(1, 4, 4, 512, 0));
  EXPECT_LEVEL(load(4, "swizzle<128>(" + linear + ")"), level(1, 4, 4, 512, 0));
  EXPECT_LEVEL(load(2, linear), level(1, 16, 2, 256, 0));
  EXPECT_LEVEL(load(1, linear), level(1, 8, 1, 128, 0));
  // Padded by 16 bytes; rows of 32 elements, of which two share 32 banks.
  EXPECT_LEVEL(load(4, "t % 8 * 144 + t / 8 * 16"), level(1, 4, 4, 512, 0));
  EXPECT_LEVEL(load(4, "t % 8 * 64 + t / 8 * 16"), level(1, 16, 4, 512, 0));
  const auto store = [](const std::string& address) {
    return count("u32 a[4] = {t, t, t, t}; store_matrix_x4(" + address + ", a);", 32, 1, "sm_90a").at(1).shared;
  };
  EXPECT_LEVEL(store(linear), level(1, 32, 4, 0, 512));
  EXPECT_LEVEL(store(exchanged), level(1, 4, 4, 0, 512));
}

TEST_F(CountedText, SectorsOfGlobalMemory) {
  const auto read = [](const std::string& index) {
    return count("const u32 x = in[" + index + "];\nbox[t] = x;").at(1).global;
  };
  EXPECT_LEVEL(read("t"), level(1, 4, 4, 128, 0));
  EXPECT_LEVEL(read("31 - t"), level(1, 4, 4, 128, 0));
  EXPECT_LEVEL(read("2 * t"), level(1, 8, 4, 128, 0));
  EXPECT_LEVEL(read("8 * t"), level(1, 32, 4, 128, 0));
  EXPECT_LEVEL(read("32 * t"), level(1, 32, 4, 128, 0));
  EXPECT_LEVEL(read("t + 1"), level(1, 5, 4, 128, 0));  // bytes 4 to 131
  EXPECT_LEVEL(read("t + 8"), level(1, 4, 4, 128, 0));
  EXPECT_LEVEL(read("blockIdx.x"), level(1, 1, 1, 128, 0));
  EXPECT_LEVEL(read("t / 16 * 64"), level(1, 2, 1, 128, 0));  // two words far apart
  EXPECT_LEVEL(count("out[2 * t] = t;").at(1).global, level(1, 8, 4, 0, 128));
  EXPECT_LEVEL(count("reinterpret_cast<u8*>(out)[t] = 1;").at(1).global, level(1, 1, 1, 0, 32));
  const std::string vector =
      "float v[4]; load_vector<4>(v, reinterpret_cast<float*>(in) + {} * t);\nbox[t] = u32(v[0]);";
  EXPECT_LEVEL(count(fmt::format(fmt::runtime(vector), 4)).at(1).global, level(1, 16, 16, 512, 0));
  EXPECT_LEVEL(count(fmt::format(fmt::runtime(vector), 16)).at(1).global, level(1, 32, 16, 512, 0));
}

TEST_F(CountedText, AsynchronousCopies) {
  const std::string wait = "\ncopy_async_commit();\ncopy_async_wait<0>();";
  const Counters wide = count("copy_async<16>(16 * t, in + 4 * t);" + wait).at(1);
  EXPECT_LEVEL(wide.global, level(1, 16, 16, 512, 0));
  EXPECT_LEVEL(wide.shared, level(1, 4, 4, 0, 512));
  EXPECT_EQ(wide.copied_bytes, (std::map<int, int64_t>{{16, 512}}));
  const Counters narrow = count("copy_async<4>(8 * t, in + 2 * t);" + wait).at(1);
  EXPECT_LEVEL(narrow.global, level(1, 8, 4, 128, 0));
  EXPECT_LEVEL(narrow.shared, level(1, 2, 1, 0, 128));
  EXPECT_EQ(narrow.copied_bytes, (std::map<int, int64_t>{{4, 128}}));
  // What lies outside is not read, and is written as zero.
  const Counters half = count("copy_async_zero_fill<8>(8 * t, in + 2 * t, t < 16 ? 8 : 0);" + wait).at(1);
  EXPECT_LEVEL(half.global, level(1, 4, 4, 128, 0));
  EXPECT_LEVEL(half.shared, level(1, 2, 2, 0, 256));
  EXPECT_EQ(half.copied_bytes, (std::map<int, int64_t>{{8, 256}}));
}

TEST_F(CountedText, ProductsAndWhatIsInFlight) {
  const std::string product = "mma_m16n8k16_f32_f16(d, a, b);\n";
  const auto lines = count(
      "float d[4] = {}; u32 a[4] = {}, b[2] = {};\n"
      "copy_async<16>(16 * t, in);\n" +
          product +                             // 3: not committed
          "copy_async_commit();\n" + product +  // 5: one group
          "copy_async_commit();\n" + product +  // 7: and one without a copy
          "if (t % 32 < 8) copy_async<4>(4 * t, in);\n"
          "copy_async_commit();\n" +
          product +                              // 10: two, of 8 lanes
          "copy_async_wait<1>();\n" + product +  // 12: the last one
          "copy_async_wait<0>();\n" + product +  // 14
          "out[t] = u32(d[0]);",
      64);
  const auto with = [&](int line) {
    EXPECT_EQ(lines.at(line).mma, 2);
    EXPECT_EQ(lines.at(line).flops, 2 * 2 * 16 * 8 * 16);
    return lines.at(line).mma_with;
  };
  using Expected = std::map<Counters::InFlight, int64_t>;
  EXPECT_EQ(with(3), (Expected{{{0, 512}, 2}}));
  EXPECT_EQ(with(5), (Expected{{{1, 512}, 2}}));
  EXPECT_EQ(with(7), (Expected{{{1, 512}, 2}}));
  EXPECT_EQ(with(10), (Expected{{{2, 544}, 2}}));
  EXPECT_EQ(with(12), (Expected{{{1, 32}, 2}}));
  EXPECT_EQ(with(14), (Expected{{{0, 0}, 2}}));
}

TEST_F(CountedText, BarriersAndAtomics) {
  const auto lines = count(
      "sync_block();\n"
      "for (u32 i = 0; i < 3; ++i) sync_threads<1, 96>();\n"
      "if (t < 32) arrive_threads<2, 96>(); else sync_threads<2, 96>();\n"
      "reduce_add_shared(4 * t, 1u);\n"
      "reduce_add(out + 2 * t, 1u);",
      96, 2);
  EXPECT_EQ(lines.at(1).barriers, 6);
  EXPECT_EQ(lines.at(2).barriers, 18);
  EXPECT_EQ(lines.at(3).barriers, 6);
  EXPECT_EQ(lines.at(4).atomics, 6);
  EXPECT_LEVEL(lines.at(4).shared, level(6, 6, 6, 0, 768));
  EXPECT_EQ(lines.at(5).atomics, 6);
  EXPECT_LEVEL(lines.at(5).global, level(6, 48, 24, 0, 768));
}

// Which accesses of the lanes are one of the warp.
TEST_F(CountedText, LanesThatTakeDifferentWays) {
  EXPECT_LEVEL(count("box[t] = t;", 40, 3).at(1).shared, level(6, 6, 6, 0, 480));  // 32 and 8 lanes
  EXPECT_LEVEL(shared_of("if (t < 16) box[2 * t] = t;"), level(1, 1, 1, 0, 64));
  EXPECT_LEVEL(shared_of("for (u32 i = 0; i < 5; ++i) box[t + 32 * i] = t;"), level(5, 5, 5, 0, 640));
  // Lane t comes t + 1 times.
  EXPECT_LEVEL(shared_of("for (u32 i = 0; i <= t; ++i) box[i] = t;"), level(32, 32, 32, 0, 4 * 33 * 16));
  EXPECT_LEVEL(shared_of("if (t % 2) return; box[t] = t;"), level(1, 1, 1, 0, 64));
  // Half of the warp is not there the first time; the second time all are, behind a barrier of either kind. Put
  // together by their number alone, words 0 to 15 and 32 to 47 would be one request of two wavefronts.
  for (const char* meet : {"sync_block()", "sync_warp()", "warp_any(true)"}) {
    EXPECT_LEVEL(shared_of(fmt::format(
                     "for (u32 i = 0; i < 2; ++i) {{ if (t < 16 || i == 1) box[t + 16 * i] = 1; {}; }}", meet)),
                 level(2, 2, 2, 0, 192))
        << meet;
  }
}

TEST_F(CountedText, TooManyAccessesAreNotCounted) {
  EXPECT_TRUE(count("if (t == 0) for (u32 i = 0; i < 200000; ++i) box[i % 8] = i;").empty());
  EXPECT_LEVEL(shared_of("if (t == 0) for (u32 i = 0; i < 100000; ++i) box[i % 8] = i;"),
               level(100000, 100000, 100000, 0, 400000));
  // All lanes have come to the first before another follows.
  EXPECT_LEVEL(shared_of("for (u32 i = 0; i < 200000; ++i) { box[t] = i; sync_warp(); }"),
               level(200000, 200000, 200000, 0, 25600000));
}

// ---- Programs ----

CheckResult counted(const Program& program, std::vector<std::vector<uint16_t>> tensors,
                    const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < tensors.size(); ++i) {
    arguments.emplace_back(TensorView{tensors[i].data(), DType::f16, shapes[i]});
  }
  CheckResult out = check(program, arguments, {.num_random = 0, .count = true});
  EXPECT_TRUE(out.ok()) << out.report();
  EXPECT_EQ(out.not_counted, "");
  return out;
}

struct Product {
  int64_t m, n, k;
  int block_m, block_n, block_k, num_stages = 3;

  Program program() const {
    return T::prim_func("product", [&] {
      auto A = T::tensor("A", {m, k}, T::f16), B = T::tensor("B", {k, n}, T::f16), C = T::tensor("C", {m, n}, T::f16);
      auto [bx, by] = T::Kernel({T::ceildiv(n, block_n), T::ceildiv(m, block_m)}, {.threads = 128});
      auto a = T::alloc_shared({block_m, block_k}, T::f16), b = T::alloc_shared({block_k, block_n}, T::f16);
      auto c = T::alloc_fragment({block_m, block_n}, T::f32);
      T::clear(c);
      for (auto ko : T::Pipelined(T::ceildiv(k, block_k), {.num_stages = num_stages})) {
        T::copy(A(by * block_m, ko * block_k), a);
        T::copy(B(ko * block_k, bx * block_n), b);
        T::gemm(a, b, c);
      }
      T::copy(c, C(by * block_m, bx * block_n));
    });
  }
  CheckResult count() const {
    return counted(program(),
                   {std::vector<uint16_t>(size_t(m * k), 0x3c00), std::vector<uint16_t>(size_t(k * n), 0x3800),
                    std::vector<uint16_t>(size_t(m * n))},
                   {{m, k}, {k, n}, {m, n}});
  }
};

class CountedProgram : public CountedText {};

TEST_F(CountedProgram, TheQuickstartCopiesAndReadsAtFullWidth) {
  const int64_t n = 256, tile = 128;
  const CheckResult result = counted(
      examples::matmul_relu(n, n, n, 128, 128, 32),
      {std::vector<uint16_t>(n * n, 0x3c00), std::vector<uint16_t>(n * n, 0x3800), std::vector<uint16_t>(n * n)},
      {{n, n}, {n, n}, {n, n}});
  const Counters total = result.total();
  // Each of 2 x 2 blocks copies a row of tiles of A and a column of those of B, and nothing else is read.
  const int64_t copied = 4 * 2 * tile * n * 2;
  EXPECT_EQ(total.copied_bytes, (std::map<int, int64_t>{{16, copied}}));
  EXPECT_EQ(total.global.read_bytes, copied);
  EXPECT_EQ(total.shared.written_bytes, copied);
  EXPECT_EQ(total.global.written_bytes, n * n * 2);
  EXPECT_EQ(total.flops, 2 * n * n * n);
  EXPECT_EQ(total.mma, n * n * n / (16 * 8 * 16));
  // Each of 2 x 2 warps reads half of both tiles.
  EXPECT_EQ(total.shared.read_bytes, 2 * copied);
  EXPECT_EQ(total.shared.excess(), 0);
  int copies = 0, reads = 0;
  for (const LineCounters& line : result.lines) {
    if (!line.counters.copied_bytes.empty()) {
      ++copies;
      EXPECT_EQ(line.counters.global.excess(), 0) << line.text;
      EXPECT_EQ(line.counters.global.read_bytes, 32 * line.counters.global.transactions) << line.text;
    }
    reads += line.counters.shared.read_bytes > 0;
  }
  EXPECT_EQ(copies, 6);  // two tiles: ahead, behind the first wait, and in the loop
  EXPECT_EQ(reads,
            8);  // of two tiles: the first step, the next one and the next iteration's, and in the last iteration
}

TEST_F(CountedProgram, ProductsReadTheirOperandsWithoutConflicts) {
  for (const Product& p :
       {Product{128, 128, 64, 64, 64, 32}, Product{128, 256, 128, 64, 128, 64}, Product{128, 128, 64, 128, 64, 16},
        Product{64, 192, 96, 64, 96, 48}, Product{48, 64, 64, 48, 64, 32}}) {
    const std::string which = fmt::format("tiles {}x{}x{}", p.block_m, p.block_n, p.block_k);
    const CheckResult result = p.count();
    int reads = 0;
    for (const LineCounters& line : result.lines) {
      if (line.counters.shared.read_bytes == 0) continue;
      ++reads;
      EXPECT_EQ(line.counters.shared.excess(), 0) << which << ": " << line.text;
    }
    EXPECT_EQ(reads, p.block_k / 16 % 2 == 0 ? 8 : 2) << which;
    const Counters total = result.total();
    EXPECT_EQ(total.copied_bytes.size(), 1u) << which;
    EXPECT_EQ(total.copied_bytes.count(16), 1u) << which;
    EXPECT_EQ(total.flops, 2 * p.m * p.n * p.k) << which;
  }
}

// In each step of each product num_stages - 1 later tiles are on their way, as far as there are so many. In the first
// of its two steps of 16 they are the next ones; in the last one the next iteration's have come, whose operands are
// loaded to registers, and those that take the place of its own are on their way.
TEST_F(CountedProgram, StagesOfAPipelineAreInFlight) {
  const int64_t steps = 8;
  for (int num_stages = 1; num_stages <= 4; ++num_stages) {
    const Product p{256, 256, steps * 32, 128, 128, 32, num_stages};
    const Counters total = p.count().total();
    // Of all blocks and warps in one step; of one warp's part of both tiles.
    const int64_t mma_of_step = p.m * p.n * p.block_k / (16 * 8 * 16);
    const int64_t bytes_of_step = 2 * 128 * 32 * 2 / 4;
    std::map<Counters::InFlight, int64_t> expected;
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t later = std::min<int64_t>(num_stages - 1, steps - 1 - step);
      const int64_t in_last_step = std::max<int64_t>(0, std::min<int64_t>(num_stages - 1, steps - 2 - step));
      expected[{int(later), later * bytes_of_step}] += mma_of_step / 2;
      expected[{int(in_last_step), in_last_step * bytes_of_step}] += mma_of_step / 2;
    }
    EXPECT_EQ(total.mma_with == expected, true) << num_stages << " stages";
    for (const auto& [in_flight, mma] : total.mma_with) {
      EXPECT_EQ(expected[in_flight], mma)
          << num_stages << " stages, " << in_flight.groups << " groups of " << in_flight.bytes << " bytes";
    }
  }
}

TEST_F(CountedProgram, LinesOfTheAuthorAndOfTheText) {
  int copy_line = 0, write_line = 0;
  const Program program = T::prim_func("lines", [&] {
    auto A = T::tensor("A", {64, 32}, T::f16), B = T::tensor("B", {64, 32}, T::f16);
    auto [bx] = T::Kernel({2}, {.threads = 32});
    auto a = T::alloc_shared({32, 32}, T::f16);
    copy_line = __LINE__ + 1;
    T::copy(A(bx * 32, 0), a);
    write_line = __LINE__ + 1;
    T::copy(a, B(bx * 32, 0));
  });
  const CheckResult result =
      counted(program, {std::vector<uint16_t>(64 * 32), std::vector<uint16_t>(64 * 32)}, {{64, 32}, {64, 32}});
  const std::vector<LineCounters> by_author = result.author_lines();
  Counters sum;
  std::map<int, Counters> of_line;
  for (const LineCounters& line : by_author) {
    sum += line.counters;
    of_line[line.loc.line] = line.counters;
    EXPECT_EQ(line.kernel, "lines");
    EXPECT_TRUE(line.text.empty());
  }
  EXPECT_EQ(sum == result.total(), true);
  EXPECT_EQ(of_line[copy_line].global.read_bytes, 64 * 32 * 2);
  EXPECT_EQ(of_line[copy_line].shared.written_bytes, 64 * 32 * 2);
  EXPECT_EQ(of_line[write_line].global.written_bytes, 64 * 32 * 2);
  EXPECT_EQ(of_line[write_line].shared.read_bytes, 64 * 32 * 2);

  std::vector<std::string> source;
  std::istringstream text(compile(program, {.target = "sim:sm_80+checked"}).get_kernel_source());
  for (std::string line; std::getline(text, line);) source.push_back(line);
  for (const LineCounters& line : result.lines) {
    ASSERT_GE(line.line, 1) << line.text;
    ASSERT_LE(size_t(line.line), source.size());
    EXPECT_NE(source[size_t(line.line) - 1].find(line.text), std::string::npos) << line.line << ": " << line.text;
  }
  const std::string table = result.counter_table();
  EXPECT_NE(table.find(fmt::format("counters_test.cc:{} ", copy_line)), std::string::npos) << table;
  EXPECT_NE(table.find("\ntotal "), std::string::npos) << table;
  EXPECT_NE(result.counter_table(1).find(fmt::format("\n{} other lines ", by_author.size() - 1)), std::string::npos);
  EXPECT_NE(result.counter_table(99, true).find(result.lines[0].text), std::string::npos);
}

TEST(Counters, AreNotThereUnlessAskedFor) {
  std::vector<uint16_t> v(64 * 64);
  const TensorView view{v.data(), DType::f16, {64, 64}};
  const CheckResult result =
      check(examples::matmul_relu(64, 64, 64, 32, 32, 32), {view, view, view}, {.num_random = 0});
  EXPECT_TRUE(result.lines.empty());
  EXPECT_EQ(result.counter_table(), "");
}

}  // namespace
}  // namespace tilewright::test
