#include "tensor/row_planes.h"

#include "dyadic/planes.h"
#include "formats/packed.h"

namespace dyadic::inline v1 {

bool rows_stand_alone(DType format, int64_t cols) {
  const Format& f = *format.format();
  if (!f.is_blocked()) return true;
  if (cols <= 0 || (f.params.block > 0 && cols % f.params.block != 0) || cols * f.def->bits % 8 != 0) return false;
  const PlaneList one = planes_of(f, {1, cols}), two = planes_of(f, {2, cols});
  for (size_t p = 0; p < size_t(one.count); ++p)
    if (two.plane[p].bytes != 2 * one.plane[p].bytes) return false;
  return true;
}

std::vector<Tensor> row_planes(const Tensor& t) {
  if (!t.dtype().is_blocked()) return {t};
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  sizes.back() = -1;
  std::vector<Tensor> rows;
  for (auto& [name, plane] : planes(t)) rows.push_back(view_as(plane, u8).view(sizes));
  return rows;
}

}  // namespace dyadic::inline v1
