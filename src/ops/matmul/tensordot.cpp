#include "ops/common.h"

namespace dyadic::inline v1::ops::tensordot_op {
namespace {

Tensor compose(Args a) {
  Tensor x = a[arg::a], y = a[arg::b];
  const IntList da = ints_of(a.arg(arg::dims_a)), db = ints_of(a.arg(arg::dims_b));
  DY_CHECK(da.size() == db.size(), "tensordot: the lists differ in length: {} and {}", shape_text(da), shape_text(db));
  std::vector<bool> in_a(size_t(x.dim())), in_b(size_t(y.dim()));
  std::vector<int64_t> first, last, sizes;
  int64_t k = 1;
  for (size_t i = 0; i < da.size(); ++i) {
    const int64_t p = wrap_dim("tensordot", da[i], x.dim()), q = wrap_dim("tensordot", db[i], y.dim());
    if (x.size(p) == 1 && y.size(q) != 1) y = sum(y, {q}, true);  // one entry meets all of the other's
    if (y.size(q) == 1 && x.size(p) != 1) x = sum(x, {p}, true);
    DY_CHECK(x.size(p) == y.size(q), "tensordot: sizes differ: dimension {} of {} and {} of {}", p, describe(x), q,
             describe(y));
    in_a[size_t(p)] = in_b[size_t(q)] = true;
    k *= x.size(p);
  }
  for (int64_t d = 0; d < x.dim(); ++d)
    if (!in_a[size_t(d)]) first.push_back(d), sizes.push_back(x.size(d));
  for (int64_t d : da) first.push_back(wrap_dim("tensordot", d, x.dim()));
  for (int64_t d : db) last.push_back(wrap_dim("tensordot", d, y.dim()));
  for (int64_t d = 0; d < y.dim(); ++d)
    if (!in_b[size_t(d)]) last.push_back(d), sizes.push_back(y.size(d));
  const int64_t m = x.numel() / std::max<int64_t>(k, 1), n = y.numel() / std::max<int64_t>(k, 1);
  return matmul(permute(x, first).reshape({m, k}), permute(y, last).reshape({k, n})).reshape(sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "tensordot(Tensor a, Tensor b, int[] dims_a, int[] dims_b) -> Tensor",
    .doc = "Sums of products over pairs of dimensions, dims_a of a and dims_b of b; the others follow each other.",
    .kind = OpKind::composite,
    .samples =
        "tensordot(randn(2, 3, 4), randn(4, 3, 2), [1, 2], [1, 0])\n"
        "tensordot(randn(2, 3), randn(3, 2), [-1], [0])",
    .bad =
        "tensordot(zeros(2, 3), zeros(2, 3), [0], [1]) => tensordot: sizes differ: dimension 0 of f32[2, 3] and 1 of f32[2, 3]",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::tensordot_op
