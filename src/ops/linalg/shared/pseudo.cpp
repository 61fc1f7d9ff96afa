#include "ops/linalg/pseudo.h"

#include <algorithm>

namespace dyadic::inline v1::ops {

double default_rtol(const Tensor& a) {
  const DType d = compute_dtype(plain(a)).to_real();
  return d.format()->def->eps * double(std::max(a.size(-1), a.size(-2)));
}

Tensor pseudo_gradient(const Tensor& a, const Tensor& p, const Tensor& g) {
  const Tensor ph = mH(p), gh = mH(g), pph = matmul(gh, matmul(p, ph)), php = matmul(matmul(ph, p), gh);
  const Tensor out = sub(pph, matmul(a, matmul(p, pph))), in = sub(php, matmul(matmul(php, p), a));
  return add(sub(out, matmul(matmul(ph, g), ph)), in);
}

}  // namespace dyadic::inline v1::ops
