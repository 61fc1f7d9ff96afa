#include "ops/linalg/norms.h"

#include <cmath>

namespace dyadic::inline v1::ops {
namespace {

struct Axes {  // of rows and columns
  int64_t rows, cols;
  Axes(const char* who, const Tensor& t, IntList dim) {
    DY_CHECK(dim.size() == 2, "{}: a matrix has two dimensions: dim is {}", who, shape_text(dim));
    rows = wrap_dim(who, dim[0], t.dim());
    cols = wrap_dim(who, dim[1], t.dim());
    DY_CHECK(rows != cols, "{}: two different dimensions are needed: self is {}, dim is {}", who, describe(t), shape_text(dim));
  }
};
void check_norm(const char* who, const Tensor& t) {
  DY_CHECK_AS(TypeError, t.dtype().is_floating_point() || t.dtype().is_scaled() || t.dtype().is_complex(),
              "{}: needs floating-point or complex numbers: self is {}; convert with .to(f32) first", who, describe(t));
  DY_CHECK(t.dim() >= 2, "{}: needs a matrix, or a batch of them: self is {}", who, describe(t));
}
Tensor with_dims(const Tensor& t, const Axes& at, bool keepdim) {
  if (!keepdim) return t;
  return unsqueeze(unsqueeze(t, std::min(at.rows, at.cols)), std::max(at.rows, at.cols));
}
// The largest, 0 of nothing, or the smallest.
Tensor extreme(const Tensor& t, bool largest, int64_t dim, bool keepdim) {
  if (!largest) return amin(t, {dim}, keepdim);
  return t.size(dim) == 0 ? sum(t, {dim}, keepdim) : amax(t, {dim}, keepdim);
}
Tensor singular_values(const Tensor& t, const Axes& at) {
  return call(Op::linalg_svdvals_, movedim(t, {at.rows, at.cols}, {-2, -1}), Arg());
}

}  // namespace

Tensor matrix_norm(const char* who, const Tensor& t, double ord, IntList dim, bool keepdim) {
  check_norm(who, t);
  const Axes at(who, t, dim);
  const double size = std::abs(ord);
  DY_CHECK(size == 1 || size == 2 || size == HUGE_VAL,
           "{}: matrices have no such norm: ord is {}; the known ones are fro, nuc, 1, 2 and inf, and -1, -2, -inf", who, ord);
  if (size == 2) {
    const Tensor s = singular_values(widened(t), at);
    return like(with_dims(extreme(s, ord > 0, -1, false), at, keepdim), t);
  }
  const int64_t gone = size == 1 ? at.rows : at.cols, left = size == 1 ? at.cols : at.rows;
  const Tensor sums = sum(abs(widened(t)), {gone}, true), r = extreme(sums, ord > 0, left, true);
  return like(keepdim ? r : squeeze(r, IntList({at.rows, at.cols})), t);
}
Tensor matrix_norm(const char* who, const Tensor& t, std::string_view ord, IntList dim, bool keepdim) {
  check_norm(who, t);
  const Axes at(who, t, dim);
  DY_CHECK_AS(ValueError, ord == "fro" || ord == "nuc", "{}: unknown norm \"{}\"; the known ones are fro, nuc and numbers", who,
              ord);
  if (ord == "fro") return vector_norm(t, 2, dim, keepdim);
  return like(with_dims(sum(singular_values(widened(t), at), {-1}), at, keepdim), t);
}
Tensor in_dtype(const Tensor& t, const Arg& dtype) { return dtype.kind == Arg::Kind::none ? t : to(t, dtype.dtype); }

}  // namespace dyadic::inline v1::ops
