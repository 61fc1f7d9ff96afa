#include "ops/create/triangle_indices.h"

namespace dyadic::inline v1::ops::triu_indices_op {
namespace {

Tensor compose(Args a) { return triangle_indices("triu_indices", a, false); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Rows and columns ([2, n], int64) of the entries on and above a diagonal of a row x col matrix, row by row.",
    .kind = OpKind::composite,
    .samples =
        "triu_indices(3, 4)\n"
        "triu_indices(4, 3, -1)\n"
        "triu_indices(0, 3)",
    .bad =
        "triu_indices(-1, 2) => triu_indices: negative size: -1 x 2\n"
        "triu_indices(9000000000000000000, 9000000000000000000) => triu_indices: too many: 9000000000000000000 x "
        "9000000000000000000 with offset 0",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::triu_indices_op
