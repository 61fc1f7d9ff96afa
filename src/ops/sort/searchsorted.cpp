#include "ops/common.h"

namespace dyadic::inline v1::ops::searchsorted_op {
namespace {

Tensor compose(const Arg* a) {
  Tensor sequence = *a[0].tensor, values = *a[1].tensor;
  bool right = a[3].boolean;
  if (a[4].kind == Arg::Kind::text) {
    const std::string_view side(a[4].text, a[4].n);
    DY_CHECK_AS(ValueError, side == "left" || side == "right",
                "searchsorted: unknown side \"{}\"; the known ones are left, right", side);
    DY_CHECK(side == "right" || !right, "searchsorted: side is left, but right is True");
    right = side == "right";
  }
  NoGrad guard;
  if (a[5].kind == Arg::Kind::tensor) sequence = gather(sequence, -1, *a[5].tensor);
  const Arg both[] = {Arg(sequence), Arg(values)};
  const DType common = result_type(both, 2);
  return call(Op::search_rows_, to(sequence, common), to(values, common), right, a[2].boolean);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
        "sorter=None) -> Tensor",
    .doc =
        "For each element the place in the sorted last dimension of sorted_sequence (1-d, or of the same leading sizes) where "
        "it would be put, before equal ones (or behind them: right, or side right).",
    .kind = OpKind::composite,
    .samples =
        "searchsorted(zeros(5), randn(3, 4))\n"
        "searchsorted(zeros(5), randn(), True, True)\n"
        "searchsorted(ones(3, 5), randn(3, 4))",
    .bad =
        "searchsorted(zeros(2), zeros(2), False, False, 'up') => searchsorted: unknown side \"up\"; the known ones are left, "
        "right",
    .skip =
        "gradcheck: places have none\n"
        "cost: indices are not arithmetic",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::searchsorted_op
