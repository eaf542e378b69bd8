// SPDX-License-Identifier: Apache-2.0
// All oneDNN calls of the project. Exceptions of the library end here.
#include "tandem/exec/dnn.hpp"

#include <dnnl.hpp>

#include <cstring>
#include <map>
#include <numeric>

#define TANDEM_DNNL_V3 (DNNL_VERSION_MAJOR >= 3)

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
extern "C" void omp_set_num_threads(int threads);
#endif

namespace tandem::exec::dnn {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type type_of(DType dtype) {
  using T = dnnl::memory::data_type;
  switch (dtype) {
    case DType::kF32: return T::f32;
    case DType::kBF16: return T::bf16;
    case DType::kI32: return T::s32;
    case DType::kI8: return T::s8;
    case DType::kU8: return T::u8;
    default: return T::undef;
  }
}

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * std::max<int64_t>(dims[i - 1], 1);
  return strides;
}

dnnl::memory::desc desc_of(const Desc& d) {
  Dims dims(d.shape.begin(), d.shape.end());
  if (dims.empty()) dims = {1};
  if (!d.strides.empty()) return {dims, type_of(d.dtype), Dims(d.strides.begin(), d.strides.end())};
  if (d.layout == Layout::kChannelsLast && dims.size() >= 3 && dims.size() <= 5) {
    const Tag tag = dims.size() == 3 ? Tag::nwc : dims.size() == 4 ? Tag::nhwc : Tag::ndhwc;
    return {dims, type_of(d.dtype), tag};
  }
  return {dims, type_of(d.dtype), row_major(dims)};
}

struct EltwiseCode {
  dnnl::algorithm algorithm;
  float alpha, beta;
};

EltwiseCode code_of(Eltwise e, float alpha, float beta) {
  using A = dnnl::algorithm;
  switch (e) {
    case Eltwise::kRelu: return {A::eltwise_relu, alpha, 0};
    case Eltwise::kClip: return {A::eltwise_clip, alpha, beta};
    case Eltwise::kLinear: return {A::eltwise_linear, alpha, beta};
    case Eltwise::kElu: return {A::eltwise_elu, alpha, 0};
    case Eltwise::kLogistic: return {A::eltwise_logistic, 0, 0};
    case Eltwise::kTanh: return {A::eltwise_tanh, 0, 0};
    case Eltwise::kSwish: return {A::eltwise_swish, alpha, 0};
#if TANDEM_DNNL_V3
    case Eltwise::kHardSwish: return {A::eltwise_hardswish, 1.0f / 6, 0.5f};
#else
    case Eltwise::kHardSwish: return {A::eltwise_hardswish, 0, 0};
#endif
    case Eltwise::kGeluErf: return {A::eltwise_gelu_erf, 0, 0};
    case Eltwise::kGeluTanh: return {A::eltwise_gelu_tanh, 0, 0};
    case Eltwise::kExp: return {A::eltwise_exp, 0, 0};
    case Eltwise::kLog: return {A::eltwise_log, 0, 0};
    case Eltwise::kSqrt: return {A::eltwise_sqrt, 0, 0};
    case Eltwise::kAbs: return {A::eltwise_abs, 0, 0};
    case Eltwise::kMish: return {A::eltwise_mish, 0, 0};
    case Eltwise::kSquare: return {A::eltwise_square, 0, 0};
  }
  return {A::eltwise_linear, 1, 0};
}

struct Fixed {
  int arg;
  dnnl::memory memory;
  std::vector<std::byte> bytes;
};

int arg_of(Role role) {
  switch (role) {
    case Role::kSrc: return DNNL_ARG_SRC;
    case Role::kWeights: return DNNL_ARG_WEIGHTS;
    case Role::kBias: return DNNL_ARG_BIAS;
    case Role::kDst: return DNNL_ARG_DST;
    case Role::kScale: return DNNL_ARG_SCALE;
    case Role::kShift: return DNNL_ARG_SHIFT;
  }
  return DNNL_ARG_SRC;
}

}  // namespace

struct Packed::Impl {
  dnnl::memory memory;  // owns its bytes
};

size_t Packed::size_bytes() const { return impl_->memory.get_desc().get_size(); }

struct Primitive::Impl {
  dnnl::primitive primitive;
  std::string info;
  dnnl::memory::desc scratchpad;
  std::map<int, dnnl::memory::desc> descs;          // by argument
  std::vector<float> bias_scale;                    // version 3 only: its bias is added after the scale
  std::vector<std::shared_ptr<const Fixed>> fixed;  // version 3 only: run-time scales and zero points
};

namespace {

std::vector<std::byte> bytes_of(const void* data, size_t size) {
  std::vector<std::byte> out(size);
  std::memcpy(out.data(), data, size);
  return out;
}

// `scale_mask` selects the output channels among the weights' dimensions (version 3) or the destination's
// (version 2).
dnnl::primitive_attr attributes_of(const Attributes& a, int scale_mask, Primitive::Impl& impl) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if TANDEM_DNNL_V3
  auto add_fixed = [&](int arg, dnnl::memory::data_type type, const void* data, size_t count) {
    auto fixed = std::make_shared<Fixed>();
    fixed->arg = arg;
    fixed->bytes = bytes_of(data, count * 4);
    fixed->memory = dnnl::memory({{static_cast<int64_t>(count)}, type, Tag::a}, cpu(), fixed->bytes.data());
    impl.fixed.push_back(std::move(fixed));
  };
  if (!a.scale.empty()) {
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, a.scale.size() > 1 ? scale_mask : 0);
    add_fixed(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, dnnl::memory::data_type::f32, a.scale.data(),
              a.scale.size());
    impl.bias_scale = a.scale;
  }
  if (a.src_zero != 0) {
    attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    add_fixed(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, dnnl::memory::data_type::s32, &a.src_zero, 1);
  }
  if (a.dst_zero != 0) {
    attr.set_zero_points_mask(DNNL_ARG_DST, 0);
    add_fixed(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, dnnl::memory::data_type::s32, &a.dst_zero, 1);
  }
#else
  static_cast<void>(impl);
  static_cast<void>(bytes_of);
  if (!a.scale.empty()) attr.set_output_scales(a.scale.size() > 1 ? scale_mask : 0, a.scale);
  if (a.src_zero != 0) attr.set_zero_points(DNNL_ARG_SRC, 0, {a.src_zero});
  if (a.dst_zero != 0) attr.set_zero_points(DNNL_ARG_DST, 0, {a.dst_zero});
#endif
  dnnl::post_ops ops;
  for (const PostOp& op : a.post_ops) {
    if (op.kind == PostOp::Kind::kSum) {
      ops.append_sum(op.scale, op.zero_point, type_of(op.dtype));
      continue;
    }
    const EltwiseCode code = code_of(op.eltwise, op.alpha, op.beta);
#if TANDEM_DNNL_V3
    ops.append_eltwise(code.algorithm, code.alpha, code.beta);
    if (op.scale != 1) ops.append_eltwise(dnnl::algorithm::eltwise_linear, op.scale, 0);
#else
    ops.append_eltwise(op.scale, code.algorithm, code.alpha, code.beta);
#endif
  }
  attr.set_post_ops(ops);
  return attr;
}

// Runs `make(impl)` with the library's exceptions turned into errors.
template <typename F>
Result<std::shared_ptr<const Primitive::Impl>> guarded(const char* what, F&& make) {
  try {
    auto impl = std::make_shared<Primitive::Impl>();
    make(*impl);
    return std::shared_ptr<const Primitive::Impl>(std::move(impl));
  } catch (const dnnl::error& e) {
    return unsupported(fmt::format("oneDNN has no {} for this", what)).because(e.message);
  } catch (const std::exception& e) {
    return internal_error(fmt::format("oneDNN failed to make a {}", what)).because(e.what());
  }
}

template <typename P, typename Pd>
void finish(Primitive::Impl& impl, const Pd& pd) {
  impl.info = pd.impl_info_str();
  impl.scratchpad = pd.scratchpad_desc();
  impl.primitive = P(pd);
}

Dims dims_of(const std::vector<int64_t>& v) { return Dims(v.begin(), v.end()); }
// The library counts dilation from 0.
Dims dilates_of(const std::vector<int64_t>& v) {
  Dims out(v.begin(), v.end());
  for (auto& d : out) d -= 1;
  return out;
}

template <typename P>
void make_conv(Primitive::Impl& impl, const ConvSpec& s, dnnl::algorithm algorithm) {
  const auto src = desc_of(s.src), dst = desc_of(s.dst);
  const dnnl::memory::desc weights(dims_of(s.weights_shape.dims()), type_of(s.weights_dtype), Tag::any);
  const auto prop = dnnl::prop_kind::forward_inference;
  const Dims strides = dims_of(s.strides), dilates = dilates_of(s.dilations);
  const Dims begin = dims_of(s.pad_begin), end = dims_of(s.pad_end);
#if TANDEM_DNNL_V3
  const auto attr = attributes_of(s.attributes, s.grouped ? 3 : 1, impl);
  dnnl::memory::desc bias;
  if (s.bias) bias = {{s.dst.shape[1]}, dnnl::memory::data_type::f32, Tag::a};
  const auto pd = s.bias ? typename P::primitive_desc(cpu(), prop, algorithm, src, weights, bias, dst,
                                                      strides, dilates, begin, end, attr)
                         : typename P::primitive_desc(cpu(), prop, algorithm, src, weights, dst, strides,
                                                      dilates, begin, end, attr);
#else
  const auto attr = attributes_of(s.attributes, 1 << 1, impl);
  dnnl::memory::desc bias;
  if (s.bias) bias = {{s.dst.shape[1]}, type_of(*s.bias), Tag::a};
  const auto d =
      s.bias ? typename P::desc(prop, algorithm, src, weights, bias, dst, strides, dilates, begin, end)
             : typename P::desc(prop, algorithm, src, weights, dst, strides, dilates, begin, end);
  const typename P::primitive_desc pd(d, attr, cpu());
#endif
  impl.descs = {
      {DNNL_ARG_SRC, pd.src_desc()}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, pd.dst_desc()}};
  if (s.bias) impl.descs[DNNL_ARG_BIAS] = pd.bias_desc();
  finish<P>(impl, pd);
}

void make_matmul(Primitive::Impl& made, const MatMulSpec& s) {
  const auto a = desc_of(s.a), c = desc_of(s.c);
  const Dims b_dims = dims_of(s.b.shape.dims());
  const auto b = s.pack_b ? dnnl::memory::desc(b_dims, type_of(s.b.dtype), Tag::any) : desc_of(s.b);
  const int last = static_cast<int>(b_dims.size()) - 1;
  dnnl::memory::desc bias;
  Dims bias_dims(b_dims.size(), 1);
  bias_dims.back() = b_dims.back();
  const auto attr = attributes_of(s.attributes, 1 << last, made);
#if TANDEM_DNNL_V3
  if (s.bias) bias = {bias_dims, dnnl::memory::data_type::f32, row_major(bias_dims)};
  const auto pd = s.bias ? dnnl::matmul::primitive_desc(cpu(), a, b, bias, c, attr)
                         : dnnl::matmul::primitive_desc(cpu(), a, b, c, attr);
#else
  if (s.bias) bias = {bias_dims, type_of(*s.bias), row_major(bias_dims)};
  const auto d = s.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc pd(d, attr, cpu());
#endif
  made.descs = {
      {DNNL_ARG_SRC, pd.src_desc()}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, pd.dst_desc()}};
  if (s.bias) made.descs[DNNL_ARG_BIAS] = pd.bias_desc();
  finish<dnnl::matmul>(made, pd);
}

void make_pool(Primitive::Impl& made, const PoolSpec& s) {
  const auto src = desc_of(s.src), dst = desc_of(s.dst);
  const auto algorithm = s.algorithm == PoolAlgorithm::kMax ? dnnl::algorithm::pooling_max
                         : s.algorithm == PoolAlgorithm::kAverageIncludePad
                             ? dnnl::algorithm::pooling_avg_include_padding
                             : dnnl::algorithm::pooling_avg_exclude_padding;
  const auto prop = dnnl::prop_kind::forward_inference;
  const Dims kernel = dims_of(s.kernel), strides = dims_of(s.strides), dilates = dilates_of(s.dilations);
  const Dims begin = dims_of(s.pad_begin), end = dims_of(s.pad_end);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  made.descs = {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}};
#if TANDEM_DNNL_V3
  const dnnl::pooling_forward::primitive_desc pd(cpu(), prop, algorithm, src, dst, strides, kernel, dilates,
                                                 begin, end, attr);
  finish<dnnl::pooling_forward>(made, pd);
#else
  const bool dense = std::all_of(dilates.begin(), dilates.end(), [](int64_t d) { return d == 0; });
  if (dense) {
    const dnnl::pooling_forward::primitive_desc pd({prop, algorithm, src, dst, strides, kernel, begin, end},
                                                   attr, cpu());
    finish<dnnl::pooling_forward>(made, pd);
  } else {
    const dnnl::pooling_v2_forward::primitive_desc pd(
        {prop, algorithm, src, dst, strides, kernel, dilates, begin, end}, attr, cpu());
    finish<dnnl::pooling_v2_forward>(made, pd);
  }
#endif
}

void make_eltwise(Primitive::Impl& made, const EltwiseSpec& s) {
  const auto data = desc_of(s.data);
  const EltwiseCode code = code_of(s.algorithm, s.alpha, s.beta);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  made.descs = {{DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}};
  const auto prop = dnnl::prop_kind::forward_inference;
#if TANDEM_DNNL_V3
  const dnnl::eltwise_forward::primitive_desc pd(cpu(), prop, code.algorithm, data, data, code.alpha,
                                                 code.beta, attr);
#else
  const dnnl::eltwise_forward::primitive_desc pd({prop, code.algorithm, data, code.alpha, code.beta}, attr,
                                                 cpu());
#endif
  finish<dnnl::eltwise_forward>(made, pd);
}

void make_softmax(Primitive::Impl& made, const SoftmaxSpec& s) {
  const auto data = desc_of(s.data);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  made.descs = {{DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}};
  const auto prop = dnnl::prop_kind::forward_inference;
  const auto algorithm = s.log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
#if TANDEM_DNNL_V3
  const dnnl::softmax_forward::primitive_desc pd(cpu(), prop, algorithm, data, data, s.axis, attr);
  finish<dnnl::softmax_forward>(made, pd);
#else
  const dnnl::softmax_v2_forward::primitive_desc pd({prop, algorithm, data, data, s.axis}, attr, cpu());
  finish<dnnl::softmax_v2_forward>(made, pd);
#endif
}

void make_lrn(Primitive::Impl& made, const LrnSpec& s) {
  const auto data = desc_of(s.data);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  made.descs = {{DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}};
  const auto prop = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::lrn_across_channels;
#if TANDEM_DNNL_V3
  const dnnl::lrn_forward::primitive_desc pd(cpu(), prop, algorithm, data, data, s.size, s.alpha, s.beta, s.k,
                                             attr);
#else
  const dnnl::lrn_forward::primitive_desc pd({prop, algorithm, data, s.size, s.alpha, s.beta, s.k}, attr,
                                             cpu());
#endif
  finish<dnnl::lrn_forward>(made, pd);
}

void make_layer_norm(Primitive::Impl& made, const LayerNormSpec& s) {
  const auto data = desc_of(s.data);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::memory::desc vector({s.data.shape[s.data.shape.rank() - 1]}, dnnl::memory::data_type::f32,
                                  Tag::a);
  made.descs = {
      {DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}, {DNNL_ARG_SCALE, vector}, {DNNL_ARG_SHIFT, vector}};
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const auto prop = dnnl::prop_kind::forward_inference;
#if TANDEM_DNNL_V3
  const dnnl::layer_normalization_forward::primitive_desc pd(cpu(), prop, data, data, s.epsilon, flags, attr);
#else
  const dnnl::layer_normalization_forward::primitive_desc pd({prop, data, s.epsilon, flags}, attr, cpu());
#endif
  finish<dnnl::layer_normalization_forward>(made, pd);
}

}  // namespace

Result<Primitive> Primitive::conv(const ConvSpec& s) {
  auto impl = TANDEM_TRY(guarded(s.transposed ? "deconvolution" : "convolution", [&](Impl& made) {
    if (s.transposed) {
      make_conv<dnnl::deconvolution_forward>(made, s, dnnl::algorithm::deconvolution_direct);
    } else {
      make_conv<dnnl::convolution_forward>(made, s, dnnl::algorithm::convolution_direct);
    }
  }));
  return Primitive(std::move(impl));
}

Result<Primitive> Primitive::matmul(const MatMulSpec& s) {
  return Primitive(TANDEM_TRY(guarded("matrix product", [&](Impl& made) { make_matmul(made, s); })));
}
Result<Primitive> Primitive::pool(const PoolSpec& s) {
  return Primitive(TANDEM_TRY(guarded("pooling", [&](Impl& made) { make_pool(made, s); })));
}
Result<Primitive> Primitive::eltwise(const EltwiseSpec& s) {
  return Primitive(TANDEM_TRY(guarded("elementwise function", [&](Impl& made) { make_eltwise(made, s); })));
}
Result<Primitive> Primitive::softmax(const SoftmaxSpec& s) {
  return Primitive(TANDEM_TRY(guarded("softmax", [&](Impl& made) { make_softmax(made, s); })));
}
Result<Primitive> Primitive::lrn(const LrnSpec& s) {
  return Primitive(
      TANDEM_TRY(guarded("local response normalization", [&](Impl& made) { make_lrn(made, s); })));
}
Result<Primitive> Primitive::layer_norm(const LayerNormSpec& s) {
  return Primitive(TANDEM_TRY(guarded("layer normalization", [&](Impl& made) { make_layer_norm(made, s); })));
}

const std::string& Primitive::info() const { return impl_->info; }
bool Primitive::is_reference() const {
  // "ref:any", "gemm:ref", "simple:any" names a loop over a fast kernel and is none.
  return impl_->info.find("ref") != std::string::npos;
}
size_t Primitive::scratchpad_bytes() const { return impl_->scratchpad.get_size(); }

Result<Packed> Primitive::pack_weights(const TensorView& plain, const std::vector<int64_t>& strides) const {
  try {
    const dnnl::memory::desc& wanted = impl_->descs.at(DNNL_ARG_WEIGHTS);
    Dims dims(plain.shape().begin(), plain.shape().end());
    const dnnl::memory::desc given(dims, type_of(plain.dtype()),
                                   strides.empty() ? row_major(dims) : dims_of(strides));
    dnnl::memory from(given, cpu(), const_cast<std::byte*>(plain.data()));
    auto packed = std::make_shared<Packed::Impl>(Packed::Impl{dnnl::memory(wanted, cpu())});
    dnnl::stream stream(cpu());
    dnnl::reorder(from, packed->memory).execute(stream, from, packed->memory);
    stream.wait();
    return Packed(std::shared_ptr<const Packed::Impl>(std::move(packed)));
  } catch (const dnnl::error& e) {
    return internal_error("oneDNN cannot pack weights").because(e.message);
  }
}

Result<Packed> Primitive::pack_bias(const TensorView& plain) const {
  try {
    const dnnl::memory::desc& wanted = impl_->descs.at(DNNL_ARG_BIAS);
    auto packed = std::make_shared<Packed::Impl>(Packed::Impl{dnnl::memory(wanted, cpu())});
    void* data = packed->memory.get_data_handle();
    if (impl_->bias_scale.empty()) {
      std::memcpy(data, plain.data(), plain.size_bytes());
    } else {
      float* out = static_cast<float*>(data);
      for (int64_t i = 0; i < plain.elements(); ++i) {
        const float scale = impl_->bias_scale[impl_->bias_scale.size() > 1 ? static_cast<size_t>(i) : 0];
        out[i] = static_cast<float>(element_as_double(plain, i) * scale);
      }
    }
    return Packed(std::shared_ptr<const Packed::Impl>(std::move(packed)));
  } catch (const dnnl::error& e) {
    return internal_error("oneDNN cannot store a bias").because(e.message);
  }
}

struct Stream::Impl {
  dnnl::stream stream{cpu()};
};
Stream::Stream() : impl_(std::make_unique<Impl>()) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

struct Call::Impl {
  struct Bound {
    int arg;
    dnnl::memory memory;
    std::byte* data;
  };
  std::shared_ptr<const Primitive::Impl> keep;
  std::vector<Bound> bound;  // memory of this call
  std::vector<dnnl::memory> shared;
  std::vector<dnnl_exec_arg_t> args;
};

Call::Call(const Primitive& primitive) : impl_(std::make_unique<Impl>()) {
  impl_->keep = std::shared_ptr<const Primitive::Impl>(primitive.handle());
  for (const auto& fixed : impl_->keep->fixed) impl_->args.push_back({fixed->arg, fixed->memory.get()});
}
Call::~Call() = default;
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;

void Call::bind(Role role, const Packed& packed) {
  impl_->shared.push_back(packed.impl().memory);
  impl_->args.push_back({arg_of(role), packed.impl().memory.get()});
}

namespace {
void bind_memory(Call::Impl& impl, int arg, const dnnl::memory::desc& desc, std::byte* data) {
  for (auto& b : impl.bound) {
    if (b.arg != arg) continue;
    if (b.data != data) b.memory.set_data_handle(data);
    b.data = data;
    return;
  }
  impl.bound.push_back({arg, dnnl::memory(desc, cpu(), data), data});
  impl.args.push_back({arg, impl.bound.back().memory.get()});
}
}  // namespace

void Call::bind(Role role, std::byte* data) {
  const int arg = arg_of(role);
  bind_memory(*impl_, arg, impl_->keep->descs.at(arg), data);
}
void Call::bind_scratchpad(std::byte* data) {
  if (impl_->keep->scratchpad.get_size() > 0)
    bind_memory(*impl_, DNNL_ARG_SCRATCHPAD, impl_->keep->scratchpad, data);
}

Status Call::execute(Stream& stream) {
  const dnnl_status_t status =
      dnnl_primitive_execute(impl_->keep->primitive.get(), stream.impl().stream.get(),
                             static_cast<int>(impl_->args.size()), impl_->args.data());
  if (status != dnnl_success) {
    return internal_error(fmt::format("oneDNN primitive {} failed with status {}", impl_->keep->info,
                                      static_cast<int>(status)));
  }
  return {};
}

const Library& library() {
  static const Library lib = [] {
    Library l;
    const dnnl_version_t* v = dnnl_version();
    l.version = fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
    using Isa = dnnl::cpu_isa;
    switch (dnnl::get_effective_cpu_isa()) {
      case Isa::sse41: l.isa = "sse41"; break;
      case Isa::avx: l.isa = "avx"; break;
      case Isa::avx2: l.isa = "avx2"; break;
      case Isa::avx2_vnni:
        l.isa = "avx2_vnni";
        l.exact_int8 = true;
        break;
      case Isa::avx512_core: l.isa = "avx512_core"; break;
      case Isa::avx512_core_vnni:
        l.isa = "avx512_core_vnni";
        l.exact_int8 = true;
        break;
      case Isa::avx512_core_bf16:
        l.isa = "avx512_core_bf16";
        l.exact_int8 = true;
        break;
      case Isa::avx512_core_amx:
        l.isa = "avx512_core_amx";
        l.exact_int8 = true;
        break;
      default: l.isa = "other"; break;
    }
    return l;
  }();
  return lib;
}

void set_threads(int threads) {
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
  omp_set_num_threads(threads);
#else
  static_cast<void>(threads);
#endif
}

}  // namespace tandem::exec::dnn
