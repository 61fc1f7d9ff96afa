#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops {
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
  std::vector<int64_t> dims;
  for (size_t i = 0; i < shape.size(); ++i) dims.push_back(x.dim() - 1 - int64_t(i));
  const DType wide = plain(x) == f64 ? f64 : f32;
  Tensor w = dyadic::to(x, wide);
  const double eps = a.has(3) ? a.real(3) : plain(x).format()->def->eps;
  Tensor y = dyadic::to(mul(w, rsqrt(add(mean(square(w), dims, true), eps))), plain(x));
  return a.has(2) ? mul(y, a.tensor(2)) : y;
}

}  // namespace

extern constexpr OpDef rms_norm_op = {
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

}  // namespace dyadic::inline v1::ops
