#include "ops/composite.h"

#include <cmath>

#include "base/log.h"

namespace dyadic::inline v1::ops {

void spread(const char* who, const char* name, IntList values, int64_t n, int64_t* out) {
  DY_CHECK(values.size() == 1 || int64_t(values.size()) == n,
           "{}: {} has one value, or one for each of {} dimensions: {} is {}", who, name, n, name, shape_text(values));
  for (int64_t d = 0; d < n; ++d) out[d] = values[values.size() == 1 ? 0 : size_t(d)];
}

void warn_of_broadcast(const char* who, const Tensor& input, const Tensor& target) {
  if (input.sizes() == target.sizes()) [[likely]]
    return;
  warn_once(
      fmt::format("{}: input is {}, target {}: they broadcast, each element of one against many of the other, which is "
                  "seldom meant; give both one shape",
                  who, describe(input), describe(target)));
}

Tensor reduced(const char* who, const Tensor& loss, std::string_view reduction) {
  if (reduction == "mean") return mean(loss);
  if (reduction == "sum") return sum(loss);
  DY_CHECK_AS(ValueError, reduction == "none", "{}: unknown reduction \"{}\"; the known ones are none, mean and sum", who,
              reduction);
  return loss;
}
Tensor constant_in(const Tensor& value, const Tensor& x) {
  if (!GradMode::enabled() || !x.requires_grad()) return value;
  return where(ones({}, boolean, x.device()), value, to(x, value.dtype()));
}
Tensor at_least_zero(const Tensor& x) { return relu(x); }
Tensor softplus_of(const Tensor& x) { return softplus(x, 1.0, HUGE_VAL); }

Tensor trapezoids(const char* who, Args a, int64_t& dim) {
  namespace arg = trapezoid_op::arg;
  const Tensor& t = a[arg::y];
  dim = wrap_dim(who, a[arg::dim], t.dim());
  DY_CHECK(t.dim() > 0, "{}: a 0-d tensor has no neighbours", who);
  const int64_t n = t.size(dim);
  const Tensor y = t.dtype() == boolean ? to(t, i64) : t;
  if (n < 2) return mul(slice(y, dim, 0, 0), 1.0);
  const Tensor pairs = mul(add(narrow(y, dim, 1, n - 1), narrow(y, dim, 0, n - 1)), 0.5);
  if (!a.has(arg::x)) return mul(pairs, a[arg::dx]);
  Tensor x = a[arg::x];
  const int64_t at = x.dim() == 1 ? 0 : dim - t.dim() + x.dim();
  DY_CHECK(x.dim() > 0 && at >= 0 && x.size(at) == n, "{}: one place per sample is needed: y is {}, x is {}", who, describe(t),
           describe(x));
  x = diff(x.dtype() == boolean ? to(x, i64) : x, 1, at);
  if (x.dim() == 1) {
    std::vector<int64_t> shape(size_t(t.dim() - dim), 1);
    shape[0] = n - 1;
    x = reshape(x, shape);
  }
  return mul(pairs, x);
}

Tensor lookup(const Tensor& values, const Tensor& indices) {
  return squeeze(embedding(unsqueeze(values, 1), indices.contiguous()), -1);
}

}  // namespace dyadic::inline v1::ops
