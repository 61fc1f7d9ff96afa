// Linear algebra under PyTorch's names (torch.linalg), one line each; documentation is in the records (src/ops/linalg/).
// Matrices are the last two dimensions [..., m, n] of float or complex tensors, the others a batch. Where a matrix must be
// regular or positive definite and is not, LinAlgError names it.
#pragma once
#include "dyadic/ops.h"

namespace dyadic::inline v1::linalg {

DY_RESULTS2(SignLog, sign, logabsdet);
DY_RESULTS2(Qr, Q, R);
DY_RESULTS3(Svd, U, S, Vh);
DY_RESULTS2(Eigen, eigenvalues, eigenvectors);
DY_RESULTS2(Factors, LU, pivots);
DY_RESULTS3(Plu, P, L, U);
struct LeastSquares {
  Tensor solution, residuals, rank, singular_values;
};
DY_RESULTS2(WithInfo, result, info);

// clang-format off
inline Tensor det(const Tensor& A) { return call(Op::linalg_det_, A); }
inline SignLog slogdet(const Tensor& A) { auto r = call_all(Op::linalg_slogdet_, A); return {r[0], r[1]}; }
inline Tensor inv(const Tensor& A) { return call(Op::linalg_inv_, A); }
inline WithInfo inv_ex(const Tensor& A) { auto r = call_all(Op::linalg_inv_ex_, A, false); return {r[0], r[1]}; }
inline Tensor pinv(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {}, bool hermitian = false) { return call(Op::linalg_pinv_, A, atol, rtol, hermitian); }
inline Tensor solve(const Tensor& A, const Tensor& B, bool left = true) { return call(Op::linalg_solve_, A, B, left); }
inline WithInfo solve_ex(const Tensor& A, const Tensor& B, bool left = true) { auto r = call_all(Op::linalg_solve_ex_, A, B, left, false); return {r[0], r[1]}; }
inline Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left = true, bool unitriangular = false) { return call(Op::linalg_solve_triangular_, A, B, upper, left, unitriangular); }
inline LeastSquares lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond = {}, std::string_view driver = "gelsy") { auto r = call_all(Op::linalg_lstsq_, A, B, rcond, driver); return {r[0], r[1], r[2], r[3]}; }
inline Tensor cholesky(const Tensor& A, bool upper = false) { return call(Op::linalg_cholesky_, A, upper); }
inline WithInfo cholesky_ex(const Tensor& A, bool upper = false) { auto r = call_all(Op::linalg_cholesky_ex_, A, upper, false); return {r[0], r[1]}; }
inline Qr qr(const Tensor& A, std::string_view mode = "reduced") { auto r = call_all(Op::linalg_qr_, A, mode); return {r[0], r[1]}; }
inline Svd svd(const Tensor& A, bool full_matrices = true) { auto r = call_all(Op::linalg_svd_, A, full_matrices, Arg()); return {r[0], r[1], r[2]}; }
inline Tensor svdvals(const Tensor& A) { return call(Op::linalg_svdvals_, A, Arg()); }
inline Eigen eigh(const Tensor& A, std::string_view UPLO = "L") { auto r = call_all(Op::linalg_eigh_, A, UPLO); return {r[0], r[1]}; }
inline Tensor eigvalsh(const Tensor& A, std::string_view UPLO = "L") { return call(Op::linalg_eigvalsh_, A, UPLO); }
inline Eigen eig(const Tensor& A) { auto r = call_all(Op::linalg_eig_, A); return {r[0], r[1]}; }
inline Tensor eigvals(const Tensor& A) { return call(Op::linalg_eigvals_, A); }
inline Factors lu_factor(const Tensor& A) { auto r = call_all(Op::linalg_lu_factor_, A, true); return {r[0], r[1]}; }
inline std::vector<Tensor> lu_factor_ex(const Tensor& A) { return call_all(Op::linalg_lu_factor_ex_, A, true, false); }  // LU, pivots, info
inline Plu lu(const Tensor& A) { auto r = call_all(Op::linalg_lu_, A, true); return {r[0], r[1], r[2]}; }
inline Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left = true, bool adjoint = false) { return call(Op::linalg_lu_solve_, LU, pivots, B, left, adjoint); }
inline Tensor householder_product(const Tensor& A, const Tensor& tau) { return call(Op::linalg_householder_product_, A, tau); }

inline Tensor norm(const Tensor& A, std::optional<Scalar> ord = {}, std::optional<IntList> dim = {}, bool keepdim = false) { return call(Op::linalg_norm_, A, ord, dim, keepdim, Arg()); }
inline Tensor vector_norm(const Tensor& x, Scalar ord = 2, std::optional<IntList> dim = {}, bool keepdim = false) { return call(Op::linalg_vector_norm_, x, ord, dim, keepdim, Arg()); }
inline Tensor matrix_norm(const Tensor& A, Scalar ord, IntList dim = {-2, -1}, bool keepdim = false) { return call(Op::linalg_matrix_norm_, A, ord, dim, keepdim, Arg()); }
inline Tensor matrix_norm(const Tensor& A, const char* ord = "fro", IntList dim = {-2, -1}, bool keepdim = false) { return call(Op::linalg_matrix_norm_str_ord_, A, std::string_view(ord), dim, keepdim, Arg()); }
inline Tensor cond(const Tensor& A, std::optional<Scalar> p = {}) { return call(Op::linalg_cond_, A, p); }
inline Tensor matrix_rank(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {}, bool hermitian = false) { return call(Op::linalg_matrix_rank_, A, atol, rtol, hermitian); }

inline Tensor matrix_power(const Tensor& A, int64_t n) { return call(Op::linalg_matrix_power_, A, n); }
inline Tensor matrix_exp(const Tensor& A) { return call(Op::linalg_matrix_exp_, A); }
inline Tensor multi_dot(TensorList tensors) { return call(Op::linalg_multi_dot_, tensors); }
inline Tensor cross(const Tensor& self, const Tensor& other, int64_t dim = -1) { return call(Op::linalg_cross_, self, other, dim); }
inline Tensor matmul(const Tensor& self, const Tensor& other) { return call(Op::linalg_matmul_, self, other); }
inline Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1) { return call(Op::linalg_vecdot_, x, y, dim); }
inline Tensor diagonal(const Tensor& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) { return call(Op::linalg_diagonal_, A, offset, dim1, dim2); }
inline Tensor vander(const Tensor& x, std::optional<int64_t> N = {}) { return call(Op::linalg_vander_, x, N); }
inline Tensor tensorinv(const Tensor& A, int64_t ind = 2) { return call(Op::linalg_tensorinv_, A, ind); }
inline Tensor tensorsolve(const Tensor& A, const Tensor& B, std::optional<IntList> dims = {}) { return call(Op::linalg_tensorsolve_, A, B, dims); }
// clang-format on

}  // namespace dyadic::inline v1::linalg
