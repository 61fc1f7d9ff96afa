#include "ops/common.h"

namespace dyadic::inline v1::ops::as_strided_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  for (int64_t s : ints_of(a.arg(arg::stride)))
    DY_CHECK(s >= 0, "as_strided: negative stride: stride is {}; slice with a negative step",
             shape_text(ints_of(a.arg(arg::stride))));
  const int64_t offset = !a.has(arg::storage_offset) ? t.storage_offset() : a[arg::storage_offset];
  return call(Op::strided_view_, t, ints_of(a.arg(arg::size)), ints_of(a.arg(arg::stride)), offset, t.strides(),
              t.storage_offset());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    .doc = "A view of the storage with the given sizes, strides and offset (in elements), whatever self shows of it.",
    .kind = OpKind::composite,
    .samples =
        "as_strided(randn(2, 3), [3, 2], [1, 3])\n"
        "as_strided(randn(6), [2, 3], [1, 1], 1)\n"
        "as_strided(randn(3), [], [])\n"
        "as_strided(randn(4), [2, 0], [1, 1])",
    .bad =
        "as_strided(zeros(4), [3], [2]) => as_strided: it reaches outside of the storage: size is [3], stride is [2], "
        "storage_offset is 0, the storage has 4 elements\n"
        "as_strided(zeros(8), [17], [1152921504606846976]) => as_strided: it reaches outside of the storage: size is [17], "
        "stride is [1152921504606846976], storage_offset is 0, the storage has 8 elements",
    .skip =
        "layout: it shows the storage, not the tensor\n"
        "grad: it shows the storage, not the tensor\n"
        "narrow: it shows the storage, not the tensor\n"
        "scaled: it shows the storage, not the tensor",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::as_strided_op
