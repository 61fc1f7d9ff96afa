#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  const int64_t rows = a[0].integer, cols = a[1].integer, offset = a[2].integer;
  DY_CHECK(rows >= 0 && cols >= 0, "tril_indices: negative size: {} x {}", rows, cols);
  std::vector<int64_t> at[2];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      if (j - i <= offset) at[0].push_back(i), at[1].push_back(j);
  at[0].insert(at[0].end(), at[1].begin(), at[1].end());
  const Tensor both = from_data(at[0].data(), {2, int64_t(at[1].size())}, i64);
  const Tensor out = a[3].kind == Arg::Kind::none ? both : to(both, a[3].dtype);
  return a[4].kind == Arg::Kind::none ? out : out.to(Device{a[4].device});
}

}  // namespace

extern constexpr OpDef tril_indices_op = {
    .sig = "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Rows and columns ([2, n], int64) of the entries on and below a diagonal of a row x col matrix, row by row.",
    .kind = OpKind::composite,
    .samples =
        "tril_indices(3, 4)\n"
        "tril_indices(4, 3, -1)\n"
        "tril_indices(0, 3)",
    .bad = "tril_indices(-1, 2) => tril_indices: negative size: -1 x 2",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
