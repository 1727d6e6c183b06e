// What the simulator found, in the author's terms.
#include "driver/sim_text.h"
#include "sim/programs.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright::test {
namespace {

// Who waits is told by the tile that the barrier lies in.
TEST(SimReport, NotesNameTheTile) {
  const Program program = one_tile();
  std::vector<Remark> remarks;
  const SimText text(program.ir(), sim_target_from_name("sim:sm_90a"), remarks);
  sim::Finding finding{.kind = sim::Finding::Kind::deadlock, .text = "block 0 waits for ever"};
  finding.notes.push_back({.text = "threads 0-31 wait for phase 2", .site = {}, .memory = {{-1, 0}}});
  finding.notes.push_back({.text = "thread 32 waits at barrier 1", .site = {}, .memory = {}});
  const std::vector<Error> errors = text.errors(0, {finding}, {});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message(), "block 0 waits for ever");
  ASSERT_EQ(errors[0].notes().size(), 2u);
  EXPECT_EQ(errors[0].notes()[0].text, "shared_0[0, 0]: threads 0-31 wait for phase 2");
  EXPECT_EQ(errors[0].notes()[1].text, "thread 32 waits at barrier 1");
}

}  // namespace
}  // namespace tilewright::test
