#include "loops/pointwise.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

bool is_nothing(IntList sizes) { return sizes.size() == 1 && sizes[0] == 0; }  // [0] joins anything, as in PyTorch

void infer(Call& c) {
  auto list = c.tensors(0);
  DY_CHECK_AS(ValueError, !list.empty(), "cat: an empty list of tensors");
  size_t some = 0;
  while (some + 1 < list.size() && is_nothing(list[some].sizes())) ++some;
  const Tensor& first = list[some];
  DY_CHECK(first.dim() > 0, "cat: 0-d tensors cannot be joined; use stack");
  int64_t dim = wrap_dim("cat", c.integer(1), first.dim()), total = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    if (is_nothing(list[k].sizes())) continue;
    bool fits = list[k].dim() == first.dim();
    for (int64_t d = 0; fits && d < first.dim(); ++d) fits = d == dim || list[k].size(d) == first.size(d);
    DY_CHECK(fits, "cat: shapes differ outside dimension {}: tensor {} is {}, tensor {} is {}", dim, some, describe(first), k,
             describe(list[k]));
    total += list[k].size(dim);
  }
  c.spec[0].dtype = result_type(c.args, 1);
  c.spec[0].device = first.device();
  c.spec[0].shape(first.sizes());
  c.spec[0].sizes[dim] = total;
}
void forward(Call& c) {
  NoGrad guard;
  int64_t dim = wrap_dim("cat", c.integer(1), c.out[0].dim()), at = 0;
  for (const Tensor& t : c.tensors(0)) {
    if (is_nothing(t.sizes())) continue;
    assign(narrow(c.out[0], dim, at, t.size(dim)), t);
    at += t.size(dim);
  }
}
void backward(Grad& g) {
  int64_t dim = wrap_dim("cat", g.integer(1), g.g().dim()), at = 0;
  for (int i = 0; i < g.node.nin; ++i) {
    if (is_nothing(g.in_meta(i).shape())) {
      if (g.needs(i)) g.set(i, zeros({0}, g.g().dtype(), g.g().device()));
      continue;
    }
    int64_t n = g.in_meta(i).sizes[dim];
    if (g.needs(i)) g.set(i, narrow(g.g(), dim, at, n));
    at += n;
  }
}

}  // namespace

extern constexpr OpDef cat_op = {
    .sig = "cat(Tensor[] tensors, int dim=0) -> Tensor",
    .doc = "Tensors joined along a dimension; the other sizes are equal.",
    .aliases = "concat concatenate",
    .samples = "cat([randn(2, 3), randn(2, 1)], 1)",
    .bad =
        "cat([zeros(2, 3), zeros(2, 4)], 0) => cat: shapes differ outside dimension 0: tensor 0 is f32[2, 3], tensor 1 is "
        "f32[2, 4]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .accepts_blocked = true,
};

}  // namespace dyadic::inline v1::ops
