// Convolutions of integers: one product for each tap of the kernel, of the elements that it meets. Sums wrap around in the
// dtype.
#include <algorithm>

#include "ops/conv/conv_shape.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::ops {
namespace {

// Calls f(tap, position) of every tap of a kernel of `rank` dimensions.
template <class F> void each_tap(const ConvShape& s, int64_t rank, F&& f) {
  for (int64_t tap = 0; tap < s.taps(); ++tap) {
    int64_t position[3], left = tap;
    for (int64_t d = rank - 1; d >= 0; --d) position[d] = left % s.kernel[3 - rank + d], left /= s.kernel[3 - rank + d];
    f(tap, position);
  }
}
// t's last dimensions from where a tap begins, in steps: as many elements as the tap meets.
Tensor met(const ConvShape& s, int64_t rank, Tensor t, const int64_t* position, const int64_t* count) {
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t at = 3 - rank + d, first = position[d] * s.dilation[at];
    t = slice(t, t.dim() - rank + d, first, first + (count[at] - 1) * s.stride[at] + 1, s.stride[at]);
  }
  return t;
}
std::vector<int64_t> joined(std::initializer_list<int64_t> first, const int64_t* sizes, int64_t rank) {
  std::vector<int64_t> all(first);
  all.insert(all.end(), sizes, sizes + rank);
  return all;
}
}  // namespace

Tensor integer_conv(const char* who, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvArguments& a) {
  check_same_dtypes(who, x, w, bias);
  const ConvShape& s = a.shape;
  const int64_t rank = a.rank, first = 3 - rank;
  std::vector<int64_t> pads;  // of the last dimension first
  for (int64_t d = 2; d >= first; --d)
    pads.insert(pads.end(),
                {s.low[d], std::max<int64_t>(
                               (s.out[d] - 1) * s.stride[d] + s.dilation[d] * (s.kernel[d] - 1) + 1 - s.in[d] - s.low[d], 0)});
  const Tensor padded = constant_pad_nd(x, pads);
  const Tensor groups = padded.reshape(joined({s.batch, s.groups, s.channels}, padded.sizes().data() + 2, rank));
  const Tensor filters = w.reshape({s.groups, s.filters, s.channels, s.taps()});
  Tensor y = zeros({s.batch, s.groups, s.filters, s.out[0] * s.out[1] * s.out[2]}, x.dtype(), x.device());
  each_tap(s, rank, [&](int64_t tap, const int64_t* position) {
    const Tensor part = met(s, rank, groups, position, s.out).reshape({s.batch, s.groups, s.channels, y.size(3)});
    y.add_(matmul(select(filters, 3, tap), part));
  });
  return biased(y.reshape(joined({s.batch, s.groups * s.filters}, s.out + first, rank)), bias, rank);
}

Tensor integer_conv_transpose(const char* who, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvArguments& a) {
  check_same_dtypes(who, x, w, bias);
  const ConvShape& s = a.shape;  // of the convolution that this one turns round: x has its results' sizes
  const int64_t rank = a.rank, first = 3 - rank;
  int64_t whole[3];
  for (int64_t d = 0; d < 3; ++d)
    whole[d] = std::max((s.out[d] - 1) * s.stride[d] + s.dilation[d] * (s.kernel[d] - 1) + 1, s.low[d] + s.in[d]);
  const Tensor groups = x.reshape({s.batch, s.groups, s.filters, s.out[0] * s.out[1] * s.out[2]});
  const Tensor filters = w.reshape({s.groups, s.filters, s.channels, s.taps()});
  Tensor y = zeros(joined({s.batch, s.groups, s.channels}, whole + first, rank), x.dtype(), x.device());
  if (entries_of(x) || entries_of(w)) y = add(y, mul(add(sum(x), sum(w)), 0));  // of each entry, before views of it are written
  each_tap(s, rank, [&](int64_t tap, const int64_t* position) {
    const Tensor part = matmul(select(filters, 3, tap).transpose(-2, -1), groups);
    met(s, rank, y, position, s.out).add_(part.reshape(joined({s.batch, s.groups, s.channels}, s.out + first, rank)));
  });
  for (int64_t d = first; d < 3; ++d) y = narrow(y, 3 + d - first, s.low[d], s.in[d]);
  return biased(y.reshape(joined({s.batch, s.groups * s.channels}, s.in + first, rank)), bias, rank);
}

}  // namespace dyadic::inline v1::ops
