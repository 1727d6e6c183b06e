#include "robustness/mutation.h"

#include "../../examples/matmul_relu.h"
#include "ir/lexer.h"
#include "ops/op_table.h"

#include <tilewright/error.h>

#include <algorithm>
#include <memory>

namespace tilewright::robustness {

namespace {

using fuzz::Random;

constexpr size_t kMaxText = 4000;
constexpr size_t kRowsOfAKind = 6;

// What no row uses.
constexpr const char* kFurther = R"(program further(A, n, x) vars 12 {
  scalar n@0: i32
  scalar x@1: f64
  extent m@2
  tensor A: f32[m, 6] strides [8, 1]
  workspace W: i8[m * 4]
  kernel k(bx@3 < m, by@4 < 2) threads 8 (4, 2) {
    tile A: global f32[m, 6] of A {safe = -1.5}
    tile s: shared i64[4, 5]
    tile loop: local f16[]
    fill(s[0:4, 0:5]; 3)
    for i@5, j@6 in parallel(0:4, 0:5) { s[i, j] = select(i < j && !(j == 2), s[i, j] % 3, (0 - i) // 2) }
    let y@7: f64 = exp(x) * pow(x, f64(0.5)) + f64(n)
    for k@8 in serial(0:10 step 3) { if k == 6 { break } else { continue } }
    while s[0, 0] < 5 { s[0, 0] = s[0, 0] + 1 }
    A[bx, by] = f32(y) / 2.0
    let old@9: i64 = atomic(relaxed) s[1, 2] add 7
    A[bx, 3] = f32(old)
    for k@10 in pipelined(0:2) {num_stages = 2, order = "1, 0", stage = "0, 0"} { A[bx, k] = 1.0 A[bx, 5] = 2.0 }
  }
}
)";

void add_rows(const std::vector<tests::Row>& rows, std::vector<std::string>& out) {
  const size_t step = std::max<size_t>(1, rows.size() / kRowsOfAKind);
  for (size_t i = 0; i < rows.size(); i += step) {
    const Program program = lang::prim_func("row", [&] { rows[i].declare("")(); });
    std::string text = program.print();
    if (text.size() <= kMaxText) out.push_back(std::move(text));
  }
}

const std::vector<std::string> kNumbers = {"0",
                                           "1",
                                           "2",
                                           "3",
                                           "7",
                                           "64",
                                           "1000",
                                           "1000000",
                                           "2147483647",
                                           "2147483648",
                                           "4294967296",
                                           "281474976710656",
                                           "281474976710657",
                                           "4611686018427387904",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "99999999999999999999999999",
                                           "-1",
                                           "-2147483648",
                                           "-9223372036854775808",
                                           "0.0",
                                           "1e308",
                                           "1e-320",
                                           "inf",
                                           "nan",
                                           "-inf"};
const std::vector<std::string> kSmallNumbers = {"0", "1", "2", "3", "4", "5", "7", "8", "16", "0.5", "3.0"};
const std::vector<std::string> kDTypes = {"bool",   "i8",     "i16", "i32",  "i64",  "u8",  "u16", "u32",   "u64",
                                          "f8e4m3", "f8e5m2", "f16", "bf16", "tf32", "f32", "f64", "f4e2m1"};
const std::vector<std::string> kPieces = {"packed = true",
                                          "unchecked = true",
                                          "stages = 3",
                                          "view_of = 0",
                                          "layout = \"(4,8):(8,1)\"",
                                          "fragment = \"\"",
                                          "annotated = true",
                                          "layout = \"(4):(1)\", annotated = true",
                                          "fragment = \"[4] threads(32:-) regs(4:d0*1)\", annotated = true",
                                          "origin = \"x\"",
                                          "safe = 1e300",
                                          "{dim = 5}",
                                          "step -2",
                                          "warps(0, 1)",
                                          "lanes warps(0, 4) { }",
                                          "slot(1)",
                                          "as t@1",
                                          "break",
                                          "continue",
                                          "while true { }",
                                          "if false { }",
                                          "\"\\x00\"",
                                          "\"*/ #error\"",
                                          "0:9223372036854775807",
                                          "-9223372036854775808:9223372036854775807",
                                          "5:+3",
                                          "@0",
                                          "@99",
                                          "}",
                                          "{",
                                          ")",
                                          "("};

// The tokens of a text, or its bytes where it has none.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> out;
  try {
    for (const ir::Token& t : ir::tokenize(text, std::make_shared<const std::string>("corpus.tw"))) {
      if (t.kind != ir::TokenKind::end) out.emplace_back(t.text);
    }
  } catch (const Error&) {
    for (const char c : text) out.emplace_back(1, c);
  }
  return out;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string out;
  for (size_t i = 0; i < pieces.size(); ++i) {
    out += pieces[i];
    out += i % 16 == 15 ? '\n' : ' ';
  }
  return out;
}

bool is_number(const std::string& piece) { return piece[0] >= '0' && piece[0] <= '9'; }
bool is_word(const std::string& piece) { return ir::is_identifier(piece); }

// Replaces one piece of the kind that `is` accepts.
template <class Is>
void replace(std::vector<std::string>& pieces, Is is, const std::vector<std::string>& by, Random& random) {
  std::vector<size_t> places;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (is(pieces[i])) places.push_back(i);
  }
  if (!places.empty() && !by.empty()) pieces[random.pick(places)] = random.pick(by);
}

void nest(std::vector<std::string>& pieces, size_t at, Random& random) {
  const int64_t depth = random.pick({2, 30, 990, 1100, 20000});
  struct Wrap {
    const char *open, *close;
  };
  const Wrap wrap = random.pick({Wrap{"(", ")"}, Wrap{"! ", ""}, Wrap{"if true {", "}"}, Wrap{"select(true,", ", 1)"},
                                 Wrap{"abs(", ")"}, Wrap{"1 + (", ")"}, Wrap{"1 *", ""}, Wrap{"{", "}"},
                                 Wrap{"for q@0 in serial(0:1) {", "}"}, Wrap{"let q@0: i64 = 1", ""}});
  std::string open, close;
  for (int64_t i = 0; i < depth; ++i) open += wrap.open, close += wrap.close;
  pieces[at] = open + pieces[at] + (random.chance(80) ? close : "");
}

void mutate_pieces(std::vector<std::string>& pieces, const std::vector<std::string>& others, Random& random) {
  if (pieces.empty()) return;
  const auto size = int64_t(pieces.size());
  const auto at = size_t(random.between(0, size - 1));
  const auto end = std::min(pieces.size(), at + size_t(random.pick({1, 1, 2, 5, 30})));
  const auto first = pieces.begin() + std::ptrdiff_t(at), last = pieces.begin() + std::ptrdiff_t(end);
  switch (random.between(0, 11)) {
    case 0: pieces.erase(first, last); break;
    case 1: {
      const std::vector<std::string> part(first, last);
      pieces.insert(first, part.begin(), part.end());
      break;
    }
    case 2: std::swap(pieces[at], pieces[size_t(random.between(0, size - 1))]); break;
    case 3: {
      const std::vector<std::string> other = pieces_of(random.pick(others));
      const auto from = size_t(random.between(0, int64_t(other.size()) - 1));
      const auto to = std::min(other.size(), from + size_t(random.pick({1, 3, 10, 40})));
      pieces.insert(first, other.begin() + std::ptrdiff_t(from), other.begin() + std::ptrdiff_t(to));
      break;
    }
    case 4:
      if (random.chance(20)) pieces.resize(at);
      break;
    case 5: replace(pieces, is_number, kNumbers, random); break;
    case 6:
    case 7: replace(pieces, is_number, kSmallNumbers, random); break;
    case 8: {
      std::vector<std::string> words;
      std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(words), is_word);
      replace(pieces, is_word, words, random);
      break;
    }
    case 9:
      replace(
          pieces, [](const std::string& p) { return std::find(kDTypes.begin(), kDTypes.end(), p) != kDTypes.end(); },
          kDTypes, random);
      break;
    case 10: pieces.insert(first, random.pick(kPieces)); break;
    default:
      if (random.chance(30)) nest(pieces, at, random);
  }
}

void mutate_bytes(std::string& text, Random& random) {
  if (text.empty()) return;
  const auto at = size_t(random.between(0, int64_t(text.size()) - 1));
  switch (random.between(0, 4)) {
    case 0: text[at] = char(random.between(0, 255)); break;
    case 1: text.erase(at, size_t(random.pick({1, 2, 10}))); break;
    case 2: text.insert(at, 1, char(random.between(0, 255))); break;
    case 3: text.insert(at, text.substr(at, size_t(random.pick({1, 5, 50})))); break;
    default: text.resize(at);
  }
}

}  // namespace

std::vector<std::string> corpus() {
  std::vector<std::string> out = {kFurther};
  for (const tests::Part& part : tests::kParts) add_rows(part.rows(), out);
  out.push_back(examples::matmul_relu(40, 24, 17, 16, 16, 8, DType::f32).print());
  return out;
}

std::string mutate(const std::string& text, const std::vector<std::string>& others, Random& random) {
  if (random.chance(15)) {
    std::string out = text;
    for (int64_t i = random.between(1, 3); i > 0; --i) mutate_bytes(out, random);
    return out;
  }
  std::vector<std::string> pieces = pieces_of(text);
  for (int64_t i = random.pick({1, 1, 1, 1, 2, 4}); i > 0; --i) mutate_pieces(pieces, others, random);
  return joined(pieces);
}

}  // namespace tilewright::robustness
