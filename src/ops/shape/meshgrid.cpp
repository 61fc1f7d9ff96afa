#include <utility>

#include "ops/common.h"

namespace dyadic::inline v1::ops::meshgrid_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const auto given = a[arg::tensors];
  const std::string_view indexing(a.arg(arg::indexing).text, a.arg(arg::indexing).n);
  DY_CHECK(!given.empty(), "meshgrid: an empty list of tensors");
  DY_CHECK_AS(ValueError, indexing == "ij" || indexing == "xy", "meshgrid: unknown indexing \"{}\"; the known ones are ij, xy",
              indexing);
  std::vector<Tensor> tensors(given.begin(), given.end());
  const bool swap = indexing == "xy" && tensors.size() > 1;
  if (swap) std::swap(tensors[0], tensors[1]);
  std::vector<int64_t> sizes;
  for (const Tensor& t : tensors) {
    DY_CHECK(t.dim() <= 1, "meshgrid: needs 1-d tensors: one is {}", describe(t));
    DY_CHECK_AS(TypeError, plain(t) == plain(tensors[0]), "meshgrid: the dtypes differ: {} and {}", tensors[0].dtype().name(),
                t.dtype().name());
    sizes.push_back(t.numel());
  }
  std::vector<Tensor> out;
  for (size_t k = 0; k < tensors.size(); ++k) {
    std::vector<int64_t> one(sizes.size(), 1);
    one[k] = sizes[k];
    out.push_back(expand(view(contiguous(tensors[k]), one), sizes));
  }
  if (swap) std::swap(out[0], out[1]);
  return out;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "meshgrid(Tensor[] *tensors, str indexing='ij') -> Tensor[]",
    .doc =
        "Views of 1-d tensors over their common grid: result k varies along dimension k (with indexing xy the first two are "
        "exchanged).",
    .kind = OpKind::composite,
    .samples =
        "meshgrid([randn(2), randn(3)])\n"
        "meshgrid([randn(2), randn(3), randn()], 'xy')",
    .bad = "meshgrid([zeros(2)], 'yx') => meshgrid: unknown indexing \"yx\"; the known ones are ij, xy",
    .skip = "threads: the result has the product of the sizes",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::meshgrid_op
