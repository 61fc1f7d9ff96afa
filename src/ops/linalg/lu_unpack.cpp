#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::lu_unpack_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const char* who = "lu_unpack";
  const Tensor &t = a[arg::LU_data], &pivots = a[arg::LU_pivots];
  check_matrix(who, t, "LU_data");
  check_pivots(who, pivots, "LU_pivots");
  auto nothing = [&] { return empty({0}, plain(t), t.device()); };
  const Tensor p = a[arg::unpack_pivots] ? permutation(row_order(pivots, t.size(-2)), plain(t)) : nothing();
  if (!a[arg::unpack_data]) return {p, nothing(), nothing()};
  return {p, unit_lower(t), upper(t)};
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, "
        "Tensor U)",
    .doc =
        "The matrices of A = P L U from what linalg.lu_factor gives: P [..., m, m], L [..., m, k], U [..., k, n]; what is not "
        "unpacked is empty.",
    .kind = OpKind::composite,
    .samples =
        "lu_unpack(randn(3, 3), indices(4; 3))\n"
        "lu_unpack(randn(3, 5), indices(4; 3), True, False)\n"
        "lu_unpack(randn(4, 3), indices(5; 3))",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::lu_unpack_op
