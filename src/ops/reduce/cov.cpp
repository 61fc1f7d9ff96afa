#include "ops/common.h"

namespace dyadic::inline v1::ops::cov_op {
namespace {

// Weights multiply and are whole (how often) or real (how much an observation counts).
Tensor compose(Args a) {
  const Tensor& x0 = a[arg::self];
  DY_CHECK(x0.dim() <= 2, "cov: variables in rows: self has at most two dimensions, it is {}", describe(x0));
  const Tensor x = x0.dim() == 2 ? x0 : reshape(x0, {1, -1});
  Tensor w;
  for (int i : {2, 3})
    if (a[i].kind == Arg::Kind::tensor) {
      const Tensor& given = *a[i].tensor;
      DY_CHECK(given.dim() == 1 && given.size(0) == x.size(1), "cov: one weight per observation: self is {}, {} is {}",
               describe(x0), i == 2 ? "fweights" : "aweights", describe(given));
      w = w.defined() ? mul(w, given) : given;
    }
  const double correction = double(a[arg::correction]);
  const Tensor real = x.dtype().is_floating_point() || x.dtype().is_complex() ? x : to(x, default_dtype());
  const Tensor total = w.defined() ? sum(w) : Tensor();
  const Tensor mean_of = w.defined() ? div(sum(mul(real, w), {1}, true), total) : mean(real, {1}, true);
  const Tensor centered = sub(real, mean_of);
  Tensor norm;
  if (!w.defined())
    norm = full({}, std::max(double(x.size(1)) - correction, 0.0), plain(real), real.device());
  else if (a.has(arg::aweights) && correction != 0)
    norm = clamp_min(sub(total, div(mul(sum(mul(w, a[arg::aweights])), Scalar(correction)), total)), Scalar(0.0));
  else
    norm = clamp_min(sub(total, Scalar(correction)), Scalar(0.0));
  const Tensor weighted = w.defined() ? mul(centered, w) : centered;
  return squeeze(div(matmul(weighted, conj(centered).t()), norm));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    .doc =
        "The covariances of the variables in the rows of self, whose observations are columns; of one variable its variance.",
    .kind = OpKind::composite,
    .samples =
        "cov(randn(3, 5))\n"
        "cov(randn(4), 0)\n"
        "cov(randn(2, 3), 1, None, rand(3))",
    .bad = "cov(randn(2, 2, 2)) => cov: variables in rows: self has at most two dimensions, it is f32[2, 2, 2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cov_op
