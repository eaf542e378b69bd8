// SPDX-License-Identifier: Apache-2.0
// What a DPU can do, as numbers: limits of its engines, parallelism, memory. Read from the description that
// libtarget-factory gives of a target.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::partition {

// Both ends included.
struct Limits {
  int64_t low = 0, high = 0;
  bool holds(int64_t value) const { return value >= low && value <= high; }
  std::string to_string() const;  // "1..16"
};

struct DpuTarget {
  std::string name;  // "DPUCZDX8G_ISA1_B4096"
  std::string type;  // "DPUCZDX8G"
  int64_t isa = 0;
  int64_t pixel_parallel = 0, input_channel_parallel = 0, output_channel_parallel = 0;
  int64_t weight_bank_depth = 0;     // of the convolution's weights
  int64_t depthwise_bank_depth = 0;  // of the depthwise weights
  int64_t depthwise_bank_width = 0;
  int64_t image_bytes = 0, weight_bytes = 0;  // on the chip
  Limits conv_kernel, conv_stride;
  Limits alu_kernel, alu_stride;      // pools and depthwise convolutions
  Limits alu_pad_begin, alu_pad_end;  // left and top, right and bottom
  std::set<std::string> conv_activations, alu_activations,
      add_activations;              // "relu", "leaky_relu", "relu_six"
  std::set<std::string> alu_types;  // "avg_pool", "hsigmoid", ...

  // Channels that a layer may have.
  int64_t channels_max() const { return 256 * input_channel_parallel; }
};

// The text form of the target's protobuf. Error kUnsupported for targets without the engines that the rules
// speak of (a convolution engine and an ALU engine).
Result<DpuTarget> parse_dpu_target(std::string_view text);

// "B4096" -> "DPUCZDX8G_ISA1_B4096"; other names stay.
std::string full_target_name(const std::string& name);
// The targets that the rules are made for.
std::vector<std::string> known_targets();

}  // namespace tandem::partition
