// How the transforms are composed: sizes, scales, several dimensions.
#include "ops/fft/fft.h"

#include <cmath>

namespace dyadic::inline v1::ops {

double fft_scale(const char* who, const Arg& norm, double n, Direction direction) {
  const std::string_view name = norm.kind == Arg::Kind::none ? "backward" : std::string_view(norm.text, norm.n);
  DY_CHECK_AS(ValueError, name == "backward" || name == "forward" || name == "ortho",
              "{}: unknown norm \"{}\"; the known ones are backward, forward and ortho", who, name);
  if (name == "ortho") return 1 / std::sqrt(n);
  return (name == "forward") == (direction == Direction::forward) ? 1 / n : 1;
}
void check_numbers(const char* who, const Tensor& t, bool real_only) {
  DY_CHECK_AS(TypeError, !(real_only && t.dtype().is_complex()), "{}: needs real numbers: self is {}", who, describe(t));
}
Tensor resized(const char* who, const Tensor& t, int64_t dim, int64_t n) {
  DY_CHECK(n >= 1, "{}: a transform has at least one element: n is {}, self is {}", who, n, describe(t));
  const int64_t have = t.size(dim);
  if (have == n) return t;
  if (have > n) return narrow(t, dim, 0, n);
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes[size_t(wrap_dim(who, dim, t.dim()))] = n - have;
  const Tensor parts[] = {t, zeros(sizes, plain(t), t.device())};
  return cat(parts, dim);
}

Tensor floating(const Tensor& t) {
  if (t.dtype().is_complex()) return t;
  const DType d = plain(t);
  if (!d.is_floating_point()) return to(t, default_dtype());
  return t.dtype().is_scaled() || compute_dtype(d) != d ? to(t, compute_dtype(d)) : t;
}

namespace {

int64_t size_or(const Arg& n, int64_t fallback) { return n.kind == Arg::Kind::none ? fallback : n.integer; }
int64_t checked_dim(const char* who, const Tensor& t, int64_t dim) {
  DY_CHECK_AS(IndexError, t.dim() > 0, "{}: a 0-d tensor has no dimension to transform: self is {}", who, describe(t));
  return wrap_dim(who, dim, t.dim());
}

}  // namespace

Tensor to_complex(const Tensor& t) {
  const Tensor x = floating(t);
  return x.dtype().is_complex() ? x : to(x, x.dtype().to_complex());
}
Tensor transform(const char* who, const Tensor& t, const Arg& n, int64_t dim, const Arg& norm, Direction direction) {
  const int64_t d = checked_dim(who, t, dim), size = size_or(n, t.size(d));
  const Tensor x = floating(resized(who, t, d, size));
  return call(Op::fft_along_, x, d, direction == Direction::inverse, fft_scale(who, norm, double(size), direction));
}
Tensor transform_real(const char* who, const Tensor& t, const Arg& n, int64_t dim, const Arg& norm, Direction direction) {
  check_numbers(who, t, true);
  const int64_t d = checked_dim(who, t, dim), size = size_or(n, t.size(d));
  const Tensor x = floating(resized(who, t, d, size)),
               r = call(Op::fft_real_along_, x, d, fft_scale(who, norm, double(size), direction));
  return direction == Direction::inverse ? conj(r) : r;
}
Tensor transform_half(const char* who, const Tensor& t, const Arg& n, int64_t dim, const Arg& norm, Direction direction) {
  const int64_t d = checked_dim(who, t, dim), size = size_or(n, 2 * (t.size(d) - 1));
  DY_CHECK(size >= 1, "{}: a transform has at least one element: n is {}, self is {}", who, size, describe(t));
  const Tensor x = to_complex(resized(who, t, d, size / 2 + 1));
  return call(Op::fft_half_along_, direction == Direction::forward ? conj(x) : x, d, size,
              fft_scale(who, norm, double(size), direction));
}

FftAxes::FftAxes(const char* who, const Tensor& t, const Arg& s, const Arg& dim, bool half) {
  const bool any_s = s.kind != Arg::Kind::none, any_dim = dim.kind != Arg::Kind::none;
  const int64_t n = any_dim ? int64_t(dim.n) : any_s ? int64_t(s.n) : t.dim();
  DY_CHECK(!any_s || int64_t(s.n) == n, "{}: s and dim differ in length: s is {}, dim is {}", who, shape_text(ints_of(s)),
           shape_text(ints_of(dim)));
  DY_CHECK(n <= t.dim(), "{}: more sizes than dimensions: self is {}, s is {}", who, describe(t), shape_text(ints_of(s)));
  DY_CHECK(n > 0 || !half, "{}: no dimension to transform: self is {}", who, describe(t));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t d = wrap_dim(who, any_dim ? dim.ints[i] : t.dim() - n + i, t.dim());
    for (int64_t e : dims) DY_CHECK(e != d, "{}: a dimension twice: dim is {}", who, shape_text(ints_of(dim)));
    const int64_t own = half && i == n - 1 ? 2 * (t.size(d) - 1) : t.size(d);
    dims.push_back(d);
    sizes.push_back(any_s && s.ints[i] != -1 ? s.ints[i] : own);
  }
}

// The last dimension first, as PyTorch does.
Tensor transform_all(const char* who, Args a, Direction direction) {
  namespace arg = fft_fftn_op::arg;
  const FftAxes axes(who, a[arg::self], a.arg(arg::s), a.arg(arg::dim), false);
  if (axes.dims.empty()) return to_complex(a[arg::self]);
  Tensor t = a[arg::self];
  for (size_t i = axes.dims.size(); i-- > 0;) t = transform(who, t, axes.sizes[i], axes.dims[i], a.arg(arg::norm), direction);
  return t;
}
Tensor transform_all_real(const char* who, Args a, Direction direction) {
  namespace arg = fft_fftn_op::arg;
  check_numbers(who, a[arg::self], true);
  const FftAxes axes(who, a[arg::self], a.arg(arg::s), a.arg(arg::dim), false);
  DY_CHECK(!axes.dims.empty(), "{}: no dimension to transform: self is {}", who, describe(a[arg::self]));
  Tensor t = transform_real(who, a[arg::self], axes.sizes.back(), axes.dims.back(), a.arg(arg::norm), direction);
  for (size_t i = axes.dims.size() - 1; i-- > 0;)
    t = transform(who, t, axes.sizes[i], axes.dims[i], a.arg(arg::norm), direction);
  return t;
}
Tensor transform_all_half(const char* who, Args a, Direction direction) {
  namespace arg = fft_fftn_op::arg;
  const FftAxes axes(who, a[arg::self], a.arg(arg::s), a.arg(arg::dim), true);
  Tensor t = to_complex(a[arg::self]);
  for (size_t i = 0; i + 1 < axes.dims.size(); ++i)
    t = transform(who, t, axes.sizes[i], axes.dims[i], a.arg(arg::norm), direction);
  return transform_half(who, t, axes.sizes.back(), axes.dims.back(), a.arg(arg::norm), direction);
}
std::vector<int64_t> shift_dims(const char* who, const Tensor& t, const Arg& dim) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < (dim.kind == Arg::Kind::none ? t.dim() : int64_t(dim.n)); ++i)
    dims.push_back(dim.kind == Arg::Kind::none ? i : wrap_dim(who, dim.ints[i], t.dim()));
  return dims;
}

}  // namespace dyadic::inline v1::ops
