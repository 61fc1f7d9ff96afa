#include "ops/linalg/matrices.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::ops::linalg_lstsq_op {
namespace {

// Where the rank is computed, residuals are those of full rank: known on cpu alone.
bool full_rank(const Tensor& rank, int64_t n) {
  return rank.is_meta() || rank.numel() == 0 || all(every_entry(eq(rank, n))).item<bool>();
}

std::vector<Tensor> compose(Args a) {
  const char* who = "linalg.lstsq";
  const Tensor &t = a[arg::self], &given = a[arg::b];
  const std::string_view driver =
      !a.has(arg::driver) ? "gelsy" : std::string_view(a.arg(arg::driver).text, a.arg(arg::driver).n);
  check_matrix(who, t, "self");
  const bool vector =
      given.dim() == 1 || (given.dim() == t.dim() - 1 && given.sizes() == IntList(t.sizes().begin(), t.sizes().size() - 1));
  const Tensor x = widened(t), b = widened(vector ? unsqueeze(given, -1) : given);
  const std::vector<Tensor> r = call_all(Op::linalg_least_squares_, x, b, a.arg(arg::rcond), driver);
  const DType real_type = x.dtype().to_real();
  Tensor residuals = empty({0}, real_type, t.device()), rank = empty({0}, i64, t.device()),
         values = empty({0}, real_type, t.device());
  const bool by_values = driver == "gelsd" || driver == "gelss";
  if (t.size(-2) > t.size(-1) && driver != "gelsy" && (!by_values || full_rank(r[1], t.size(-1))))
    residuals = sum(square(abs(sub(matmul(x, r[0]), b))), {-2});
  if (driver != "gels") rank = r[1];
  if (by_values) values = r[2].detach();
  return {like(vector ? squeeze(r[0], -1) : r[0], t), residuals, rank, values};
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, "
        "Tensor rank, Tensor singular_values)",
    .doc =
        "X of least |self X - b| for self [..., m, n] and b [..., m, k], or [..., m]; of several the one of least norm. "
        "driver: "
        "gelsy (QR with pivots, the default), gels (QR, full rank only), gelsd and gelss (singular values); singular values up "
        "to "
        "rcond times the largest count as zero (default max(m, n) eps). residuals |self X - b|^2 [..., k] are computed for m > "
        "n "
        "and full rank by all but gelsy, rank by all but gels, singular_values by gelsd and gelss; what is not, is empty.",
    .kind = OpKind::composite,
    .samples =
        "linalg_lstsq(randn(4, 3), randn(4, 2))\n"
        "linalg_lstsq(randn(3, 3), randn(3))\n"
        "linalg_lstsq(randn(2, 3, 5), randn(2, 3, 1))\n"
        "linalg_lstsq(randn(4, 3), randn(4, 2), None, 'gels')\n"
        "linalg_lstsq(randn(4, 3), randn(4, 2), None, 'gelsd')\n"
        "linalg_lstsq(randn(2, 4, 3), randn(2, 4, 2), 1e-05, 'gelss')",
    .bad = "linalg_lstsq(zeros(2, 2), zeros(3)) => linalg.lstsq: sizes do not fit: self is f32[2, 2], b is f32[3, 1]",
    .skip =
        "threads: those of linalg_least_squares, which is tested\n"
        "second_output: numbers and singular values are not differentiated\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_lstsq_op
