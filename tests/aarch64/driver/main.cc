// driver IN OUT: runs generated kernels on the arguments that IN has, and writes to OUT what the tensors hold
// afterwards. Numbers are of 64 bits, in the order of bytes of this machine. IN has the number of programs, and of each
//     number of tensors, then of each the earlier tensor whose memory it shares, or its own number, its bytes; contents
//     number of scalars; those as generated code takes them
//     number of kernels, then of each the blocks of its grid and its bytes of scratch
// OUT has the contents of the tensors that share no memory, in the same order. The exit status is 0 unless a kernel
// reported a failed check, wrote outside of a tensor, or IN is not of this form.
#include "aarch64/driver/kernels.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace tw = tilewright::device::cpu;

using Number = unsigned long long;
namespace {

[[noreturn]] void fail(const char* what, Number program) {
  std::fprintf(stderr, "program %llu: %s\n", program, what);
  std::exit(1);
}

class Input {
 public:
  explicit Input(const char* path) : file_(std::fopen(path, "rb")) {
    if (file_ == nullptr) fail("the input cannot be opened", 0);
  }
  void read(void* to, size_t bytes) {
    if (bytes > 0 && std::fread(to, 1, bytes, file_) != bytes) fail("the input ends early", 0);
  }
  Number number() {
    Number n = 0;
    read(&n, sizeof n);
    return n;
  }

 private:
  FILE* file_;
};

// Memory between bytes that must not change.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : size_(bytes), memory_(static_cast<unsigned char*>(aligned_alloc(kAlign, total()))) {
    if (memory_ == nullptr) fail("out of memory", 0);
    std::memset(memory_, kGuard, total());
  }
  unsigned char* data() const { return memory_ + kAlign; }
  size_t size() const { return size_; }
  bool intact() const {
    for (size_t i = 0; i < total(); ++i) {
      if ((i < kAlign || i >= kAlign + size_) && memory_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kAlign = 4096;
  static constexpr unsigned char kGuard = 0xA5;
  size_t total() const { return kAlign + (size_ + 2 * kAlign - 1) / kAlign * kAlign; }

  size_t size_;
  unsigned char* memory_;
};

void run(Kernel* kernel, void* const* tensors, const long long* scalars, Number blocks, Number scratch_bytes,
         Number program) {
  static const unsigned interrupts = 0;
  tw::Failure failure = {};
  failure.interrupts = &interrupts;
  failure.report = [](void*, long long, const long long*) {};
  const Guarded scratch(static_cast<size_t>(scratch_bytes));
  kernel(tensors, scalars, 0, static_cast<long long>(blocks), reinterpret_cast<char*>(scratch.data()), &failure);
  if (failure.site != 0) fail("a check failed", program);
  if (!scratch.intact()) fail("bytes outside of the scratch memory were written", program);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: driver IN OUT", 0);
  Input in(argv[1]);
  FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) fail("the output cannot be opened", 0);
  const Number programs = in.number();
  size_t next_kernel = 0;
  for (Number program = 0; program < programs; ++program) {
    std::vector<Guarded> owned;
    std::vector<void*> tensors(static_cast<size_t>(in.number()));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto root = static_cast<size_t>(in.number()), bytes = static_cast<size_t>(in.number());
      if (root == i) in.read(owned.emplace_back(bytes).data(), bytes);
      tensors[i] = root == i ? owned.back().data() : tensors[root];
    }
    std::vector<long long> scalars(static_cast<size_t>(in.number()));
    in.read(scalars.data(), scalars.size() * sizeof(long long));
    for (Number kernels = in.number(); kernels > 0; --kernels) {
      const Number blocks = in.number(), scratch = in.number();
      if (next_kernel == kNumKernels) fail("there are more kernels than in the table", program);
      run(kKernels[next_kernel++], tensors.data(), scalars.data(), blocks, scratch, program);
    }
    for (const Guarded& memory : owned) {
      if (!memory.intact()) fail("bytes outside of a tensor were written", program);
      if (std::fwrite(memory.data(), 1, memory.size(), out) != memory.size()) fail("the output is cut", program);
    }
  }
  if (std::fclose(out) != 0) fail("the output is cut", programs);
  return 0;
}
