#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;
  if (!t.dtype().is_complex()) check_float("var", t, "self");
  IntList dim(a[1].ints, a[1].kind == Arg::Kind::ints ? a[1].n : 0);
  Tensor m = mean(t, dim, true), d = sub(t, m);
  double n = double(t.numel()) / double(std::max<int64_t>(m.numel(), 1)) - double(a[2].integer);
  const bool keep = a[3].boolean;
  Tensor squares =
      t.dtype().is_complex() ? sum(add(square(real(d)), square(imag(d))), dim, keep) : call(Op::square_sum_, d, dim, keep);
  return div(squares, n > 0 ? n : 0.0);
}

}  // namespace

extern constexpr OpDef var_op = {
    .sig = "var(Tensor self, int[]? dim=None, int correction=1, bool keepdim=False) -> Tensor",
    .doc = "Variance over dim: squared distances from the mean, divided by their number less `correction`.",
    .kind = OpKind::composite,
    .samples = "var(randn(3, 4), [1])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
