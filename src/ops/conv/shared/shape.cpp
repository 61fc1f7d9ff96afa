#include "ops/conv/conv_shape.h"

#include <algorithm>

namespace dyadic::inline v1::ops {

namespace {

void check_positive(const char* who, const char* name, const int64_t* values, int64_t n) {
  for (int64_t d = 0; d < n; ++d)
    DY_CHECK(values[d] > 0, "{}: {} is not positive: {} is {}", who, name, name, shape_text({values, size_t(n)}));
}

}  // namespace

ConvArguments conv_arguments(const char* who, IntList x, IntList w, IntList stride, IntList padding, IntList dilation,
                             int64_t groups) {
  ConvArguments a;
  const int64_t n = a.rank = int64_t(x.size()) - 2;
  DY_CHECK(n >= 1 && n <= 3 && w.size() == x.size(),
           "{}: sizes do not fit: input is {}, weight is {}; [N, C, sizes ...] and [filters, C / groups, sizes ...], of one to "
           "three dimensions",
           who, shape_text(x), shape_text(w));
  DY_CHECK(
      groups > 0 && x[1] % groups == 0 && w[0] % groups == 0 && w[1] == x[1] / groups,
      "{}: channels do not fit: input is {}, weight is {}, groups is {}; weight.size(1) must be input.size(1) / groups, and "
      "groups divide weight.size(0)",
      who, shape_text(x), shape_text(w), groups);
  ConvShape& s = a.shape;
  s.batch = x[0], s.groups = groups, s.channels = w[1], s.filters = w[0] / groups;
  int64_t steps[3], gaps[3], pads[6];
  spread(who, "stride", stride, n, steps);
  spread(who, "dilation", dilation, n, gaps);
  const bool both = int64_t(padding.size()) == 2 * n && padding.size() > 1;
  if (both)
    std::copy(padding.begin(), padding.end(), pads);
  else
    spread(who, "padding", padding, n, pads), std::copy(pads, pads + n, pads + n);
  check_positive(who, "stride", steps, n);
  check_positive(who, "dilation", gaps, n);
  for (int64_t d = 0; d < n; ++d) {
    const int64_t at = 3 - n + d, size = x[size_t(2 + d)], kernel = w[size_t(2 + d)];
    const int64_t room = size + pads[d] + pads[n + d] - gaps[d] * (kernel - 1) - 1;
    DY_CHECK(
        kernel > 0 && room >= 0,
        "{}: the kernel does not fit: input is {}, weight is {}, padding is {}, dilation is {}; dimension {} of the padded "
        "input has {} elements, the kernel spans {}",
        who, shape_text(x), shape_text(w), shape_text(padding), shape_text(dilation), 2 + d, size + pads[d] + pads[n + d],
        gaps[d] * (kernel - 1) + 1);
    s.in[at] = size, s.kernel[at] = kernel, s.stride[at] = steps[d], s.low[at] = pads[d], s.dilation[at] = gaps[d];
    s.out[at] = room / steps[d] + 1;
  }
  return a;
}

void check_same_dtypes(const char* who, const Tensor& x, const Tensor& w, const Tensor& bias) {
  for (const Tensor* t : {&w, &bias})
    DY_CHECK_AS(TypeError, !t->defined() || t->dtype() == x.dtype(),
                "{}: dtypes differ: input is {}, {} is {}; convert one with .to", who, describe(x), t == &w ? "weight" : "bias",
                describe(*t));
}

Tensor biased(const Tensor& y, const Tensor& bias, int64_t rank) {
  if (!bias.defined()) return y;
  std::vector<int64_t> column(size_t(rank + 1), 1);
  column[0] = bias.numel();
  return add(y, bias.reshape(column));
}

DType conv_type(const char* who, const Tensor& x, const Tensor& w) {
  check_float(who, x, "input");
  check_float(who, w, "weight");
  const DType a = plain(x), b = plain(w);
  const bool narrower = compute_type(a) == Compute::f32 && compute_type(b) == Compute::f32 &&
                        (w.dtype().is_scaled() || x.dtype().is_scaled() || b.format()->def->bits < a.format()->def->bits);
  DY_CHECK_AS(TypeError, a == b || narrower, "{}: dtypes differ: input is {}, weight is {}; convert one with .to", who,
              describe(x), describe(w));
  return x.dtype().is_scaled() && !w.dtype().is_scaled() ? b : a;
}

double conv_flops(const ConvShape& s) {
  return 2.0 * double(s.batch * s.groups) * double(s.channels * s.filters) * double(s.taps()) *
         double(s.out[0] * s.out[1] * s.out[2]);
}

namespace {

// A [C, sizes ...] input becomes a batch of one.
Tensor batched(const char* who, const Tensor& x, int64_t rank) {
  DY_CHECK(x.dim() == rank + 1 || x.dim() == rank + 2, "{}: the input has {} or {} dimensions: input is {}", who, rank + 1,
           rank + 2, describe(x));
  return x.dim() == rank + 1 ? unsqueeze(x, 0) : x;
}
Tensor optional(const Arg& a) { return a.kind == Arg::Kind::tensor ? *a.tensor : Tensor(); }
void check_padding(const char* who, IntList padding) {
  for (int64_t p : padding) DY_CHECK(p >= 0, "{}: negative padding: padding is {}", who, shape_text(padding));
}

// Of complex numbers: four of their parts.
template <class F>
Tensor by_parts(const char* who, const Tensor& x, const Tensor& w, const Tensor& bias, int64_t rank, F&& conv) {
  check_same_dtypes(who, x, w, bias);
  const Tensor a = real(x), b = imag(x), c = real(w), d = imag(w);
  return biased(complex(sub(conv(a, c), conv(b, d)), add(conv(a, d), conv(b, c))), bias, rank);
}

}  // namespace

Tensor conv_nd(const char* who, int64_t rank, Args a) {
  namespace arg = conv2d_op::arg;
  check_padding(who, a[arg::padding]);
  const Tensor x = batched(who, a[arg::input], rank), &w = a[arg::weight], bias = optional(a.arg(arg::bias));
  const IntList stride = a[arg::stride], padding = a[arg::padding], dilation = a[arg::dilation];
  const int64_t groups = a[arg::groups];
  const auto conv = [&](const Tensor& x, const Tensor& w, const Tensor& bias = {}) {
    return call(Op::convolution_, x, w, bias, stride, padding, dilation, groups);
  };
  const Tensor r =
      x.dtype().is_integer()
          ? integer_conv(who, x, w, bias, conv_arguments(who, x.sizes(), w.sizes(), stride, padding, dilation, groups))
      : x.dtype().is_complex() ? by_parts(who, x, w, bias, rank, conv)
                               : conv(x, w, bias);
  return a[arg::input].dim() == rank + 1 ? squeeze(r, 0) : r;
}

Tensor conv_transpose_nd(const char* who, int64_t rank, Args a) {
  namespace arg = conv_transpose2d_op::arg;
  Tensor x = batched(who, a[arg::input], rank);
  const Tensor& w = a[arg::weight];
  check_padding(who, a[arg::padding]);
  DY_CHECK(
      w.dim() == rank + 2 && a[arg::groups] > 0 && x.size(1) == w.size(0) && w.size(0) % a[arg::groups] == 0,
      "{}: channels do not fit: input is {}, weight is {}, groups is {}; weight is [C, filters / groups, sizes ...] with C = "
      "input.size({})",
      who, describe(a[arg::input]), describe(w), a[arg::groups], a[arg::input].dim() - rank - 1);
  int64_t stride[3], padding[6], more[3], dilation[3], size[3];
  spread(who, "stride", a[arg::stride], rank, stride);
  spread(who, "padding", a[arg::padding], rank, padding);
  spread(who, "output_padding", a[arg::output_padding], rank, more);
  spread(who, "dilation", a[arg::dilation], rank, dilation);
  check_positive(who, "stride", stride, rank);
  check_positive(who, "dilation", dilation, rank);
  for (int64_t d = 0; d < rank; ++d) {
    DY_CHECK(
        more[d] >= 0 && more[d] < std::max(stride[d], dilation[d]),
        "{}: output_padding is smaller than the stride or the dilation: output_padding is {}, stride is {}, dilation is {}",
        who, shape_text(a[arg::output_padding]), shape_text(a[arg::stride]), shape_text(a[arg::dilation]));
    size[d] = (x.size(2 + d) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (w.size(2 + d) - 1) + more[d] + 1;
    DY_CHECK(size[d] > 0,
             "{}: nothing is left: input is {}, weight is {}, padding is {}; dimension {} of the result would have {}"
             " elements",
             who, describe(a[arg::input]), describe(w), shape_text(a[arg::padding]), 2 + d, size[d]);
    padding[rank + d] = padding[d] - more[d];
  }
  const auto n = size_t(rank);
  const Tensor bias = optional(a.arg(arg::bias));
  const auto conv = [&](const Tensor& x, const Tensor& w, const Tensor& bias = {}) {
    return call(Op::convolution_transpose_, x, w, bias, IntList(size, n), IntList(stride, n), IntList(padding, 2 * n),
                IntList(dilation, n), a[arg::groups]);
  };
  Tensor r;
  if (x.dtype().is_integer()) {
    std::vector<int64_t> result{x.size(0), w.size(1) * a[arg::groups]};
    result.insert(result.end(), size, size + rank);
    r = integer_conv_transpose(
        who, x, w, bias, conv_arguments(who, result, w.sizes(), {stride, n}, {padding, 2 * n}, {dilation, n}, a[arg::groups]));
  } else {
    r = x.dtype().is_complex() ? by_parts(who, x, w, bias, rank, conv) : conv(x, w, bias);
  }
  return a[arg::input].dim() == rank + 1 ? squeeze(r, 0) : r;
}

}  // namespace dyadic::inline v1::ops
