#include "tensor/scaled_views.h"

#include "base/check.h"

namespace dyadic::inline v1 {

// Note [Scaled views]. The region one scale covers must lie wholly inside or outside the view.
void check_whole_blocks(const Tensor& base, const TensorImpl& v) {
  const Format& f = *v.dtype.format();
  if (v.numel == 0) return;
  const Params& p = f.params;
  Geometry g = base.impl()->storage->geometry;
  auto refuse = [&](const char* what, int64_t block) {
    fail<ValueError>(
        "view: a block would be cut: {} keeps {} of {} elements together; slice at multiples of it, or convert with .to(f32) "
        "first",
        f.text, what, block);
  };
  if (p.granularity == Granularity::tensor) {
    if (v.numel != g.numel()) refuse("one tensor", g.numel());
    return;
  }
  const bool tile = p.granularity == Granularity::tile;  // sliced at whole bands of tiles
  const bool flat = p.granularity == Granularity::flat || tile;
  const int64_t block = p.granularity == Granularity::row ? g.cols : tile ? p.rows * g.cols : p.block;
  const int64_t line = flat ? g.numel() : g.cols;
  // The run of consecutive elements of storage order that the view's unit-stride dimensions make up.
  int64_t run = 1;
  bool grew = true;
  while (grew && run < line) {
    grew = false;
    for (int d = 0; d < v.ndim; ++d)
      if (v.sizes[d] > 1 && v.strides[d] == run && (flat || run * v.sizes[d] <= line)) {
        run *= v.sizes[d];
        grew = true;
        break;
      }
  }
  auto whole = [&](int64_t begin) {
    int64_t at = flat ? begin : begin % g.cols, end = at + run;
    return at % block == 0 && (end % block == 0 || end == line);
  };
  if (!whole(v.offset)) refuse("blocks", block);
  for (int d = 0; d < v.ndim; ++d)
    if (v.sizes[d] > 1 && v.strides[d] != 0 && v.strides[d] >= run && !whole(v.offset + v.strides[d])) refuse("blocks", block);
  for (int d = 0; d < v.ndim; ++d)
    if (v.sizes[d] > 1 &&
        (v.strides[d] < 0 || (v.strides[d] != 0 && v.strides[d] < run && run % (v.strides[d] * v.sizes[d]) != 0)))
      refuse("blocks", block);
}

}  // namespace dyadic::inline v1
