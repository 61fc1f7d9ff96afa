#include "ops/common.h"

namespace dyadic::inline v1::ops::norm_name_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const std::string_view name(a.arg(arg::p).text, a.arg(arg::p).n);
  if (name == "nuc") {
    const Tensor x = !a.has(arg::dtype) ? t : to(t, a[arg::dtype]);
    const int64_t last[] = {-2, -1};
    const IntList dim = a.arg(arg::dim).kind == Arg::Kind::ints && a.arg(arg::dim).n ? ints_of(a.arg(arg::dim)) : IntList(last);
    return call(Op::linalg_matrix_norm_str_ord_, x, name, dim, a[arg::keepdim]);
  }
  DY_CHECK_AS(ValueError, name == "fro", "norm: unknown norm \"{}\"; the known ones are fro, nuc and numbers", name);
  return call(Op::vector_norm_, t, Scalar(2), a.arg(arg::dim), a.arg(arg::keepdim), a.arg(arg::dtype));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "norm.name(Tensor self, str p, int[]? dim=None, bool keepdim=False, ScalarType? dtype=None) -> Tensor",
    .doc = "The norm of that name: 'fro', the root of the sum of squares; 'nuc', the sum of a matrix's singular values.",
    .kind = OpKind::composite,
    .samples = "norm_name(randn(3, 4), 'fro', [0])",
    .bad = "norm_name(zeros(2), 'max') => norm: unknown norm \"max\"; the known ones are fro, nuc and numbers",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::norm_name_op
