#include "models/gguf/rows.h"

#include "base/check.h"
#include "dyadic/planes.h"
#include "formats/format.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
namespace {

struct RowPlane {
  Tensor bytes;  // 1-d
  bool by_rows;  // else one number of the whole tensor
};
// A tensor that is all of its storage.
Tensor whole_of(const Tensor& t) {
  return t.is_contiguous() && t.impl()->numel == t.impl()->storage->geometry.numel() ? t : t.clone();
}
std::vector<RowPlane> row_planes(const Tensor& t) {
  std::vector<RowPlane> all;
  const bool one_scale = t.dtype().is_scaled() && t.dtype().format()->params.granularity == Granularity::tensor;
  for (auto& [name, plane] : planes(whole_of(t)))
    all.push_back({view_as(plane, u8), name == "codes" || (name != "tensor_scale" && name != "g_idx" && !one_scale)});
  return all;
}
std::vector<int64_t> with_last(IntList sizes, int64_t last) {
  std::vector<int64_t> shape = sizes.vec();
  shape.back() = last;
  return shape;
}

Tensor move_halves(const Tensor& t, int64_t heads, bool back) {
  DY_CHECK_AS(ValueError, heads > 0 && t.numel() > 0 && t.size(0) % (2 * heads) == 0, "{}: its rows are not those of {} heads",
              describe(t), heads);
  const Tensor rows = rows_of(t);
  const int64_t half = t.size(0) / heads / 2, first = back ? half : 2;
  const Tensor moved = rows.reshape({heads, first, 2 * half / first, -1}).transpose(1, 2).reshape(rows.sizes());
  return from_rows(moved, t);
}

}  // namespace

bool rows_move_within(DType d, int64_t columns) {
  if (rows_move(d, columns)) return true;
  const Format& f = *d.format();
  return f.params.granularity == Granularity::tensor || std::string_view(f.def->name).ends_with("_ordered");
}

bool rows_move(DType d, int64_t columns) {
  if (!d.is_scaled()) return true;
  const Params& p = d.format()->params;
  const bool own = p.granularity == Granularity::group || p.granularity == Granularity::row ||
                   (p.granularity == Granularity::flat && columns % p.block == 0);
  return own && !p.doubled && !std::string_view(d.format()->def->name).ends_with("_ordered");
}

Tensor rows_of(const Tensor& t) {
  if (!t.dtype().is_blocked()) return t;
  DY_CHECK_AS(ValueError, t.numel() > 0, "{}: it has no elements", describe(t));
  const int64_t rows = t.numel() / t.size(-1);
  std::vector<Tensor> parts;
  for (const RowPlane& p : row_planes(t))
    if (p.by_rows) parts.push_back(p.bytes.reshape(with_last(t.sizes(), p.bytes.numel() / rows)));
  return parts.size() == 1 ? parts[0] : cat(parts, -1);
}

Tensor from_rows(const Tensor& rows, const Tensor& like) {
  if (!like.dtype().is_blocked()) return rows.contiguous();
  const Tensor out = make_tensor(with_last(rows.sizes(), like.size(-1)), like.dtype(), cpu);
  const std::vector<RowPlane> from = row_planes(like), to = row_planes(out);
  const int64_t count = out.numel() / out.size(-1);
  int64_t at = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    Tensor bytes = to[i].bytes;
    const int64_t n = to[i].by_rows ? bytes.numel() / count : 0;
    bytes.copy_(to[i].by_rows ? narrow(rows, -1, at, n).reshape({-1}) : from[i].bytes);
    at += n;
  }
  return out;
}

Tensor interleave_halves(const Tensor& t, int64_t heads) { return move_halves(t, heads, false); }
Tensor part_halves(const Tensor& t, int64_t heads) { return move_halves(t, heads, true); }

static Tensor scale_plane(const Tensor& t) {
  for (auto& [name, plane] : planes(t))
    if (name == "tensor_scale") return plane;
  fail("{}: it has no scale of the whole", describe(t));
}
float whole_scale(const Tensor& t) { return scale_plane(whole_of(t)).item<float>(); }
Tensor with_whole_scale(const Tensor& t, float scale) {
  const Tensor made = t.clone();
  scale_plane(made).fill_(double(scale));
  return made;
}

Tensor stack_rows(const std::vector<Tensor>& all) {
  std::vector<Tensor> rows;
  for (const Tensor& t : all) rows.push_back(rows_of(t));
  return from_rows(stack(rows, 0), all[0]);
}

Tensor in_turns(const Tensor& even, const Tensor& odd, int64_t dim) {
  std::vector<int64_t> shape = rows_of(even).sizes().vec();
  shape[size_t(dim)] *= 2;
  return from_rows(stack(std::vector{rows_of(even), rows_of(odd)}, dim + 1).reshape(shape), even);
}

Tensor every_second(const Tensor& t, int64_t dim, int64_t first) {
  const Tensor rows = rows_of(t);
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[size_t(dim)] /= 2;
  shape.insert(shape.begin() + dim + 1, 2);
  return from_rows(select(rows.reshape(shape), dim + 1, first), t);
}

}  // namespace dyadic::inline v1::models
