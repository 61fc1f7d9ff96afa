#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::var_mean_op {
namespace {

// Where the divisor n is not positive the variance is infinite, or NaN. What has its gradient, as PyTorch has it: over `dim`
// that of the same formula with n as it is, over all elements an infinite one, NaN where an element is the mean.
Tensor infinite(const Tensor& t, const Tensor& squares, double n, bool over_all) {
  const Tensor var = div(squares, 0.0);
  if (over_all && !t.dtype().is_complex()) {
    const Tensor d = sub(t, mean(t.detach())), far = add(d, sub(abs(d), d).detach());  // 0 times an infinite gradient: NaN
    return to(div(sum(mul(far, ne(d, 0.0).to(d.dtype()))), 0.0), squares.dtype()).reshape(squares.sizes());
  }
  if (n == 0) return var;
  const Tensor slope = div(squares, n), ours = where(isfinite(slope.detach()), slope, scalar_tensor(0.0));
  return add(ours, sub(var, ours).detach());
}

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
  if (n <= 0 && GradMode::enabled() && r[0].requires_grad())
    return {infinite(t, r[0], n, dim.size() == 0 || t.dim() == 0), r[1]};
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
