#include "codegen/cuda_calls.h"

#include "ir/rewrite.h"
#include "passes/schedule_ops.h"

#include <fmt/format.h>

#include <set>

namespace tilewright::codegen {

using ir::OpStmt;

namespace {

class Used : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* op = ir::get_if<OpStmt>(stmt)) {
      names.insert(op->def->name);
      if (op->def == &passes::wgmma_op()) types.insert(ir::text_attr(op->attrs, "type"));
    }
    has_roles = has_roles || ir::get_if<ir::RoleStmt>(stmt);
    visit_parts(stmt);
  }
  std::set<std::string_view> names;
  std::set<std::string> types;
  bool has_roles = false;
};

class Call {
 public:
  Call(const OpStmt& op, const ir::Kernel& kernel, CpuExprWriter& exprs) : op_(op), kernel_(kernel), exprs_(exprs) {}

  std::vector<std::string> lines() const {
    const ir::OpDef* def = op_.def;
    if (def == &passes::bulk_load_op()) return {bulk_load()};
    if (def == &passes::prefetch_map_op()) return {fmt::format("tw::tma_prefetch_map(&{});", map())};
    if (def == &passes::mbarrier_init_op()) return {barrier("init", ", " + u32(0))};
    if (def == &passes::mbarrier_arrive_op()) return {barrier("arrive", "")};
    if (def == &passes::mbarrier_arrive_after_copies_op()) return {barrier("arrive_after_copies", "")};
    if (def == &passes::mbarrier_arrive_expect_op()) return {barrier("arrive_expect", ", " + u32(0))};
    if (def == &passes::mbarrier_wait_op()) return {barrier("wait", ", " + u32(0))};
    if (def == &passes::fence_mbarrier_init_op()) return {"tw::fence_mbarrier_init();"};
    if (def == &passes::fence_async_shared_op()) return {"tw::fence_async_shared();"};
    if (def == &passes::sync_warp_op()) return {"tw::sync_warp();"};
    if (def == &passes::sync_threads_op()) {
      return {fmt::format("tw::sync_threads<{}, {}>();", number("barrier"), number("threads"))};
    }
    if (def == &passes::wgmma_fence_op()) return {"tw::wgmma_fence();"};
    if (def == &passes::wgmma_commit_op()) return {"tw::wgmma_commit();"};
    if (def == &passes::wgmma_wait_op()) return wait();
    if (def == &passes::wgmma_registers_op()) return pins();
    if (def == &passes::wgmma_descriptor_op()) return {descriptor()};
    if (def == &passes::wgmma_op()) return {product()};
    return {};
  }

 private:
  int64_t number(std::string_view attr) const { return ir::int_attr(op_.attrs, attr, 0); }
  std::string shared(size_t i) const { return fmt::format("tw::shared_address({})", exprs_.address(op_.tiles[i])); }
  std::string u32(size_t i) const { return fmt::format("tw::u32({})", exprs_.text(op_.scalars[i])); }
  std::string map() const { return map_name(kernel_, number("map")); }
  std::string barrier(std::string_view what, const std::string& more) const {
    return fmt::format("tw::mbarrier_{}({}{});", what, shared(0), more);
  }
  std::string variable(size_t i) const { return exprs_.element(op_.tiles[i].tile, {}); }

  std::string bulk_load() const {
    std::string at;
    for (const ir::Expr& e : op_.scalars) at += fmt::format(", tw::i32({})", exprs_.text(e));
    return fmt::format("tw::tma_load_{}d({}, &{}, {}{});", op_.scalars.size(), shared(0), map(), shared(1), at);
  }
  std::vector<std::string> wait() const {
    std::vector<std::string> out = pins();
    out.insert(out.begin(), fmt::format("tw::wgmma_wait<{}>();", number("pending")));
    return out;
  }
  std::vector<std::string> pins() const {
    std::vector<std::string> out;
    for (const ir::TileRef& ref : op_.tiles) {
      out.push_back(fmt::format("tw::pin<{}>({});", kernel_.tile(ref.tile).num_elems(), exprs_.address(ref)));
    }
    return out;
  }
  std::string descriptor() const {
    return fmt::format("{} = tw::wgmma_descriptor({}, {}, {}, tw::SharedLayout::span{});", variable(0), shared(1),
                       number("leading"), number("stride"), number("span"));
  }
  std::string product() const {
    const auto major = [&](const char* attr) {
      return ir::bool_attr(op_.attrs, attr, false) ? "tw::Major::mn" : "tw::Major::k";
    };
    const auto operand = [&](size_t i) { return fmt::format("tw::advance({}, {})", variable(i), u32(i)); };
    return fmt::format("tw::wgmma_m64k16_f32_{}<{}, {}, {}>({}, {}, {}, {});", ir::text_attr(op_.attrs, "type"),
                       number("n"), major("mn_major_a"), major("mn_major_b"), exprs_.address(op_.tiles[0]), operand(1),
                       operand(2), exprs_.text(op_.scalars[0]));
  }

  const OpStmt& op_;
  const ir::Kernel& kernel_;
  CpuExprWriter& exprs_;
};

}  // namespace

std::vector<std::string> schedule_call(const OpStmt& op, const ir::Kernel& kernel, CpuExprWriter& exprs) {
  return Call(op, kernel, exprs).lines();
}

std::vector<std::string> schedule_headers(const ir::Program& program) {
  Used used;
  for (const ir::Kernel& kernel : program.kernels) used.visit(kernel.body);
  std::vector<std::string> out;
  const auto any = [&](std::initializer_list<const ir::OpDef*> ops) {
    for (const ir::OpDef* op : ops) {
      if (used.names.contains(op->name)) return true;
    }
    return false;
  };
  if (any({&passes::fence_mbarrier_init_op(), &passes::fence_async_shared_op()})) out.push_back("fence");
  if (used.has_roles) out.push_back("grid");
  if (any({&passes::mbarrier_init_op()})) out.push_back("mbarrier");
  if (any({&passes::bulk_load_op()})) out.push_back("tma");
  if (used.has_roles || any({&passes::sync_warp_op()})) out.push_back("warp");
  for (const std::string& type : used.types) out.push_back("wgmma_" + type);
  return out;
}

std::string map_name(const ir::Kernel& kernel, int64_t map) {
  return fmt::format("map_{}_{}", kernel.maps[size_t(map)].name, map);
}

}  // namespace tilewright::codegen
