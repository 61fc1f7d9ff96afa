#include "ops/sort/quantiles.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::ops {
namespace {

// Where in the sorted rows the shares lie: [rows..., q], between 0 and the number of entries - 1. A row with NaN looks at its
// end, where NaN is.
Tensor ranks(const Tensor& rows, const Tensor& q, bool ignore_nan) {
  const Tensor nan = isnan(rows.detach());
  if (!ignore_nan) {
    const double last = double(rows.size(-1) - 1);
    return where(any(nan, {-1}, true), scalar_tensor(last), mul(q, last));
  }
  const Tensor count = to(sum(logical_not(nan), {-1}, true), q.dtype());
  return mul(q, maximum(sub(count, 1), 0));
}

}  // namespace

Tensor quantile_of(const char* who, const Tensor& self, const Tensor& q, const Arg& dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan) {
  bool known = false;
  for (std::string_view name : {"linear", "lower", "higher", "midpoint", "nearest"}) known |= name == interpolation;
  DY_CHECK_AS(ValueError, known,
              "{}: unknown interpolation \"{}\"; the known ones are linear, lower, higher, midpoint, nearest", who,
              interpolation);
  check_float(who, self, "self");
  DY_CHECK(q.dim() <= 1, "{}: q has at most one dimension: q is {}", who, describe(q));
  DY_CHECK(self.numel() > 0, "{}: nothing to choose from: self is {}", who, describe(self));
  if (!q.is_meta())
    for (double v : every_entry(q.detach()).to_vector()) DY_CHECK(v >= 0 && v <= 1, "{}: q is outside of [0, 1]: {}", who, v);
  const bool all = dim.kind == Arg::Kind::none;
  const int64_t d = all ? 0 : wrap_dim(who, dim.integer, self.dim());
  const Tensor rows = all || self.dim() == 0 ? reshape(self, {-1}) : movedim(self, {d}, {-1});
  Tensor rank = ranks(rows, reshape(to(q, plain(self) == f64 ? f64 : f32), {-1}), ignore_nan);
  if (interpolation == "lower") rank = floor(rank);
  if (interpolation == "higher") rank = ceil(rank);
  if (interpolation == "nearest") rank = round(rank);
  std::vector<int64_t> columns = rows.sizes().vec();
  columns.back() = q.numel();
  rank = contiguous(expand(rank, columns));
  const bool between = interpolation == "linear" || interpolation == "midpoint";
  const Tensor below = floor(rank), ends[] = {below.detach(), ceil(rank.detach())};
  const Tensor at = call_all(Op::ranked_rows_, rows, to(between ? cat(ends, -1) : ends[0], i64))[0];
  Tensor r = narrow(at, -1, 0, q.numel());  // [rows..., q]
  if (between) {
    const Tensor high = narrow(at, -1, q.numel(), q.numel());
    const Tensor share =
        interpolation == "midpoint" ? full({}, 0.5, plain(self), self.device()) : to(sub(rank, below), plain(self));
    r = add(r, mul(sub(high, r), share));
  }
  // Where the reduced dimension was, or all of them.
  if (q.dim() == 0)
    r = squeeze(r, -1);
  else
    r = movedim(r, {-1}, {0});
  if (!keepdim || self.dim() == 0) return r;
  std::vector<int64_t> shape = self.sizes().vec();
  for (int64_t k = 0; k < self.dim(); ++k)
    if (all || k == d) shape[size_t(k)] = 1;
  if (q.dim()) shape.insert(shape.begin(), q.numel());
  return reshape(r, shape);
}

}  // namespace dyadic::inline v1::ops
