#include "ops/common.h"

namespace dyadic::inline v1::ops::vander_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::x];

  DY_CHECK(t.dim() == 1, "vander: needs a 1-d tensor: x is {}", describe(t));
  const int64_t n = !a.has(arg::N) ? t.numel() : a[arg::N];
  DY_CHECK(n >= 0, "vander: negative N: N is {}", n);
  const DType d = plain(t).is_floating_point() || plain(t).is_complex() ? plain(t) : i64;
  if (n == 0) return empty({t.numel(), 0}, d, t.device());
  const Tensor x = unsqueeze(to(t, d), 1);
  std::vector<Tensor> columns = {ones_like(x.detach())};
  if (n > 1) columns.push_back(cumprod(expand(x, {t.numel(), n - 1}), 1));
  const Tensor rising = cat(columns, 1);
  return a[arg::increasing] ? rising : flip(rising, {1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    .doc = "The powers of a vector as columns, N of them (as many as elements if absent), falling or increasing.",
    .kind = OpKind::composite,
    .samples =
        "vander(randn(3))\n"
        "vander(randn(2), 4, True)",
    .bad = "vander(zeros(2, 2)) => vander: needs a 1-d tensor: x is f32[2, 2]",
    .skip =
        "torch: the gradient of torch.vander fails\n"
        "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::vander_op
