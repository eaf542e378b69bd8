// SPDX-License-Identifier: Apache-2.0
// What this CPU and the library under the executor can do; part of every result that is recorded.
#pragma once

#include <string>

namespace tandem::exec {

struct Isa {
  std::string library;    // "oneDNN 2.6.3"
  std::string effective;  // what oneDNN dispatches to: "avx2", "avx512_core_vnni", "avx512_core_amx", ...
  std::string rows;       // what our own loops were compiled for: "avx512", "avx2", "portable"
  // 8-bit products are summed without saturating in 16 bits (VNNI or AMX). Where this is false, integer
  // convolutions run in f32 (affine) or by the reference (pow2), and say so.
  bool exact_int8 = false;
};

const Isa& isa();

}  // namespace tandem::exec
