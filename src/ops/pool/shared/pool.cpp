#include <algorithm>

#include "ops/pool/pool.h"
#include "ops/resize/resample.h"

namespace dyadic::inline v1::ops {
namespace {

void check_rank(const char* who, const Tensor& x, int64_t rank) {
  DY_CHECK(x.dim() == rank + 1 || x.dim() == rank + 2, "{}: the input has {} or {} dimensions: input is {}", who, rank + 1,
           rank + 2, describe(x));
}
void check_windows(const char* who, const int64_t* kernel, const int64_t* stride, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d)
    DY_CHECK(kernel[d] > 0 && stride[d] > 0, "{}: a window is not positive: kernel_size is {}, stride is {}", who,
             shape_text({kernel, size_t(rank)}), shape_text({stride, size_t(rank)}));
}
void check_half(const char* who, const int64_t* kernel, const int64_t* padding, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d)
    DY_CHECK(padding[d] >= 0 && 2 * padding[d] <= kernel[d],
             "{}: padding is more than half of the kernel: kernel_size is {}, padding is {}", who,
             shape_text({kernel, size_t(rank)}), shape_text({padding, size_t(rank)}));
}

struct Pool {
  int64_t kernel[3], stride[3], padding[3] = {};
};
Pool pool(const char* who, int64_t rank, IntList kernel, const Arg& stride, const IntList* padding) {
  Pool p;
  spread(who, "kernel_size", kernel, rank, p.kernel);
  const bool given = stride.kind == Arg::Kind::ints && stride.n > 0;
  spread(who, "stride", given ? IntList(stride.ints, stride.n) : kernel, rank, p.stride);
  if (padding) spread(who, "padding", *padding, rank, p.padding);
  check_windows(who, p.kernel, p.stride, rank);
  check_half(who, p.kernel, p.padding, rank);
  return p;
}

// One linear map per dimension; narrow types are rounded once.
template <class F> Tensor each_axis(const Tensor& x, int64_t rank, F&& f) {
  const bool narrow = compute_type(plain(x)) == Compute::f32;
  Tensor y = narrow ? dyadic::to(x, f32) : x;
  for (int64_t d = 0; d < rank; ++d) y = f(y, d, x.dim() - rank + d);
  return narrow ? dyadic::to(y, plain(x)) : y;
}
enum : int64_t { kElements, kPadding, kOne };  // what divides a window's sum: its elements, those and padding, one
Tensor averages(const char* who, const Tensor& x, int64_t rank, const Pool& p, bool ceil_mode, int64_t divisor) {
  return each_axis(x, rank, [&](const Tensor& y, int64_t d, int64_t dim) {
    const int64_t map[] = {kAverage, p.kernel[d], p.stride[d], p.padding[d], p.padding[d], divisor};
    const int64_t n = pooled_size(who, x.size(dim), p.kernel[d], p.stride[d], p.padding[d], 1, ceil_mode);
    return call(Op::resample_, y, dim, n, IntList(map), 0.0);
  });
}
// Of integers: sums in f64, which holds them up to 2^53, divided by a whole number and cut off.
Tensor whole_mean(const char* who, const Tensor& x, int64_t rank, const Pool& p, bool ceil_mode, int64_t divisor, int64_t by) {
  const auto pooled = [&](const Tensor& y, int64_t divisor) { return averages(who, y, rank, p, ceil_mode, divisor); };
  const Tensor sums = pooled(to(x, f64), kOne);
  if (divisor == kOne) return to(div(sums, by, "trunc"), x.dtype());
  const Tensor each = ones_like(x, f64);
  return to(div(sums, round(div(pooled(each, kOne), pooled(each, divisor))), "trunc"), x.dtype());
}

}  // namespace

Tensor pooled_max(const char* who, int64_t rank, Args a) {
  namespace arg = max_pool2d_op::arg;
  const bool whole = a[arg::input].dtype().is_integer();  // compared as f64, which holds them up to 2^53
  const Tensor x = whole ? to(a[arg::input], f64) : a[arg::input];
  check_rank(who, x, rank);
  const IntList padding = a[arg::padding];
  const Pool p = pool(who, rank, a[arg::kernel_size], a.arg(arg::stride), &padding);
  int64_t dilation[3];
  spread(who, "dilation", a[arg::dilation], rank, dilation);
  const auto n = size_t(rank);
  Arg args[] = {x, IntList(p.kernel, n), IntList(p.stride, n), IntList(p.padding, n), IntList(dilation, n), a[arg::ceil_mode]};
  Tensor out[2];
  call_op(Op::max_pool_, args, 6, out);
  return whole ? to(out[0], a[arg::input].dtype()) : out[0];
}

Tensor pooled_mean(const char* who, int64_t rank, Args a) {
  namespace arg = avg_pool2d_op::arg;
  const Tensor& x = a[arg::input];
  check_rank(who, x, rank);
  const bool whole = x.dtype().is_integer();
  if (!whole) check_float(who, x, "input");
  const IntList padding = a[arg::padding];
  const Pool p = pool(who, rank, a[arg::kernel_size], a.arg(arg::stride), &padding);
  const bool divided = rank > 1 && a.has(arg::divisor_override);
  DY_CHECK_AS(ValueError, !divided || a[arg::divisor_override] != 0, "{}: divisor_override is 0", who);
  const int64_t divisor = divided ? kOne : a[arg::count_include_pad] ? kPadding : kElements;
  if (whole) return whole_mean(who, x, rank, p, a[arg::ceil_mode], divisor, divided ? a[arg::divisor_override] : 1);
  Tensor y = averages(who, x, rank, p, a[arg::ceil_mode], divisor);
  return divided ? div(y, double(a[arg::divisor_override])) : y;
}

Tensor pooled_power(const char* who, int64_t rank, Args a) {
  namespace arg = lp_pool2d_op::arg;
  const Tensor& given = a[arg::input];
  check_rank(who, given, rank);
  const Tensor x = plain(given).is_floating_point() ? given : to(given, default_dtype());
  const Pool p = pool(who, rank, a[arg::kernel_size], a.arg(arg::stride), nullptr);
  double size = 1;
  for (int64_t d = 0; d < rank; ++d) size *= double(p.kernel[d]);
  Tensor means = averages(who, pow(x, a[arg::norm_type]), rank, p, a[arg::ceil_mode], kPadding);
  return pow(mul(means, size), 1 / a[arg::norm_type]);
}

Tensor adaptive_mean(const char* who, int64_t rank, Args a) {
  namespace arg = adaptive_avg_pool2d_op::arg;
  const Tensor& x = a[arg::input];
  check_rank(who, x, rank);
  check_float(who, x, "input");
  int64_t size[3];
  spread(who, "output_size", a[arg::output_size], rank, size);
  return each_axis(x, rank, [&](const Tensor& y, int64_t d, int64_t dim) {
    DY_CHECK(size[d] >= 0 && x.size(dim) > 0, "{}: sizes do not fit: input is {}, output_size is {}", who, describe(x),
             shape_text(a[arg::output_size]));
    const int64_t map[] = {kAdaptive};
    return call(Op::resample_, y, dim, size[d], IntList(map), 0.0);
  });
}

Tensor adaptive_max(const char* who, int64_t rank, Args a) {
  namespace arg = adaptive_max_pool2d_op::arg;
  const Tensor& x = a[arg::input];
  check_rank(who, x, rank);
  int64_t size[3];
  spread(who, "output_size", a[arg::output_size], rank, size);
  Arg args[] = {x, IntList(size, size_t(rank))};
  Tensor out[2];
  call_op(Op::adaptive_max_pool_, args, 2, out);
  return out[0];
}

Tensor unpooled(const char* who, int64_t rank, Args a) {
  namespace arg = max_unpool2d_op::arg;
  const Tensor &x = a[arg::input], &indices = a[arg::indices];
  check_rank(who, x, rank);
  DY_CHECK(x.sizes() == indices.sizes(), "{}: sizes differ: input is {}, indices is {}", who, describe(x), describe(indices));
  const IntList padding = a[arg::padding];
  const Pool p = pool(who, rank, a[arg::kernel_size], a.arg(arg::stride), &padding);
  int64_t size[3];
  for (int64_t d = 0; d < rank; ++d) size[d] = (x.size(x.dim() - rank + d) - 1) * p.stride[d] - 2 * p.padding[d] + p.kernel[d];
  if (a.has(arg::output_size)) {
    const IntList given = a[arg::output_size];
    DY_CHECK(int64_t(given.size()) >= rank, "{}: output_size has a value per dimension: output_size is {}", who,
             shape_text(given));
    std::copy(given.end() - rank, given.end(), size);  // all sizes may be given, or the last ones
  }
  std::vector<int64_t> shape = x.sizes().vec();
  int64_t places = 1;
  for (int64_t d = 0; d < rank; ++d) places *= shape[size_t(x.dim() - rank + d)] = size[d];
  std::vector<int64_t> flat(x.sizes().begin(), x.sizes().end() - rank);
  flat.push_back(places);
  // Windows that overlap name a place several times, with one value.
  return scatter(zeros(flat, x.dtype(), x.device()), -1, flatten(indices, -rank), flatten(x, -rank)).reshape(shape);
}

}  // namespace dyadic::inline v1::ops
