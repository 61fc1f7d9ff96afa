#include "ops/common.h"

namespace dyadic::inline v1::ops::layer_norm_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  IntList shape(a.arg(arg::normalized_shape).ints, a.arg(arg::normalized_shape).n);
  bool fits = int64_t(shape.size()) <= x.dim() && shape.size() > 0;
  int64_t n = 1;
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = x.size(x.dim() - int64_t(shape.size()) + int64_t(i)) == shape[i];
    n *= shape[i];
  }
  DY_CHECK(fits, "layer_norm: the shape does not end the input's: input is {}, normalized_shape is {}", describe(x),
           shape_text(shape));
  for (int k = 2; k < 4; ++k)
    if (a[k].kind == Arg::Kind::tensor)
      DY_CHECK(a[k].tensor->sizes() == shape, "layer_norm: {} does not fit: it is {}, normalized_shape is {}",
               k == 2 ? "weight" : "bias", describe(*a[k].tensor), shape_text(shape));
  Tensor held[] = {dense(x), a.has(arg::weight) ? dense(a[arg::weight]) : Tensor(),
                   a.has(arg::bias) ? dense(a[arg::bias]) : Tensor()};
  Arg args[] = {held[0], n, held[1], held[2], a.arg(arg::eps), true};
  Tensor out[3];
  call_op(Op::native_layer_norm_, args, 6, out);
  return out[0];
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    .doc =
        "(x - mean) / sqrt(variance + eps) over the last dimensions, times weight plus bias; the variance divides by n. (Ba et "
        "al. 2016.)",
    .kind = OpKind::composite,
    .samples = "layer_norm(randn(2, 3, 8), [8], randn(8), randn(8), 1e-05)",
    .bad =
        "layer_norm(zeros(2, 3), [4]) => layer_norm: the shape does not end the input's: input is f32[2, 3], normalized_shape "
        "is [4]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::layer_norm_op
