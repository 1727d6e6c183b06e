// What bulk copies put into shared memory is what the descriptors of products read, element for element: both as the
// PTX manual describes them, on addresses. One step of one block is followed.
#include "layout/fragment.h"
#include "passes/cuda_passes.h"
#include "passes/schedule_ops.h"
#include "passes/schedule_passes.h"
#include "schedule/evaluate.h"
#include "schedule/tables.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace tilewright::testing {
namespace {

using ir::OpStmt;
using ir::Stmt;
using ir::TileId;

constexpr int64_t kBytes = 2;  // of an element

struct Element {
  int tensor = -1;
  int64_t row = 0, col = 0;
  friend bool operator==(const Element&, const Element&) = default;
};

// 16-byte pieces of an address are permuted by the number of its 128-byte row, within spans of this many bytes.
int64_t swizzled(int64_t address, int64_t span) { return address ^ (address / 128 & (span / 16 - 1)) * 16; }

struct Descriptor {
  int64_t start = 0, leading = 0, stride = 0, span = 0;
  // Row r (m or n) and k of an operand whose rows hold k.
  int64_t k_major(int64_t r, int64_t k) const {
    return swizzled(start + r / 8 * stride + r % 8 * span + k * kBytes, span);
  }
  // ... whose rows hold m or n.
  int64_t mn_major(int64_t r, int64_t k) const {
    const int64_t width = span / kBytes;
    return swizzled(start + r / width * leading + k / 8 * stride + k % 8 * span + r % width * kBytes, span);
  }
};

class Step {
 public:
  // Iteration `it` of block (1, 1), as warpgroup `group` sees it.
  Step(const Product& p, int64_t it, int group) : p_(p), it_(it), group_(group) {
    const CudaTarget target = cuda_target_from_arch("sm_90a").value();
    std::vector<Remark> remarks;
    const ir::Program staged = passes::place_channel_sync(
        passes::expand_schedule(passes::expand_unselected(wgmma_product(p), target, remarks)));
    kernel_ = passes::lower_tiles(staged, target).kernels[0];
    for (const ir::Expr& v : kernel_.block_vars) values_.vars[v.var_id()] = 1;
    // The copies first.
    for (const char* role : {"load", "compute"}) {
      for (const Stmt& stmt : kernel_.body) {
        const auto* r = ir::get_if<ir::RoleStmt>(stmt);
        values_.vars[kernel_.thread_var.var_id()] = role == std::string("load") ? 128 * p.groups : 128 * group;
        if (r && r->name == role) block(r->body);
      }
    }
  }
  int64_t num_products = 0, num_copies = 0;

 private:
  void block(const ir::Block& body) {
    for (const Stmt& stmt : body) this->stmt(stmt);
  }
  void stmt(const Stmt& stmt);
  void bulk_load(const OpStmt& op);
  void product(const OpStmt& op);
  int64_t address(const ir::TileRef& ref) const {
    const ir::Tile& tile = kernel_.tile(ref.tile);
    std::vector<int64_t> at;
    for (const ir::RegionDim& dim : ref.region) at.push_back(values_.of(dim.begin));
    // The two tiles lie far apart.
    return (*tile.layout)(at)*kBytes + (tile.name == "B_shared") * (int64_t(1) << 30);
  }

  Product p_;
  int64_t it_;
  int group_;
  ir::Kernel kernel_;
  Values values_;
  std::map<int64_t, Element> memory_;
  std::map<TileId, Descriptor> descriptors_;
};

void Step::stmt(const Stmt& stmt) {
  if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) {
    values_.vars[let->var.var_id()] = values_.of(let->value);
  } else if (const auto* role = ir::get_if<ir::RoleStmt>(stmt)) {
    block(role->body);
  } else if (const auto* lanes = ir::get_if<ir::LanesStmt>(stmt)) {
    block(lanes->body);
  } else if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) {
    if (loop->kind == ir::LoopKind::parallel) return;
    const bool steps = loop->dims[0].var->name == "it";
    for (int64_t t = steps ? it_ : 0; t < (steps ? it_ + 1 : values_.of(loop->dims[0].extent)); ++t) {
      values_.vars[loop->dims[0].var.var_id()] = values_.of(loop->dims[0].begin) + t * loop->dims[0].step;
      block(loop->body);
    }
  } else if (const auto* op = ir::get_if<OpStmt>(stmt)) {
    if (op->def == &passes::bulk_load_op()) bulk_load(*op);
    if (op->def == &passes::wgmma_op()) product(*op);
    if (op->def == &passes::wgmma_descriptor_op()) {
      const auto attr = [&](const char* name) { return ir::int_attr(op->attrs, name, -1); };
      descriptors_[op->tiles[0].tile] = {address(op->tiles[1]), attr("leading"), attr("stride"), attr("span")};
    }
  }
}

// A box lies in rows of its inner extent, one behind the other.
void Step::bulk_load(const OpStmt& op) {
  const ir::TensorMap& map = kernel_.maps[size_t(ir::int_attr(op.attrs, "map", -1))];
  const int64_t to = address(op.tiles[0]), row = values_.of(op.scalars[1]), col = values_.of(op.scalars[0]);
  EXPECT_EQ(map.box[1] * kBytes, map.span_bytes);
  EXPECT_EQ(to % (8 * map.span_bytes), 0) << "a box begins where the pattern of its swizzle does";
  for (int64_t r = 0; r < map.box[0]; ++r) {
    for (int64_t c = 0; c < map.box[1]; ++c) {
      const int64_t at = swizzled(to + r * map.span_bytes + c * kBytes, map.span_bytes);
      EXPECT_TRUE(memory_.emplace(at, Element{map.tensor, row + r, col + c}).second) << "written twice";
    }
  }
  ++num_copies;
}

void Step::product(const OpStmt& op) {
  Descriptor a = descriptors_.at(op.tiles[1].tile), b = descriptors_.at(op.tiles[2].tile);
  const int64_t step_a = values_.of(op.scalars[1]), step_b = values_.of(op.scalars[2]);
  a.start += step_a;
  b.start += step_b;
  const int64_t n = ir::int_attr(op.attrs, "n", -1);
  // Which of its blocks of 64 rows, and which 16 of k: products of one k follow each other.
  const int64_t blocks = p_.block_m / p_.groups / 64;
  const int64_t mi = num_products % blocks, ks = num_products / blocks;
  ++num_products;
  EXPECT_EQ(n, p_.block_n);
  EXPECT_EQ(a.start % 16 + b.start % 16, 0);
  const bool k_major_b = !ir::bool_attr(op.attrs, "mn_major_b", false);
  EXPECT_EQ(k_major_b, p_.transpose_b);
  for (int64_t k = 0; k < 16; ++k) {
    const int64_t at_k = it_ * p_.block_k + ks * 16 + k;
    for (int64_t r = 0; r < 64; ++r) {
      const Element want{0, p_.block_m + (group_ * blocks + mi) * 64 + r, at_k};
      ASSERT_EQ(memory_[a.k_major(r, k)], want) << "A, row " << r << ", k " << k;
    }
    for (int64_t c = 0; c < n; ++c) {
      const int64_t at_n = p_.block_n + c;
      const Element want = p_.transpose_b ? Element{1, at_n, at_k} : Element{1, at_k, at_n};
      ASSERT_EQ(memory_[k_major_b ? b.k_major(c, k) : b.mn_major(c, k)], want) << "B, column " << c << ", k " << k;
    }
  }
  // The registers of block mi begin behind those of the blocks before it.
  const ir::Tile& registers = kernel_.tile(op.tiles[0].tile);
  int64_t first = 0;
  for (size_t d = 0; d < op.tiles[0].region.size(); ++d) {
    first = first * *registers.shape[d].as_int() + values_.of(op.tiles[0].region[d].begin);
  }
  EXPECT_EQ(first, mi * n / 2);
}

TEST(ScheduleOperands, DescriptorsReadWhatCopiesWrite) {
  const int64_t kLarge = 4096;
  const auto with = [&](Product p) {
    p.m = p.n = p.k = kLarge;
    return p;
  };
  for (const Product& p : {with({}), with({.transpose_b = true}), with({.block_n = 256, .stages = 2}),
                           with({.block_m = 256}), with({.block_m = 192, .stages = 2, .groups = 3}),
                           with({.block_m = 64, .block_n = 32, .groups = 1, .regs_compute = 0, .regs_load = 0}),
                           with({.block_n = 80}), with({.block_n = 96, .block_k = 32}), with({.block_k = 128}),
                           with({.block_k = 32, .transpose_b = true}), with({.block_k = 48, .transpose_b = true})}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}, {} groups{}", p.block_m, p.block_n, p.block_k, p.groups,
                             p.transpose_b ? ", B [n, k]" : ""));
    for (int64_t it : {0, p.stages - 1, p.stages + 1}) {
      for (int group = 0; group < p.groups; ++group) {
        const Step step(p, it, group);
        EXPECT_EQ(step.num_products, p.block_k / 16 * (p.block_m / p.groups / 64));
        EXPECT_GE(step.num_copies, 2);
        if (HasFailure()) return;
      }
    }
  }
}

// The sum's fragment is the accumulator of the manual: register i of thread t of a warpgroup.
TEST(ScheduleOperands, TheSumIsWhereProductsLeaveIt) {
  for (const auto& [groups, blocks, n] : {std::tuple{2, 1, 128}, std::tuple{1, 2, 40}, std::tuple{3, 2, 256}}) {
    const layout::Fragment f = layout::wgmma_accumulator(groups * blocks * 64, n, groups, 1);
    for (int64_t t = 0; t < 128 * groups; ++t) {
      for (int64_t i = 0; i < blocks * n / 2; ++i) {
        const int64_t in_block = i % (n / 2), lane = t % 32;
        const int64_t row =
            (t / 128 * blocks + i / (n / 2)) * 64 + t % 128 / 32 * 16 + lane / 4 + 8 * (in_block / 2 % 2);
        const int64_t col = 8 * (in_block / 4) + 2 * (lane % 4) + in_block % 2;
        ASSERT_EQ(f.coordinates(t, i), (std::vector<int64_t>{row, col})) << t << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
