// The text form of programs: what `tw trace`, golden tests and messages show. ir/parse.h reads it back.
//
//   program relu(A, B) vars 3 {
//     tensor A: f32[64, 64]
//     tensor B: f32[64, 64]
//
//     kernel relu(bx@0 < 4) threads 128 {
//       tile A: global f32[64, 64] of A
//       tile B: global f32[64, 64] of B
//       tile a: fragment f32[16, 64]
//       copy(A[bx * 16:+16, 0:64], a[0:16, 0:64])
//       for i@1, j@2 in parallel(0:16, 0:64) {
//         a[i, j] = max(a[i, j], 0.0)
//       }
//       copy(a[0:16, 0:64], B[bx * 16:+16, 0:64])
//     }
//   }
//
// A variable shows its id where it is defined, and its dtype there unless that is i64; later a plain name means the
// last definition of that name, and name@id any earlier one. A tile or tensor whose name is not unique is name@row.
// Ranges are begin:end when both are constants or begin is 0, begin:+extent otherwise, and one index where the extent
// is 1. Literals without a dtype are i64, f32 or bool; others read u8(7), f16(0.5). // and % are floordiv and floormod.
#pragma once

#include "ir/kernel.h"

#include <string>

namespace tilewright::ir {

// The whole program; parse(print(p)) is equal to p for every program that `verify` accepts.
std::string print(const Program& program);

// Parts, for messages: variables without ids, tiles by name.
std::string print(const Kernel& kernel);
std::string print(const Stmt& stmt, const Kernel& kernel);
std::string print(const TileRef& ref, const Kernel& kernel);
std::string print(const Expr& e);

// The shortest decimal that rounds to `value` in `dtype`: always with a point, an exponent, inf or nan.
std::string float_text(double value, DType dtype = DType::f64);

}  // namespace tilewright::ir
