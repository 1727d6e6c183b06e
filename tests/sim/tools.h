// The cache and the host compiler of the tests of the simulator.
#pragma once

#include "runtime/host_compiler.h"
#include "support/options.h"

namespace tilewright::test {

struct Tools {
  Options options = read_options_from_environment();
  Cache cache = Cache::open(cache_options(options));
  HostCompiler compiler = HostCompiler::find(host_compiler_options(options), cache);

  // Those of the process.
  static Tools& get() {
    static Tools tools;
    return tools;
  }
};

}  // namespace tilewright::test
