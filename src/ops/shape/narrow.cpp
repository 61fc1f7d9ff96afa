#include "ops/common.h"

namespace dyadic::inline v1::ops::narrow_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  int64_t dim = wrap_dim("narrow", a[arg::dim], t.dim()), n = t.dim() ? t.size(dim) : 0, start = a[arg::start],
          length = a[arg::length];
  if (start < 0) start += n;
  DY_CHECK_AS(IndexError, t.dim() > 0 && start >= 0 && start <= n,
              "narrow: start is out of bounds: {} of dimension {} with size {}", a[arg::start], dim, n);
  DY_CHECK(length >= 0 && length <= n - start, "narrow: out of bounds: {} entries from {} of dimension {} with size {}", length,
           a[arg::start], dim, n);
  return slice(t, dim, start, start + length);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "narrow(Tensor self, int dim, int start, int length) -> Tensor",
    .doc = "A view of `length` entries of a dimension from `start`.",
    .kind = OpKind::composite,
    .samples = "narrow(randn(4, 64), 0, 1, 2)\nnarrow(randn(5), -1, -2, 1)",
    .bad =
        "narrow(zeros(3), 0, 2, 2) => narrow: out of bounds: 2 entries from 2 of dimension 0 with size 3\n"
        "narrow(zeros(4), 0, 3, 9223372036854775807) => narrow: out of bounds: 9223372036854775807 entries from 3 of "
        "dimension 0 with size 4",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::narrow_op
