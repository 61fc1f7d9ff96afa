#include "ops/composite.h"

namespace dyadic::inline v1::ops::bilinear_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::input1], &y = a[arg::input2], &w = a[arg::weight];
  if (!x.dtype().is_integer()) check_float("bilinear", x, "input1");
  DY_CHECK(w.dim() == 3 && x.dim() >= 1 && y.dim() == x.dim() && x.size(-1) == w.size(1) && y.size(-1) == w.size(2),
           "bilinear: sizes do not fit: input1 is {}, input2 is {}, weight is {}", describe(x), describe(y), describe(w));
  const int64_t out = w.size(0), m = w.size(1), n = w.size(2), last[] = {-1};
  int64_t rows = 1;
  for (int64_t d = 0; d + 1 < x.dim(); ++d) rows *= x.size(d);
  Tensor part = matmul(x.reshape({rows, m}), w.permute({1, 0, 2}).reshape({m, out * n})).reshape({rows, out, n});
  Tensor r = sum(mul(part, y.reshape({rows, 1, n})), last, false, part.dtype());
  if (a.has(arg::bias)) r = add(r, a[arg::bias]);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = out;
  return r.reshape(shape);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    .doc = "y[o] = input1 weight[o] input2 + bias[o] over the last dimension: weight [out, in1, in2].",
    .kind = OpKind::composite,
    .samples =
        "bilinear(randn(2, 3), randn(2, 4), randn(5, 3, 4), randn(5))\n"
        "bilinear(randn(2, 2, 3), randn(2, 2, 2), randn(2, 3, 2))\n"
        "bilinear(zeros(0, 3), zeros(0, 2), randn(2, 3, 2))",
    .bad =
        "bilinear(zeros(2, 3), zeros(2, 3), zeros(5, 3, 4)) => bilinear: sizes do not fit: input1 is f32[2, 3], input2 is "
        "f32[2, 3], weight is f32[5, 3, 4]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::bilinear_op
