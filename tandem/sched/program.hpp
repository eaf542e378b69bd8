// SPDX-License-Identifier: Apache-2.0
// Program: one training step as a chain of stages over tensors, with the nominal cost of each stage on each
// device; and Locations: which device holds which tensor. Plain values; nothing here allocates once built.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tandem/base/ids.hpp"
#include "tandem/base/result.hpp"

namespace tandem::sched {

// Device 0 is the host: fresh inputs appear there.
enum class DeviceId : uint32_t {};
inline constexpr DeviceId kHost = DeviceId{0};
inline constexpr DeviceId kNoDevice = kNone<DeviceId>;

inline constexpr uint32_t kDevicesMax = 4;
inline constexpr uint32_t kTensorsMax = 128;
inline constexpr uint32_t kStagesMax = 96;
// As a nominal service time: the stage cannot run on that device.
inline constexpr int64_t kCannotRun = std::numeric_limits<int64_t>::max();
// Times beyond a year are refused by verify(), so that sums of a few of them cannot overflow.
inline constexpr int64_t kTimeMaxNs = int64_t{366} * 86'400 * 1'000'000'000;

// A set of tensors by their index.
struct TensorSet {
  std::array<uint64_t, kTensorsMax / 64> words{};

  void add(uint32_t tensor) { words[tensor / 64] |= uint64_t{1} << (tensor % 64); }
  bool has(uint32_t tensor) const { return (words[tensor / 64] >> (tensor % 64) & 1) != 0; }
  bool empty() const { return (words[0] | words[1]) == 0; }
  friend TensorSet operator|(TensorSet a, const TensorSet& b) {
    for (size_t i = 0; i < a.words.size(); ++i) a.words[i] |= b.words[i];
    return a;
  }
  friend TensorSet operator&(TensorSet a, const TensorSet& b) {
    for (size_t i = 0; i < a.words.size(); ++i) a.words[i] &= b.words[i];
    return a;
  }
  // The members of a that are not in b.
  friend TensorSet operator-(TensorSet a, const TensorSet& b) {
    for (size_t i = 0; i < a.words.size(); ++i) a.words[i] &= ~b.words[i];
    return a;
  }
  friend bool operator==(const TensorSet&, const TensorSet&) = default;
};

enum class StageKind : uint8_t { kForward, kBackward, kUpdate, kOther };
const char* to_string(StageKind kind);

struct Tensor {
  std::string name;
  int64_t bytes = 0;
  bool fresh = false;  // made anew on the host for every step: the mini-batch
};

struct Stage {
  std::string name;
  StageKind kind = StageKind::kOther;
  // Mean service time on the idle device, or kCannotRun.
  std::array<int64_t, kDevicesMax> nominal_ns{};
  TensorSet inputs;   // must be on the device before the stage starts
  TensorSet outputs;  // afterwards valid on that device only
};

// Stages in execution order.
struct Program {
  uint32_t device_count = 2;
  std::vector<Tensor> tensors;
  std::vector<Stage> stages;
};

// Error kBadInput names the stage and the limit that it breaks: counts, negative or huge times, a stage that
// no device can run, a tensor that is not there.
Status verify(const Program& program);

// present[d]: the tensors of which device d holds a valid copy.
struct Locations {
  std::array<TensorSet, kDevicesMax> present{};
};

// Everything lies on the host.
Locations at_start(const Program& program);
// A new step: fresh tensors are on the host only.
void begin_step(const Program& program, Locations& locations);
// The stage has run on `device`: its inputs were copied there, its outputs are valid there only. Inline, as
// bytes_of(): lookahead calls both some hundred times a decision.
inline void after_stage(const Stage& stage, uint32_t device_count, DeviceId device, Locations& locations) {
  for (uint32_t d = 0; d < device_count; ++d) locations.present[d] = locations.present[d] - stage.outputs;
  TensorSet& here = locations.present[index_of(device)];
  here = here | stage.inputs | stage.outputs;
}

inline int64_t bytes_of(const Program& program, const TensorSet& tensors) {
  int64_t bytes = 0;
  for (uint32_t word = 0; word < tensors.words.size(); ++word) {
    for (uint64_t rest = tensors.words[word]; rest != 0; rest &= rest - 1) {
      bytes += program.tensors[word * 64 + static_cast<uint32_t>(std::countr_zero(rest))].bytes;
    }
  }
  return bytes;
}

}  // namespace tandem::sched
