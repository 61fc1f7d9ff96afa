#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/sort/sorting.h"

namespace dyadic::inline v1::ops::ranked_rows_op {
namespace {

void infer(Call& c) {
  check_order(c);
  const Tensor &self = c[arg::self], &ranks = c[arg::ranks];
  DY_CHECK_AS(TypeError, ranks.dtype() == i64, "ranked_rows: ranks are int64: ranks is {}", describe(ranks));
  bool fits = ranks.dim() == self.dim();
  for (int64_t d = 0; fits && d + 1 < self.dim(); ++d) fits = ranks.size(d) == self.size(d);
  DY_CHECK(fits, "ranked_rows: the sizes do not fit: self is {}, ranks is {}", describe(self), describe(ranks));
  infer_like_first(c);
  c.spec[0].shape(ranks.sizes());
  c.spec[1] = c.spec[0];
  c.spec[1].dtype = i64;
  c.nout = 2;
}
void run(const RowOrder& p, const Pointers& at) {
  const auto* rank = static_cast<const int64_t*>(at.in[1]);
  for (int64_t i = 0; i < p.rows.count * p.columns; ++i)
    DY_CHECK_AS(IndexError, uint64_t(rank[i]) < uint64_t(p.rows.size), "ranked_rows: a rank is out of range: {} of {} entries",
                rank[i], p.rows.size);
  ranked_rows(p, at);
}
void plan(Call& c) {
  const RowOrder p = order_rows(c);
  c.plan.workspace = choose_workspace(p);
  c.plan.set<run>(p);
}
double flops(const Call& c) { return double(c[arg::self].numel()); }
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  g.set(arg::self, scatter_add(zeros(m.shape(), g.g().dtype(), m.device), -1, g.out(1), g.g()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "ranked_rows(Tensor self, Tensor ranks) -> (Tensor values, Tensor indices)",
    .doc =
        "The elements of the last dimension that would be at `ranks` (int64, for each row its own) if it were sorted, and "
        "where "
        "they are: quantile calls it.",
    .internal = true,
    .samples =
        "ranked_rows(randn(3, 7), indices(7; 3, 2))\n"
        "ranked_rows(steps(2, 300), indices(300; 2, 3))\n"
        "ranked_rows(randn(2, 9), indices(9; 2, 20))\n"
        "ranked_rows(randn(), indices(1; ))",
    .bad =
        "ranked_rows(zeros(3), indices(4; 2)) => ranked_rows: a rank is out of range: 3 of 3 entries\n"
        "ranked_rows(zeros(2, 3), indices(3; 2)) => ranked_rows: the sizes do not fit: self is f32[2, 3], ranks is i64[2]",
    .infer = infer,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::ranked_rows_op
