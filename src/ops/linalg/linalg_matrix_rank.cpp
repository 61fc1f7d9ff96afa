#include "ops/linalg/pseudo.h"

namespace dyadic::inline v1::ops::linalg_matrix_rank_op {
namespace {

Tensor compose(Args a) {
  const char* who = "linalg.matrix_rank";
  const Tensor t = a[arg::A].detach(), x = widened(t);
  a[arg::hermitian] ? check_square(who, t, "A") : check_matrix(who, t, "A");
  const double atol = !a.has(arg::atol) ? 0 : a[arg::atol];
  const double rtol = a.has(arg::rtol) ? a[arg::rtol] : atol > 0 ? 0 : default_rtol(t);
  const std::string_view lower = "L";
  const Tensor s = a[arg::hermitian] ? abs(call(Op::linalg_eigvalsh_, x, lower)) : call(Op::linalg_svdvals_, x, Arg());
  if (s.size(-1) == 0) return zeros(batch_of(t), i64, t.device());
  const Tensor least = clamp_min(mul(amax(s, {-1}, true), rtol), atol);
  return sum(to(gt(s, least), i64), {-1});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_matrix_rank(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    .doc =
        "The number of singular values (hermitian: of absolute eigenvalues) above max(atol, rtol * the largest), int64. "
        "Without "
        "tolerances rtol is max(m, n) eps.",
    .kind = OpKind::composite,
    .samples =
        "linalg_matrix_rank(randn(3, 4))\n"
        "linalg_matrix_rank(ones(2, 3, 3))\n"
        "linalg_matrix_rank(spd(3, 3), None, 0.3, True)\n"
        "linalg_matrix_rank(zeros(2, 0, 3))",
    .bad = "linalg_matrix_rank(zeros(3)) => linalg.matrix_rank: needs a matrix, or a batch of them: A is f32[3]",
    .skip =
        "threads: those of linalg_svdvals, which is tested\n"
        "gradcheck: a number of values\n"
        "double_backward: a number of values",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_matrix_rank_op
