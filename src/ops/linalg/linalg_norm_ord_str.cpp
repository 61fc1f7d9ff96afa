#include "ops/linalg/norms.h"

namespace dyadic::inline v1::ops::linalg_norm_ord_str_op {
namespace {

constexpr int64_t kBoth[] = {0, 1};

Tensor compose(Args a) {
  const char* who = "linalg.norm";
  const Tensor t = in_dtype(a[arg::self], a.arg(arg::dtype));
  const bool all = !a.has(arg::dim);
  DY_CHECK(!all || t.dim() == 2, "{}: an order without dim needs a vector or a matrix: self is {}", who, describe(t));
  return matrix_norm(who, t, std::string_view(a.arg(arg::ord).text, a.arg(arg::ord).n),
                     all ? IntList(kBoth) : ints_of(a.arg(arg::dim)), a[arg::keepdim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_norm.ord_str(Tensor self, str ord, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .doc = "The norm of matrices of that name, fro or nuc: linalg.matrix_norm.",
    .kind = OpKind::composite,
    .samples =
        "linalg_norm_ord_str(randn(3, 4), 'fro')\n"
        "linalg_norm_ord_str(randn(2, 3, 4), 'nuc', [0, 1])",
    .bad =
        "linalg_norm_ord_str(zeros(2, 2), 'l2') => linalg.norm: unknown norm \"l2\"; the known ones are fro, nuc and numbers",
    .skip = "layout_bits: sums add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_norm_ord_str_op
