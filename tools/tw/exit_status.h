// How `tw` ends. Scripts rely on these numbers.
#pragma once

enum class ExitStatus {
  success = 0,
  wrong = 1,      // a wrong result, a failed test, a defect of Tilewright
  refused = 2,    // bad arguments, or a program that is refused
  toolchain = 3,  // a compiler, driver or package is missing or broken
};
