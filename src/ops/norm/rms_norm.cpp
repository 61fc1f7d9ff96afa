#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::rms_norm_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  const Tensor& x = a.tensor(0);
  const IntList shape = a.ints(1);
  check_float("rms_norm", x, "input");
  bool fits = int64_t(shape.size()) <= x.dim() && shape.size() > 0;
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = x.size(x.dim() - int64_t(shape.size()) + int64_t(i)) == shape[i];
  DY_CHECK(fits, "rms_norm: the shape does not end the input's: input is {}, normalized_shape is {}", describe(x),
           shape_text(shape));
  DY_CHECK(!a.has(2) || a.tensor(2).sizes() == shape, "rms_norm: weight does not fit: it is {}, normalized_shape is {}",
           a.has(2) ? describe(a.tensor(2)) : "", shape_text(shape));
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  const double eps = a.has(3) ? a.real(3) : plain(x).format()->def->eps;
  // A weight of another dtype multiplies the result, so that the two promote.
  const bool fused = a.has(2) && plain(a.tensor(2)) == plain(x);
  const Tensor input = dense(x), weight = fused ? dense(a.tensor(2)) : Tensor();
  Arg call[] = {input, n, weight, Tensor(), eps, false};
  Tensor out[3];
  call_op(Op::native_layer_norm_, call, 6, out);
  return a.has(2) && !fused ? mul(out[0], a.tensor(2)) : out[0];
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
