// SPDX-License-Identifier: Apache-2.0
// The one thin layer over oneDNN: every call of the library is in dnn.cpp, which serves its API of version 2
// (operation descriptors) and 3 (none). Version 3's branch is written from its documentation and has not been
// compiled yet.
//
// What a convolution or product computes, in both versions (dst in its own dtype, saturated, ties to even):
//   dst = post_ops(scale[c] * (sum (src - src_zero) * weights + bias[c])) + dst_zero
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::exec::dnn {

// kChannelsLast: [N,C,spatial...] stored as [N,spatial...,C]; only for rank >= 3.
enum class Layout : uint8_t { kPlain, kChannelsLast };

struct Desc {
  DType dtype = DType::kF32;  // f32, i32, i8, u8, bf16
  Shape shape;                // logical, N C spatial...
  Layout layout = Layout::kPlain;
  std::vector<int64_t> strides = {};  // in elements; when given, instead of layout
};

enum class Eltwise : uint8_t {
  kRelu,    // x > 0 ? x : alpha x
  kClip,    // min(max(x, alpha), beta)
  kLinear,  // alpha x + beta
  kElu,
  kLogistic,
  kTanh,
  kSwish /* x logistic(alpha x) */,
  kHardSwish,
  kGeluErf,
  kGeluTanh,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kMish,
  kSquare
};

struct PostOp {
  enum class Kind : uint8_t { kEltwise, kSum };
  Kind kind = Kind::kEltwise;
  Eltwise eltwise = Eltwise::kRelu;
  float alpha = 0;
  float beta = 0;
  float scale = 1;            // eltwise: scale * f(x); sum: + scale * (dst_before - zero_point)
  int32_t zero_point = 0;     // sum only
  DType dtype = DType::kF32;  // sum only: how the bytes already in dst are read
};

struct Attributes {
  std::vector<float> scale;  // none, one, or one per output channel
  int32_t src_zero = 0;
  int32_t dst_zero = 0;
  std::vector<PostOp> post_ops;
};

struct ConvSpec {
  bool transposed = false;
  Desc src, dst;
  DType weights_dtype = DType::kF32;
  // [O, I, k...] or, with groups, [G, O/G, I/G, k...] for both directions; weights are packed in the
  // library's own order.
  Shape weights_shape;
  bool grouped = false;
  std::optional<DType> bias;  // f32 or i32
  std::vector<int64_t> strides, dilations, pad_begin,
      pad_end;  // one per spatial dimension; dilation 1 is dense
  Attributes attributes;
};

struct MatMulSpec {
  Desc a, b, c;               // [..., M, K] x [..., K, N] = [..., M, N], equal ranks
  bool pack_b = false;        // b is constant: the library chooses its order (b's layout is then ignored)
  std::optional<DType> bias;  // [N]
  Attributes attributes;
};

enum class PoolAlgorithm : uint8_t { kMax, kAverageIncludePad, kAverageExcludePad };
struct PoolSpec {
  PoolAlgorithm algorithm = PoolAlgorithm::kMax;
  Desc src, dst;
  std::vector<int64_t> kernel, strides, dilations, pad_begin, pad_end;
};

struct EltwiseSpec {
  Eltwise algorithm = Eltwise::kRelu;
  float alpha = 0, beta = 0;
  Desc data;  // src and dst alike
};

struct SoftmaxSpec {
  Desc data;
  int axis = 1;
  bool log = false;
};

struct LrnSpec {  // across channels, window `size`
  Desc data;
  int64_t size = 5;
  float alpha = 1e-4f, beta = 0.75f, k = 1;
};

struct LayerNormSpec {  // over the last dimension
  Desc data;
  float epsilon = 1e-5f;  // scale and shift are f32 [last dimension]
};

enum class Role : uint8_t { kSrc, kWeights, kBias, kDst, kScale, kShift };

// Constant bytes in the order one primitive wants. Belongs to this process and CPU: never stored.
class Packed {
 public:
  struct Impl;
  explicit Packed(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }
  size_t size_bytes() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// A planned operation. Immutable; several threads may execute it at once, each with its own scratchpad.
class Primitive {
 public:
  struct Impl;
  // Error kUnsupported when the library has no implementation.
  static Result<Primitive> conv(const ConvSpec& spec);
  static Result<Primitive> matmul(const MatMulSpec& spec);
  static Result<Primitive> pool(const PoolSpec& spec);
  static Result<Primitive> eltwise(const EltwiseSpec& spec);
  static Result<Primitive> softmax(const SoftmaxSpec& spec);
  static Result<Primitive> lrn(const LrnSpec& spec);
  static Result<Primitive> layer_norm(const LayerNormSpec& spec);

  // The library's name of the implementation, "brgconv:avx512_core_vnni".
  const std::string& info() const;
  // True for the library's slow reference loops, which it chooses silently.
  bool is_reference() const;
  size_t scratchpad_bytes() const;
  // `plain` has the shape and dtype of the spec, row-major (or `strides`, in elements). The bias likewise.
  Result<Packed> pack_weights(const TensorView& plain, const std::vector<int64_t>& strides = {}) const;
  Result<Packed> pack_bias(const TensorView& plain) const;
  const std::shared_ptr<const Impl>& handle() const { return impl_; }

 private:
  explicit Primitive(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Where one thread's primitives run.
class Stream {
 public:
  struct Impl;
  Stream();
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A primitive with its arguments; execute() does not allocate. One thread at a time.
class Call {
 public:
  explicit Call(const Primitive& primitive);
  ~Call();
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;
  void bind(Role role, const Packed& packed);
  // Binds memory of the spec's layout; cheap when the pointer is the same as before.
  void bind(Role role, std::byte* data);
  void bind_scratchpad(std::byte* data);
  Status execute(Stream& stream);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// What the library is and what it dispatches to.
struct Library {
  std::string version;      // "2.6.3"
  std::string isa;          // "avx512_core_vnni", "amx", ...
  bool exact_int8 = false;  // u8 x s8 products do not saturate in 16 bits
};
const Library& library();

// Threads for primitives created and executed by the calling thread from now on.
void set_threads(int threads);

}  // namespace tandem::exec::dnn
