#include "ops/common.h"

namespace dyadic::inline v1::ops::permute_op {
namespace {

void view(Call& c) {
  const Tensor& t = c[arg::self];
  const TensorImpl& i = *t.impl();
  IntList dims = c[arg::dims];
  DY_CHECK(dims.size() == i.ndim, "permute: one entry per dimension is needed: self is {}, dims is {}", describe(t),
           shape_text(dims));
  int64_t sizes[kMaxDims], strides[kMaxDims];
  bool seen[kMaxDims] = {};
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t from = wrap_dim("permute", dims[d], i.ndim);
    DY_CHECK(!seen[from], "permute: a dimension is named twice: dims is {}", shape_text(dims));
    seen[from] = true;
    sizes[d] = i.sizes[from];
    strides[d] = i.strides[from];
  }
  c.out[0] = make_view(t, {sizes, dims.size()}, {strides, dims.size()}, i.offset);
}

void backward(Grad& g) {
  IntList dims = g[arg::dims];
  int64_t inverse[kMaxDims];
  for (size_t d = 0; d < dims.size(); ++d) inverse[wrap_dim("permute", dims[d], int64_t(dims.size()))] = int64_t(d);
  g.set(arg::self, permute(g.g(), {inverse, dims.size()}));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "permute(Tensor self, int[] dims) -> Tensor",
    .doc = "A view with the dimensions in the order of dims.",
    .kind = OpKind::view,
    .samples = "permute(randn(2, 3, 4), [2, 0, 1])\npermute(randn(3, 64), [-1, 0])\npermute(randn(), [])",
    .bad = "permute(zeros(2, 3), [0, 0]) => permute: a dimension is named twice: dims is [0, 0]",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::permute_op
