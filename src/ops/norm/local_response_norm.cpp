#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::local_response_norm_op {
namespace {

Tensor means(const Tensor& squares, int64_t size) {
  const int64_t map[] = {kAverage, size, 1, size / 2, (size - 1) / 2, 1};
  return call(Op::resample_, squares, int64_t(1), squares.size(1), IntList(map), 0.0);
}
// Of int64: rounded towards zero, as PyTorch has them.
Tensor whole_means(const Tensor& squares, int64_t size) {
  const auto none = [&](int64_t channels) {
    std::vector<int64_t> shape = squares.sizes().vec();
    shape[1] = channels;
    return zeros(shape, i64, squares.device());
  };
  const Tensor padded[] = {none(size / 2), squares, none((size - 1) / 2)};
  return div(sum(unfold(cat(padded, 1), 1, size, 1), {-1}), size, "trunc");
}

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  const int64_t size = a[arg::size];
  DY_CHECK(x.dim() >= 3 && size > 0,
           "local_response_norm: it takes [N, C, sizes ...] and a positive size: input is {}, size is {}", describe(x), size);
  if (x.numel() == 0) return x;
  if (x.dtype() != i64) check_float("local_response_norm", x, "input");
  const Tensor around = x.dtype() == i64 ? whole_means(square(x), size) : means(square(x), size);
  return div(x, pow(add(mul(around, a[arg::alpha]), a[arg::k]), a[arg::beta]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor",
    .doc =
        "x / (k + alpha mean(x^2))^beta, the mean over `size` neighbouring channels of [N, C, ...], zeros beyond the ends. "
        "(Krizhevsky et al. 2012.)",
    .kind = OpKind::composite,
    .samples =
        "local_response_norm(randn(2, 5, 3), 3, 0.1)\n"
        "local_response_norm(randn(1, 4, 2, 2), 2)",
    .bad =
        "local_response_norm(zeros(2, 3), 2) => local_response_norm: it takes [N, C, sizes ...] and a positive size: input is "
        "f32[2, 3], size is 2",
    .skip = "integer_values: the mean of whole numbers is cut off",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::local_response_norm_op
