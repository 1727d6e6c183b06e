// Tables of schedules: roles, channels, slots, tensor maps.
#include "ir/parser.h"

#include <limits>

namespace tilewright::ir {

TensorMap Parser::map() {
  form_ = "a map is: map A_map: A box [128, 64] span 128";
  TensorMap row;
  expect("map");
  row.name = name("the map's name");
  expect(":");
  row.tensor = tensor_row();
  expect("box");
  expect("[");
  while (!accept("]")) {
    if (!row.box.empty()) expect(",");
    row.box.push_back(integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  }
  if (accept("span")) row.span_bytes = int_number();
  return row;
}

Role Parser::role() {
  form_ = "a role is: role load: warps(8, 4) regs 40";
  Role row;
  expect("role");
  row.name = name("the role's name");
  expect(":");
  row.exec = exec_set();
  if (accept("regs")) row.max_regs = int_number();
  return row;
}

Channel Parser::channel() {
  form_ = "a channel is: channel operands: (A_shared, B_shared) stages 4 from warps(8, 1) to warps(0, 4), warps(4, 4)";
  Channel row;
  expect("channel");
  row.name = name("the channel's name");
  expect(":");
  expect("(");
  while (!accept(")")) {
    if (!row.tiles.empty()) expect(",");
    row.tiles.push_back(tile_row());
  }
  expect("stages");
  row.stages = int_number();
  expect("from");
  row.producer = exec_set();
  expect("to");
  if (!at("warps")) return row;
  do {
    row.consumers.push_back(exec_set());
  } while (accept(","));
  return row;
}

std::shared_ptr<const Schedule> Parser::schedule() {
  Schedule out;
  expect("schedule");
  expect("anchor");
  out.anchor = int_number();
  while (at("channel") && at(":", 2)) out.channels.push_back(channel());
  while (at("slot") && at_name(1)) {
    form_ = "a slot is: slot op(0) stage 0 order 1 warps(8, 1); kinds are op, acquire, commit, wait, release";
    Slot slot;
    expect("slot");
    bool found = false;
    for (int i = 0; i < kNumSlotKinds && !found; ++i) {
      slot.kind = Slot::Kind(i);
      found = accept(to_string(slot.kind));
    }
    if (!found) fail_expected("op, acquire, commit, wait or release");
    expect("(");
    slot.index = int_number();
    expect(")");
    expect("stage");
    slot.stage = int_number();
    expect("order");
    slot.order = int_number();
    slot.exec = exec_set();
    out.slots.push_back(slot);
  }
  return std::make_shared<const Schedule>(std::move(out));
}

Stmt Parser::role_stmt() {
  const Loc loc = here();
  RoleStmt role;
  expect("role");
  role.name = name("the role's name");
  role.exec = exec_set();
  if (accept("regs")) role.max_regs = int_number();
  role.elected = accept("elected");
  role.body = block();
  return make_stmt(std::move(role), loc);
}

}  // namespace tilewright::ir
