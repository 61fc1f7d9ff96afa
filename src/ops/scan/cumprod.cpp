#include "ops/common.h"
#include "ops/scan/scanning.h"

namespace dyadic::inline v1::ops::cumprod_op {
namespace {

void infer(Call& c) { infer_scan(c, 2); }

// Before the first zero: the sum of what follows, divided by the entry. At it: with 1 in its place. Behind it: nothing.
void backward(Grad& g) {
  if (g.in_meta(arg::self).ndim == 0) return g.set(arg::self, g.g());
  const int64_t dim = g[arg::dim];
  auto suffix = [&](const Tensor& t) { return flip(cumsum(flip(t, {dim}), dim), {dim}); };
  const Tensor x = g.in(arg::self).to(g.g().dtype()), zero = eq(x, 0.0), zeros_so_far = cumsum(zero, dim),
               none = zeros_like(x.detach());
  const Tensor before = eq(zeros_so_far, 0), first = logical_and(zero, eq(zeros_so_far, 1)), from_first = ge(zeros_so_far, 1);
  const Tensor filled = where(zero, ones_like(none), x), without_first = where(first, ones_like(none), x);
  const Tensor ahead = div(suffix(mul(g.g(), g.out())), filled);
  const Tensor at_first = suffix(where(from_first, mul(g.g(), cumprod(without_first, dim)), none));
  g.set(arg::self, where(before, ahead, where(first, at_first, none)));
}

// Products of 1, 2, 4 ... entries, each of two halves.
Tensor complex_products(Args a) {
  Tensor t = a.arg(arg::dtype).kind == Arg::Kind::dtype ? to(a[arg::self], a[arg::dtype]) : a[arg::self];
  const int64_t dim = wrap_dim("cumprod", a[arg::dim], t.dim()), n = t.dim() ? t.size(dim) : 1;
  for (int64_t step = 1; step < n; step *= 2) {
    const Tensor parts[] = {narrow(t, dim, 0, step), mul(narrow(t, dim, step, n - step), narrow(t, dim, 0, n - step))};
    t = cat(parts, dim);
  }
  return n > 1 ? t : clone(t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    .doc = "The products of the entries of dim so far. Integers are multiplied as int64.",
    .amp = Amp::f32,
    .samples =
        "cumprod(randn(3, 4), 1)\n"
        "cumprod(randn(3, 4), 0)\n"
        "cumprod(randn(), 0)\n"
        "cumprod(randn(0, 2), 0)\n"
        "cumprod(randn(2, 5; complex), 1)",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | out(0)},
    .flops = reduction_flops,
    .complex = complex_products,
};
extern constexpr Kernel cpu = {.plan = plan_scan<ScanOp::prod>, .dense = true};

}  // namespace dyadic::inline v1::ops::cumprod_op
