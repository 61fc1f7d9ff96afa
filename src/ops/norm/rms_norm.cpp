#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::rms_norm_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const IntList shape = a[arg::normalized_shape];
  check_float("rms_norm", x, "input");
  bool fits = int64_t(shape.size()) <= x.dim() && shape.size() > 0;
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = x.size(x.dim() - int64_t(shape.size()) + int64_t(i)) == shape[i];
  DY_CHECK(fits, "rms_norm: the shape does not end the input's: input is {}, normalized_shape is {}", describe(x),
           shape_text(shape));
  DY_CHECK(!a.has(arg::weight) || a[arg::weight].sizes() == shape,
           "rms_norm: weight does not fit: it is {}, normalized_shape is {}",
           a.has(arg::weight) ? describe(a[arg::weight]) : "", shape_text(shape));
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  const double eps = a.has(arg::eps) ? a[arg::eps] : plain(x).format()->def->eps;
  // A weight of another dtype multiplies the result, so that the two promote.
  const bool fused = a.has(arg::weight) && plain(a[arg::weight]) == plain(x);
  const Tensor input = dense(x), weight = fused ? dense(a[arg::weight]) : Tensor();
  Arg call[] = {input, n, weight, Tensor(), eps, false};
  Tensor out[3];
  call_op(Op::native_layer_norm_, call, 6, out);
  return a.has(arg::weight) && !fused ? mul(out[0], a[arg::weight]) : out[0];
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    .doc =
        "x / sqrt(mean(x^2) + eps) over the last dimensions, times weight; eps is that of the dtype unless given. (Zhang and "
        "Sennrich 2019.)",
    .kind = OpKind::composite,
    .samples =
        "rms_norm(randn(2, 3, 4), [4], randn(4), 1e-05)\n"
        "rms_norm(randn(2, 3, 4), [3, 4])",
    .bad =
        "rms_norm(zeros(2, 3), [2]) => rms_norm: the shape does not end the input's: input is f32[2, 3], normalized_shape is "
        "[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::rms_norm_op
