// SPDX-License-Identifier: Apache-2.0
// Executable: a graph compiled for this CPU, one batch size and one set of input shapes. Weights are packed
// and primitives made once; running allocates nothing but the result tensors. `ref` is the judge of what it
// computes: in pow2 bit for bit, in affine within 1 LSB per node on the same inputs, in f32 within a
// tolerance.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::exec {

struct CompileOptions {
  int64_t batch = 1;                // for dimension 0 of inputs that leave it open; ignored with input_shapes
  std::vector<Shape> input_shapes;  // optional: exact, one per graph input
  int threads = 1;                  // of oneDNN, per run
  bool allow_reference = true;      // false: error kUnsupported when a node needs the reference's loop
  bool keep_all_values = false;  // every value keeps its memory and is shown to the observer; slower, larger
  // The observer sees every computed value right after its node, in whatever layout it has (its shape is
  // the logical one). Memory is reused as without an observer: for statistics that need no order.
  bool observe_in_place = false;
  bool profile = false;  // run() measures every node
};

// How one node is executed. Nodes that disappear (views, shape computations) are listed too.
struct NodeReport {
  ir::NodeId node = ir::kNoNode;  // in Executable::graph()
  std::string name;               // of the node
  std::string op;                 // ir::describe
  std::string implementation;     // "brgconv:avx512_core_vnni", "own binary", "view", "ref", "unused"
  bool reference = false;         // oneDNN's silent reference loops or ours
  bool in_floats = false;         // it reads an activation as f32: stored so, or dequantized for it
  std::string fallback_reason;    // why it is not faster; empty when it is
  int64_t macs = 0;
  int64_t calls = 0;  // with profile: of run()
  int64_t ns = 0;     // with profile: in all calls
};

// value, its stored elements (valid during the call) in plain row-major layout, or in any with
// observe_in_place.
using ValueObserver = std::function<void(ir::ValueId, const TensorView&)>;

struct Program;
struct Instance;

class Executable {
 public:
  // kBadInput for graphs that do not verify with these shapes, kUnsupported for ops that nothing executes.
  static Result<Executable> compile(const ir::Graph& graph, const CompileOptions& options = {});
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  // Another instance of the same program for another thread: weights and primitives are shared, memory is
  // not.
  Executable clone() const;

  // Inputs in graph order, of storage dtype and the compiled shapes, row-major. Outputs likewise.
  Result<std::vector<Tensor>> run(std::span<const TensorView> inputs);
  // Precondition of `outputs`: dtypes and shapes as output_type() says. Allocates nothing (without observer).
  Status run_into(std::span<const TensorView> inputs, std::span<Tensor> outputs);
  // Called after each node during run() for every value it made. Needs keep_all_values or observe_in_place.
  void set_observer(ValueObserver observer);

  const ir::Graph& graph() const;  // with bound shapes; ids of reports and observers refer to it
  const std::vector<NodeReport>& report() const;
  size_t arena_bytes() const;   // activations and scratchpad of one instance
  size_t weight_bytes() const;  // shared by all instances

 private:
  explicit Executable(std::shared_ptr<const Program> program);
  std::shared_ptr<const Program> program_;
  std::unique_ptr<Instance> instance_;
};

}  // namespace tandem::exec
