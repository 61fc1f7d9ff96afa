#include "ops/linalg/lu.h"

#include <algorithm>

namespace dyadic::inline v1::ops {

double lu_flops(const Tensor& a) {
  const double m = double(a.size(-2)), n = double(a.size(-1)), k = std::min(m, n);
  return double(count(batch_of(a))) * (2 * m * n * k - (m + n) * k * k + 2 * k * k * k / 3);
}
namespace {

template <class Info, class A> void check_singular(const char* who, const Info& info, const A& a) {
  check_info(who, info, a, "A", "the matrix is singular", "element {} of the diagonal of U is zero",
             "use linalg.pinv or linalg.lstsq");
}

}  // namespace

void check_factors(const char* who, const Array& info, const Operand& a) { check_singular(who, info, a); }
void check_factors(const char* who, const Tensor& info, const Tensor& a) { check_singular(who, info, a); }

Tensor unit_lower(const Tensor& lu) {
  const int64_t k = std::min(lu.size(-2), lu.size(-1));
  const Tensor l = tril(narrow(lu, -1, 0, k), -1);
  return add(l, eye(lu.size(-2), k, lu.dtype(), lu.device()));
}
Tensor upper(const Tensor& lu) { return triu(narrow(lu, -2, 0, std::min(lu.size(-2), lu.size(-1)))); }

void check_pivots(const char* who, const Tensor& t, const char* name) {
  DY_CHECK_AS(TypeError, t.dtype() == i32 || t.dtype() == i64, "{}: pivots are int32 numbers: {} is {}", who, name,
              describe(t));
}
int64_t pivot_at(const char* who, const Array& t, int64_t i, int64_t m) {
  const int64_t p = t.dtype() == i32 ? t.data<int32_t>()[i] : t.data<int64_t>()[i];
  DY_CHECK_AS(IndexError, p >= 1 && p <= m, "{}: a pivot out of range: self is {}, one of them {}; expected 1 to {}", who,
              describe(t), p, m);
  return p;
}
Tensor row_order(const Tensor& pivots, int64_t m) { return call(Op::linalg_row_order_, pivots, m); }
Tensor permutation(const Tensor& order, DType dtype) {
  const Tensor rows = unsqueeze(arange(0, order.size(-1), 1, i64, order.device()), -1);
  return to(eq(rows, unsqueeze(order, -2)), dtype);
}
Tensor permute_rows(const Tensor& t, const Tensor& order) { return gather(t, -2, expand(unsqueeze(order, -1), t.sizes())); }

namespace {

Tensor solve(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  return call(Op::linalg_solve_triangular_, a, b, upper, left, unit);
}
// Of square factors: L^-H [tril(L^H gL, -1) + triu(gU U^H)] U^-H.
Tensor square_gradient(const Tensor& l, const Tensor& u, const Tensor& gl, const Tensor& gu) {
  const Tensor middle = add(tril(matmul(mH(l), gl), -1), triu(matmul(gu, mH(u))));
  return solve(mH(u), solve(mH(l), middle, true, true, true), false, false, false);
}

}  // namespace

// Where A is wide, the columns beyond the square ones are L U2; where it is tall, the rows beyond are L2 U.
Tensor lu_gradient(const Tensor& lu, const Tensor& pivots, const Tensor& gl, const Tensor& gu) {
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor l = narrow(unit_lower(lu), -2, 0, k), u = narrow(upper(lu), -1, 0, k);
  Tensor g1 = narrow(narrow(gl, -2, 0, k), -1, 0, k), g2 = narrow(narrow(gu, -2, 0, k), -1, 0, k), result;
  if (m == n) {
    result = square_gradient(l, u, g1, g2);
  } else if (m < n) {
    const Tensor u2 = narrow(lu, -1, k, n - k), right = solve(mH(l), narrow(gu, -1, k, n - k), true, true, true);
    const Tensor parts[] = {square_gradient(l, u, tril(sub(g1, matmul(right, mH(u2))), -1), g2), right};
    result = cat(parts, -1);
  } else {
    const Tensor l2 = narrow(lu, -2, k, m - k), below = solve(mH(u), narrow(gl, -2, k, m - k), false, false, false);
    const Tensor parts[] = {square_gradient(l, u, g1, triu(sub(g2, matmul(mH(l2), below)))), below};
    result = cat(parts, -2);
  }
  const Tensor back = argsort(row_order(pivots, m));
  return permute_rows(result, back);
}

}  // namespace dyadic::inline v1::ops
