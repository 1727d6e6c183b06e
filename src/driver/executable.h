// What a backend makes of a lowered program: something that can be bound to arguments and launched.
#pragma once

#include <tilewright/check.h>
#include <tilewright/compile.h>

#include "codegen/cpu.h"
#include "runtime/bind.h"
#include "target/sim.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// What the warps of a simulated launch did.
struct CountedLines {
  std::vector<LineCounters> lines;
  std::string refused;  // why there are none; empty: there are
};

// Arguments bound to an executable. Launches from several threads are allowed.
class BoundLaunch {
 public:
  virtual ~BoundLaunch() = default;
  // Runs all kernels; on a GPU, adds them to the default stream and returns.
  virtual void launch() const = 0;
  // On a GPU, the same into the caller's stream. Throws Error{invalid_argument} elsewhere.
  virtual void launch_into(void* stream) const;
  // Waits for launches, and throws what they did wrong.
  virtual void wait() const = 0;
  // One launch to its end; what it took on the device, in milliseconds.
  virtual double time_ms() const = 0;
  // In the simulator: one launch as `how` says, and all that was found wrong. `red_zone_bytes` of memory around each
  // tensor belong to nobody. What warps did is counted where `counted` is given.
  virtual std::vector<Error> watch(const SimTarget& how, int64_t red_zone_bytes, CountedLines* counted) const;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // The generated text, with the author's lines as comments.
  virtual const std::string& source() const = 0;
  virtual std::string_view source_suffix() const = 0;  // ".cc"
  // Resources of a kernel, for the report: "kernel tw_f: 1024 bytes of scratch a thread, 0 run-time checks".
  virtual std::string describe(size_t kernel) const = 0;
  virtual BindOptions bind_options() const = 0;
  // `num_blocks` of each kernel. `bound` stays alive as long as the launch. May add remarks of this launch.
  virtual std::unique_ptr<BoundLaunch> bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                            std::vector<Remark>& remarks) const = 0;
};

// Vectors in CUDA text take for granted that tensors begin at a multiple of so many bytes.
constexpr uintptr_t kTensorAlignment = 16;

// Error{invalid_kernel} for a failed check of generated code.
Error failed_check(const codegen::CheckSite& site, const long long* at);

// Name, space, dtype and leading dimensions of each on-chip tile, for the report.
std::string describe_tiles(const ir::Program& lowered);

// A scalar as generated code takes it: the integer, or the bits of the double.
int64_t raw_value(DType dtype, const ScalarValue& value);
// The same as a parameter of a CUDA kernel: in the low bytes the bits that the type has in expressions.
int64_t parameter_bits(DType dtype, const ScalarValue& value);

}  // namespace tilewright
