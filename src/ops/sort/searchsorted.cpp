#include "ops/common.h"

namespace dyadic::inline v1::ops::searchsorted_op {
namespace {

Tensor compose(Args a) {
  Tensor sequence = a[arg::sorted_sequence], values = a[arg::self];
  bool right = a[arg::right];
  if (a.arg(arg::side).kind == Arg::Kind::text) {
    const std::string_view side(a.arg(arg::side).text, a.arg(arg::side).n);
    DY_CHECK_AS(ValueError, side == "left" || side == "right",
                "searchsorted: unknown side \"{}\"; the known ones are left, right", side);
    DY_CHECK(side == "right" || !right, "searchsorted: side is left, but right is True");
    right = side == "right";
  }
  NoGrad guard;
  if (a.has(arg::sorter)) sequence = gather(sequence, -1, a[arg::sorter]);
  const Arg both[] = {Arg(sequence), Arg(values)};
  const DType common = result_type(both, 2);
  return call(Op::search_rows_, to(sequence, common), to(values, common), right, a[arg::out_int32]);
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
