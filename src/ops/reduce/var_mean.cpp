#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::var_mean_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor& t = a[arg::self];
  const IntList dim = ints_of(a.arg(arg::dim));
  const bool keep = a[arg::keepdim], complex = t.dtype().is_complex();
  if (!complex) check_float("var", t, "self");
  std::vector<Tensor> r;  // squared distances, mean
  if (complex) {
    const Tensor m = mean(t, dim, true), d = sub(t, m);
    r = {sum(add(square(real(d)), square(imag(d))), dim, keep), keep ? m : mean(t, dim)};
  } else {
    r = call_all(Op::moments_, t, dim, keep);
    r[1] = to(r[1], r[0].dtype());
  }
  const double n = double(t.numel()) / double(std::max<int64_t>(r[0].numel(), 1)) - a[arg::correction];
  return {div(r[0], n > 0 ? n : 0.0), r[1]};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "var_mean(Tensor self, int[]? dim=None, float correction=1, bool keepdim=False) -> (Tensor, Tensor)",
    .doc = "var and mean over dim.",
    .kind = OpKind::composite,
    .samples = "var_mean(randn(3, 4), [1])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::var_mean_op
