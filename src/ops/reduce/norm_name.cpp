#include "ops/common.h"

namespace dyadic::inline v1::ops::norm_name_op {
namespace {

Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;

  const std::string_view name(a[1].text, a[1].n);
  if (name == "nuc") {
    const Tensor x = a[4].kind == Arg::Kind::none ? t : to(t, a[4].dtype);
    const int64_t last[] = {-2, -1};
    const IntList dim = a[2].kind == Arg::Kind::ints && a[2].n ? ints_of(a[2]) : IntList(last);
    return call(Op::linalg_matrix_norm_str_ord_, x, name, dim, a[3].boolean);
  }
  DY_CHECK_AS(ValueError, name == "fro", "norm: unknown norm \"{}\"; the known ones are fro, nuc and numbers", name);
  return call(Op::vector_norm_, t, Scalar(2), a[2], a[3], a[4]);
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
