#include "ops/common.h"

namespace dyadic::inline v1::ops::put_op {
namespace {

Tensor compose(Args a) {
  const Tensor &self = a[arg::self], &index = a[arg::index], &source = a[arg::source];
  DY_CHECK_AS(IndexError, index.numel() == source.numel(), "put: index and source differ in size: index is {}, source is {}",
              describe(index), describe(source));
  DY_CHECK_AS(TypeError, index.dtype() == i64, "put: the index is int64: index is {}; convert with .to(i64)", describe(index));
  return reshape(call(Op::index_write_, reshape(self, {-1}), reshape(source, index.sizes()), std::span<const Tensor>(&index, 1),
                      Arg(), a[arg::accumulate]),
                 self.sizes());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    .doc =
        "self with the elements of source written to, or added at, the places of the flattened tensor that index (int64) "
        "names.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples =
        "put(randn(2, 7), indices(14; 5), randn(5))\n"
        "put(randn(3, 2), indices(6; 2, 4), randn(8), True)",
    .bad = "put(zeros(2), indices(2; 2), zeros(3)) => put: index and source differ in size: index is i64[2], source is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::put_op
