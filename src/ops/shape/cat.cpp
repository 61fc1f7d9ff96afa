#include <algorithm>

#include "base/parallel.h"
#include "loops/strided_copy_kernel.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::cat_op {
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
constexpr int64_t kPiece =
    128 << 10;  // bytes of the result: they stay in a core's cache until all tensors have written to them

// One tensor after the other.
void join(const Tensor& out, std::span<const Tensor> list, int64_t dim) {
  NoGrad guard;
  int64_t at = 0;
  for (const Tensor& t : list) {
    if (is_nothing(t.sizes())) continue;
    assign(narrow(out, dim, at, t.size(dim)), t);
    at += t.size(dim);
  }
}
// The part [begin, begin + n) along `cut` of one tensor after the other.
void join_part(const Tensor& out, std::span<const Tensor> list, int64_t dim, int64_t cut, int64_t begin, int64_t n) {
  const TensorImpl& o = *out.impl();
  const int64_t width = o.dtype.itemsize();
  char* dst = o.data() + begin * o.strides[cut] * width;
  for (const Tensor& tensor : list) {
    const TensorImpl& t = *tensor.impl();
    if (is_nothing(tensor.sizes())) continue;
    int64_t sizes[kMaxDims];
    std::copy_n(t.sizes, t.ndim, sizes);
    sizes[cut] = n;
    strided_copy_kernel().copy(dst, o.strides, t.data() + begin * t.strides[cut] * width, t.strides, sizes, t.ndim, width);
    dst += t.sizes[dim] * o.strides[dim] * width;
  }
}
void forward(Call& c) {
  const Tensor& out = c.out[0];
  const auto list = c.tensors(0);
  const int64_t dim = wrap_dim("cat", c.integer(1), out.dim());
  bool plain = dim > 0 && !out.dtype().is_blocked() && out.nbytes() > kPiece;
  for (const Tensor& t : list) plain = plain && (is_nothing(t.sizes()) || t.dtype() == out.dtype());
  if (!plain) return join(out, list, dim);
  if (dim + 1 == out.dim() && list.size() == 2 && out.size(dim) == 2 && list[0].size(dim) == 1 && list[0].is_contiguous() &&
      list[1].is_contiguous() && out.is_contiguous()) {
    return strided_copy_kernel().interleave(out.impl()->data(), list[0].impl()->data(), list[1].impl()->data(), out.numel() / 2,
                                            out.dtype().itemsize());
  }
  const IntList sizes = out.sizes();
  const int64_t cut = std::max_element(sizes.begin(), sizes.begin() + dim) - sizes.begin();
  const int64_t rows = sizes[size_t(cut)], step = std::max<int64_t>(1, rows * kPiece / out.nbytes());
  parallel_for((rows + step - 1) / step, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) join_part(out, list, dim, cut, i * step, std::min(step, rows - i * step));
  });
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

extern constexpr OpDef record = {
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

}  // namespace dyadic::inline v1::ops::cat_op
