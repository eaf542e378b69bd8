// SPDX-License-Identifier: Apache-2.0
// Normalizations. Means and variances are computed in double, in two passes; every element is rounded once.
#include "tandem/ir/ops/normalization.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {
namespace {

struct Moments {
  double mean = 0, variance = 0;  // population variance
};

// Of count elements given by at(i).
template <typename At>
Moments moments(int64_t count, At&& at) {
  Moments m;
  for (int64_t i = 0; i < count; ++i) m.mean += static_cast<double>(at(i));
  m.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double d = static_cast<double>(at(i)) - m.mean;
    m.variance += d * d;
  }
  m.variance /= static_cast<double>(count);
  return m;
}

struct ChannelView {
  int64_t batch, channels, plane;
};
Result<ChannelView> channel_view(const Shape& x) {
  if (x.rank() < 2) return bad_input(fmt::format("{} has no channel dimension", x.to_string()));
  int64_t plane = 1;
  for (size_t d = 2; d < x.rank(); ++d) plane *= x[d];
  return ChannelView{x[0], x[1], plane};
}

// An input with `count` numbers; error otherwise.
Result<std::vector<double>> per_channel(const Call& call, size_t input, int64_t count,
                                        std::string_view what) {
  if (call[input].elements() == count) return doubles(call[input]);
  return bad_input(fmt::format("{} has {} elements for {} channels", what, call[input].elements(), count));
}

}  // namespace

Outputs eval(const ir::Softmax& op, const Call& call) {
  const Tensor& x = call[0];
  Tensor y = TANDEM_TRY(call.make(0));
  const size_t rank = x.shape().rank();
  size_t axis = 0;
  if (op.flatten && op.axis == static_cast<int64_t>(rank))
    axis = rank;
  else if (rank > 0)
    axis = TANDEM_TRY(normalize_axis(op.axis, rank));
  AxisView view;
  if (op.flatten) {
    for (size_t d = 0; d < rank; ++d) (d < axis ? view.outer : view.extent) *= x.shape()[d];
  } else if (rank > 0) {
    view = around_axis(x.shape(), axis);
  }
  return with_float("Softmax", x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const T* from = data<T>(x) + o * view.extent * view.inner + i;
        T* to = data<T>(y) + o * view.extent * view.inner + i;
        double top = -INFINITY, sum = 0;
        for (int64_t k = 0; k < view.extent; ++k)
          top = std::max(top, static_cast<double>(from[k * view.inner]));
        for (int64_t k = 0; k < view.extent; ++k)
          sum += std::exp(static_cast<double>(from[k * view.inner]) - top);
        for (int64_t k = 0; k < view.extent; ++k) {
          const double shifted = static_cast<double>(from[k * view.inner]) - top;
          to[k * view.inner] = static_cast<T>(op.log ? shifted - std::log(sum) : std::exp(shifted) / sum);
        }
      }
    }
    return single(std::move(y));
  });
}

Outputs eval(const ir::BatchNorm& op, const Call& call) {
  const Tensor& x = call[0];
  const ChannelView v = TANDEM_TRY(channel_view(x.shape()));
  const std::vector<double> scale = TANDEM_TRY(per_channel(call, 1, v.channels, "scale"));
  const std::vector<double> bias = TANDEM_TRY(per_channel(call, 2, v.channels, "bias"));
  std::vector<double> mean = TANDEM_TRY(per_channel(call, 3, v.channels, "mean"));
  std::vector<double> variance = TANDEM_TRY(per_channel(call, 4, v.channels, "variance"));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < call.out.size(); ++i) outputs.push_back(TANDEM_TRY(call.make(i)));
  if (call.out.size() > 1 && !op.training)
    return unsupported("running statistics are outputs of training mode only");
  return with_float("BatchNorm", x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    const int64_t count = v.batch * v.plane;
    for (int64_t c = 0; c < v.channels; ++c) {
      const size_t channel = static_cast<size_t>(c);
      const auto index = [&](int64_t i) { return (i / v.plane * v.channels + c) * v.plane + i % v.plane; };
      if (op.training) {
        const Moments m = moments(count, [&](int64_t i) { return data<T>(x)[index(i)]; });
        const double momentum = static_cast<double>(op.momentum);
        const double running_mean = mean[channel] * momentum + m.mean * (1 - momentum);
        const double running_variance = variance[channel] * momentum + m.variance * (1 - momentum);
        for (size_t k = 1; k < outputs.size() && k < 3; ++k) {
          const double running = k == 1 ? running_mean : running_variance;
          with_number(outputs[k].dtype(), [&](auto out) {
            data<decltype(out)>(outputs[k])[c] = static_cast<decltype(out)>(running);
          });
        }
        mean[channel] = m.mean;
        variance[channel] = m.variance;
      }
      const double factor = scale[channel] / std::sqrt(variance[channel] + static_cast<double>(op.epsilon));
      for (int64_t i = 0; i < count; ++i) {
        const double centred = static_cast<double>(data<T>(x)[index(i)]) - mean[channel];
        data<T>(outputs[0])[index(i)] = static_cast<T>(centred * factor + bias[channel]);
      }
    }
    return std::move(outputs);
  });
}

Outputs eval(const ir::LayerNorm& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, rank));
  const Shape inner(std::vector<int64_t>(x.shape().begin() + static_cast<int64_t>(axis), x.shape().end()));
  const int64_t count = inner.elements();
  const int64_t rows = count == 0 ? 0 : x.elements() / count;
  // Scale and bias broadcast to the normalized dimensions.
  const auto spread = [&](size_t input) -> Result<std::vector<double>> {
    const Shape both = TANDEM_TRY(broadcast(call[input].shape(), inner));
    if (both != inner) return bad_input("scale or bias do not broadcast to the normalized dimensions");
    const std::vector<double> given = doubles(call[input]);
    std::vector<double> all(static_cast<size_t>(count));
    walk<1>(inner, {broadcast_strides(call[input].shape(), inner)},
            [&](int64_t i, const std::array<int64_t, 1>& at) {
              all[static_cast<size_t>(i)] = given[static_cast<size_t>(at[0])];
            });
    return all;
  };
  const std::vector<double> scale = TANDEM_TRY(spread(1));
  std::vector<double> bias(static_cast<size_t>(count), 0);
  if (call.has(2)) bias = TANDEM_TRY(spread(2));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < call.out.size(); ++i) outputs.push_back(TANDEM_TRY(call.make(i)));
  return with_float("LayerNorm", x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = data<T>(x) + r * count;
      const Moments m = moments(count, [&](int64_t i) { return from[i]; });
      const double inverse = 1 / std::sqrt(m.variance + static_cast<double>(op.epsilon));
      for (int64_t i = 0; i < count; ++i) {
        const size_t at = static_cast<size_t>(i);
        data<T>(outputs[0])[r * count + i] =
            static_cast<T>((static_cast<double>(from[i]) - m.mean) * inverse * scale[at] + bias[at]);
      }
      for (size_t k = 1; k < outputs.size(); ++k) {
        const double value = k == 1 ? m.mean : inverse;
        with_number(outputs[k].dtype(), [&](auto out) {
          data<decltype(out)>(outputs[k])[r] = static_cast<decltype(out)>(value);
        });
      }
    }
    return std::move(outputs);
  });
}

namespace {

// Normalizes blocks of `block` successive elements; scale and bias of the element at offset i of block b are
// given by parameter(b, i).
template <typename T, typename Parameter>
void normalize_blocks(const Tensor& x, Tensor& y, int64_t block, double epsilon,
                      const std::vector<double>& scale, const std::vector<double>& bias,
                      Parameter&& parameter) {
  for (int64_t b = 0; block > 0 && b < x.elements() / block; ++b) {
    const T* from = data<T>(x) + b * block;
    const Moments m = moments(block, [&](int64_t i) { return from[i]; });
    const double inverse = 1 / std::sqrt(m.variance + epsilon);
    for (int64_t i = 0; i < block; ++i) {
      const size_t p = static_cast<size_t>(parameter(b, i));
      data<T>(y)[b * block + i] =
          static_cast<T>((static_cast<double>(from[i]) - m.mean) * inverse * scale[p] + bias[p]);
    }
  }
}

}  // namespace

Outputs eval(const ir::InstanceNorm& op, const Call& call) {
  const Tensor& x = call[0];
  const ChannelView v = TANDEM_TRY(channel_view(x.shape()));
  const std::vector<double> scale = TANDEM_TRY(per_channel(call, 1, v.channels, "scale"));
  const std::vector<double> bias = TANDEM_TRY(per_channel(call, 2, v.channels, "bias"));
  Tensor y = TANDEM_TRY(call.make(0));
  return with_float("InstanceNorm", x.dtype(), [&](auto tag) -> Outputs {
    normalize_blocks<decltype(tag)>(x, y, v.plane, static_cast<double>(op.epsilon), scale, bias,
                                    [&](int64_t b, int64_t) { return b % v.channels; });
    return single(std::move(y));
  });
}

Outputs eval(const ir::GroupNorm& op, const Call& call) {
  const Tensor& x = call[0];
  const ChannelView v = TANDEM_TRY(channel_view(x.shape()));
  if (op.num_groups < 1 || v.channels % op.num_groups != 0)
    return bad_input("channels do not divide into groups");
  // Up to opset 20 scale and bias have one number per group, later one per channel.
  const int64_t parameters = call[1].elements() == op.num_groups ? op.num_groups : v.channels;
  const std::vector<double> scale = TANDEM_TRY(per_channel(call, 1, parameters, "scale"));
  const std::vector<double> bias = TANDEM_TRY(per_channel(call, 2, parameters, "bias"));
  Tensor y = TANDEM_TRY(call.make(0));
  const int64_t group_channels = v.channels / op.num_groups;
  return with_float("GroupNorm", x.dtype(), [&](auto tag) -> Outputs {
    normalize_blocks<decltype(tag)>(
        x, y, group_channels * v.plane, static_cast<double>(op.epsilon), scale, bias,
        [&](int64_t b, int64_t i) {
          const int64_t group = b % op.num_groups;
          return parameters == op.num_groups ? group : group * group_channels + i / v.plane;
        });
    return single(std::move(y));
  });
}

Outputs eval(const ir::Lrn& op, const Call& call) {
  const Tensor& x = call[0];
  const ChannelView v = TANDEM_TRY(channel_view(x.shape()));
  if (op.size < 1) return bad_input(fmt::format("Lrn size is {}", op.size));
  Tensor y = TANDEM_TRY(call.make(0));
  return with_float("Lrn", x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    for (int64_t n = 0; n < v.batch; ++n) {
      for (int64_t c = 0; c < v.channels; ++c) {
        const int64_t low = std::max<int64_t>(0, c - (op.size - 1) / 2);
        const int64_t high = std::min(v.channels - 1, c + op.size / 2);
        for (int64_t i = 0; i < v.plane; ++i) {
          double squares = 0;
          for (int64_t k = low; k <= high; ++k) {
            const double value = static_cast<double>(data<T>(x)[(n * v.channels + k) * v.plane + i]);
            squares += value * value;
          }
          const int64_t at = (n * v.channels + c) * v.plane + i;
          const double base = static_cast<double>(op.bias) +
                              static_cast<double>(op.alpha) / static_cast<double>(op.size) * squares;
          data<T>(y)[at] = static_cast<T>(static_cast<double>(data<T>(x)[at]) /
                                          std::pow(base, static_cast<double>(op.beta)));
        }
      }
    }
    return single(std::move(y));
  });
}

Outputs eval(const ir::LpNorm& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape().rank()));
  Tensor y = TANDEM_TRY(call.make(0));
  const AxisView view = around_axis(x.shape(), axis);
  return with_float("LpNorm", x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const int64_t first = o * view.extent * view.inner + i;
        double sum = 0;
        for (int64_t k = 0; k < view.extent; ++k) {
          const double value = std::abs(static_cast<double>(data<T>(x)[first + k * view.inner]));
          sum += op.p == 1 ? value : value * value;
        }
        const double norm = op.p == 1 ? sum : std::sqrt(sum);
        for (int64_t k = 0; k < view.extent; ++k) {
          const int64_t at = first + k * view.inner;
          // A zero vector stays zero.
          data<T>(y)[at] = norm == 0 ? T{0} : static_cast<T>(static_cast<double>(data<T>(x)[at]) / norm);
        }
      }
    }
    return single(std::move(y));
  });
}

Outputs eval(const ir::MeanVarianceNorm& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  std::vector<int64_t> strides(rank, 0);  // of the statistics over x: 0 along normalized axes
  Shape kept = x.shape();
  for (int64_t axis : op.axes) kept[TANDEM_TRY(normalize_axis(axis, rank))] = 1;
  strides = broadcast_strides(kept, x.shape());
  Tensor y = TANDEM_TRY(call.make(0));
  return with_float("MeanVarianceNorm", x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    const size_t groups = static_cast<size_t>(kept.elements());
    const double count = groups == 0 ? 1 : static_cast<double>(x.elements()) / static_cast<double>(groups);
    std::vector<double> mean(groups, 0), variance(groups, 0);
    const auto each = [&](auto&& fn) {
      walk<1>(x.shape(), {strides},
              [&](int64_t i, const std::array<int64_t, 1>& at) { fn(i, static_cast<size_t>(at[0])); });
    };
    each([&](int64_t i, size_t g) { mean[g] += static_cast<double>(data<T>(x)[i]) / count; });
    each([&](int64_t i, size_t g) {
      const double d = static_cast<double>(data<T>(x)[i]) - mean[g];
      variance[g] += d * d / count;
    });
    // The epsilon keeps a constant group finite; ONNX names 1e-9 in the function that defines the operator.
    each([&](int64_t i, size_t g) {
      data<T>(y)[i] =
          static_cast<T>((static_cast<double>(data<T>(x)[i]) - mean[g]) / (std::sqrt(variance[g]) + 1e-9));
    });
    return single(std::move(y));
  });
}

}  // namespace tandem::ref
