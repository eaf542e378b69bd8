// SPDX-License-Identifier: Apache-2.0
// Program: what compiling a graph makes: buffers, steps, and where in one arena every buffer lies. Immutable
// once made and shared by all instances that execute it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/exec/dnn.hpp"
#include "tandem/exec/executable.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::exec {

using dnn::Layout;

enum class BufferId : uint32_t {};
inline constexpr BufferId kNoBuffer = kNone<BufferId>;

struct Buffer {
  enum class Home : uint8_t {
    kArena,
    kConstant,  // owned by the program
    kInput,     // the caller's memory, only read
    kOutput,    // the caller's memory, only written
    kAlias,     // starts where `base` starts
  };
  DType dtype = DType::kF32;
  Shape shape;  // logical
  Layout layout = Layout::kPlain;
  size_t bytes = 0;
  Home home = Home::kArena;
  size_t index = 0;      // of the graph's input or output
  ConstTensor constant;  // bytes in `layout`
  BufferId base = kNoBuffer;
  size_t offset = 0;  // in the arena, by plan_memory()
};

// Pointers by BufferId.
using Pointers = std::span<std::byte* const>;
using Kernel = std::function<Status(Pointers)>;

struct Step {
  ir::NodeId node = ir::kNoNode;
  std::string implementation;
  std::vector<BufferId> reads, writes;
  // Either a oneDNN primitive with its arguments ...
  std::optional<dnn::Primitive> primitive;
  std::vector<std::pair<dnn::Role, BufferId>> arguments;
  std::vector<std::pair<dnn::Role, dnn::Packed>> packed;
  // ... or an own loop.
  Kernel kernel;
};

struct Observed {
  ir::ValueId value;
  BufferId buffer;    // in plain layout with keep_all_values
  size_t after_step;  // its bytes are valid once so many steps have run
};

struct Program {
  ir::Graph graph;  // bound to static shapes
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<Observed> observed;  // with keep_all_values or observe_in_place
  std::vector<NodeReport> report;
  size_t arena_bytes = 0;
  size_t scratchpad_bytes = 0;
  size_t constant_bytes = 0;  // packed weights and constant buffers
  bool interpreted = false;   // shapes depend on data: `ref` runs the whole graph
  bool profile = false;
  int threads = 1;

  Buffer& buffer(BufferId id) { return buffers[index_of(id)]; }
  const Buffer& buffer(BufferId id) const { return buffers[index_of(id)]; }
  // The buffer whose memory this one uses.
  BufferId root(BufferId id) const;
};

// Elements between neighbours along each logical axis.
std::vector<int64_t> strides_of(const Shape& shape, Layout layout);
// True when both layouts put every element at the same place.
bool layouts_agree(const Shape& shape);

}  // namespace tandem::exec
