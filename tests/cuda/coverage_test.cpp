// Which ops the device has kernels for: what is not in this list. It may only become shorter.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "corridor/call.h"
#include "corridor/signature.h"
#include "dyadic/cuda.h"

namespace dyadic {
namespace {

const std::set<std::string> kByHost = {"fft_along",
                                       "fft_half_along",
                                       "fft_real_along",
                                       "linalg_cholesky_ex",
                                       "linalg_det",
                                       "linalg_eig",
                                       "linalg_eigenvalues",
                                       "linalg_eigh",
                                       "linalg_eigvalsh",
                                       "linalg_inv_ex",
                                       "linalg_least_squares",
                                       "linalg_lu_factor_ex",
                                       "linalg_matrix_exp",
                                       "linalg_pinv",
                                       "linalg_qr",
                                       "linalg_row_order",
                                       "linalg_slogdet",
                                       "linalg_solve_factored",
                                       "linalg_solve_triangular",
                                       "linalg_svd",
                                       "linalg_svdvals"};

TEST(CudaCoverage, WhatGoesByTheHostIsListed) {
  if (!cuda::is_available()) GTEST_SKIP() << cuda::why_unavailable();
  std::set<std::string> without;
  for (int i = 0; i < kOps; ++i) {
    const OpDef& def = op_def(Op(i));
    const bool runs = (def.kind == OpKind::kernel || def.kind == OpKind::pointwise) && !def.moves;
    if (runs && !device_kernel(Op(i))) without.insert(op_name(Op(i)));
  }
  EXPECT_EQ(without, kByHost);
}

}  // namespace
}  // namespace dyadic
