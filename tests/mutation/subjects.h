// Kernels whose synchronisation is changed: the examples at sm_80 with small extents, the tables of
// tests/schedule/tables.h, of which the second loads by bulk copies and multiplies by warpgroups (sm_90a), and a
// product of clusters, whose text is written by hand (cluster_product.h).
#pragma once

#include "codegen/cuda.h"
#include "runtime/cuda/tensor_map.h"
#include "runtime/sim/detector.h"
#include "runtime/sim/module.h"
#include "target/sim.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::mutation {

// What a launch of a program came to.
struct Outcome {
  std::string report;                     // race, deadlock, misuse, outside, uninitialised, failed check; empty: none
  std::string text;                       // of the report
  std::vector<std::string> results = {};  // the bytes of each parameter, where nothing is reported
};

// One program: its text, kernel by kernel, and how to launch it.
class Subject {
 public:
  // `values`: of element i of parameter t. Small integers, so that sums are exact in any
  // order.
  using Values = std::function<double(size_t t, int64_t i)>;

  // Of each parameter, which are tensors.
  using Shapes = std::vector<std::vector<int64_t>>;

  // `launches`: one or several with the same text, where extents are known at launch only.
  Subject(std::string name, const ir::Program& program, bool is_table, const std::string& arch,
          const std::vector<Shapes>& launches, const Values& values);

  // A kernel that is written by hand: what is not in its text.
  struct HandWritten {
    std::string name, text;    // with #include lines; symbol(tensors, maps, first block, failure)
    codegen::CudaEntry entry;  // without a grid
    int num_blocks = 1, cluster = 1;
    std::vector<DType> dtypes;  // of the tensors
    Shapes shapes;
  };
  Subject(const HandWritten& kernel, const std::string& arch, const Values& values);

  const std::string& name() const { return name_; }
  size_t num_kernels() const { return pieces_.size(); }
  const std::string& kernel_text(size_t k) const { return pieces_[k]; }

  // A kernel with another text in place of its own.
  struct Variant {
    size_t kernel = 0;
    std::string text;
  };
  // The program and variants of its kernels, compiled at once.
  std::shared_ptr<const sim::Module> compile(const std::vector<Variant>& variants) const;
  size_t num_launches() const { return launches_.size(); }
  // `variant`: a number of those that the module was compiled with, for kernel `of`; -1: none.
  Outcome run(const sim::Module& module, size_t launch, const std::string& how, int variant = -1, size_t of = 0) const;

 private:
  struct Tensor {
    std::string initial;  // bytes
    DType dtype = DType::f32;
    std::vector<int64_t> shape;
    bool is_parameter = true;
  };
  struct Launch {
    std::vector<Tensor> tensors;
    std::vector<int64_t> scalars;     // the bits of each value in its own type
    std::vector<int64_t> num_blocks;  // of each kernel
  };
  class Memory;

  void cut_into_pieces();
  void bind(const ir::Program& program, const Shapes& shapes, const Values& values);
  bool run_kernel(const sim::Code& code, size_t k, const Launch& launch, Memory& memory, const SimTarget& target,
                  Outcome& out) const;

  std::string name_, arch_;
  codegen::CudaModule text_;
  std::string header_;
  int cluster_ = 1;  // blocks
  std::vector<std::string> pieces_;
  std::vector<int> shared_unit_bytes_;  // of each kernel
  std::vector<std::vector<sim::SharedPart>> shared_parts_;
  std::vector<Launch> launches_;
};

// Those of the full run; the short one takes a few.
std::vector<Subject> all_subjects();
std::vector<Subject> few_subjects();

}  // namespace tilewright::mutation
