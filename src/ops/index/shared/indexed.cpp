#include "ops/index/indexed.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace dyadic::inline v1::ops {
namespace {

struct Dim {
  int64_t size, indexed, plain, index;
};

// Merges neighbouring dimensions that are one in every operand.
void merge(std::vector<Dim>& dims) {
  std::vector<Dim> out;
  for (const Dim& d : dims) {
    if (d.size == 1) continue;
    Dim* last = out.empty() ? nullptr : &out.back();
    if (last && last->indexed == d.indexed * d.size && last->plain == d.plain * d.size && last->index == d.index * d.size)
      *last = {last->size * d.size, d.indexed, d.plain, d.index};
    else
      out.push_back(d);
  }
  dims = std::move(out);
}

IndexedLoop make_loop(std::vector<Dim> before, Dim places, std::vector<Dim> after) {
  IndexedLoop l;
  l.places = places.size;
  l.indexed.place = places.indexed;
  l.plain.place = places.plain;
  l.index.place = places.index;
  merge(before);
  merge(after);
  constexpr int64_t kFew = 16;  // places, as in x.gather(1, target[:, None]): rather many lanes than many outer entries
  std::vector<Dim>& innermost = after.empty() && places.size < kFew ? before : after;
  if (!innermost.empty()) {
    const Dim lane = innermost.back();
    innermost.pop_back();
    l.lanes = lane.size;
    l.indexed.lane = lane.indexed;
    l.plain.lane = lane.plain;
    l.index.lane = lane.index;
  }
  before.insert(before.end(), after.begin(), after.end());
  for (const Dim& d : before) {
    l.size[l.ndim] = d.size;
    l.indexed.outer[l.ndim] = d.indexed;
    l.plain.outer[l.ndim] = d.plain;
    l.index.outer[l.ndim++] = d.index;
  }
  return l;
}

int64_t stride_of(const Operand& t, int64_t d) { return t.defined() && d < t.dim() ? t.stride(d) : 0; }

}  // namespace

void IndexedSource::check(Call& c, bool fits_flat) {
  const Tensor &self = c[index_add_op::arg::self], &index = c[index_add_op::arg::index];
  const int64_t along = dim(c);
  check_index_type(c, index);
  DY_CHECK_AS(IndexError, index.dim() <= 1, "{}: the index has one dimension: index is {}", c.name, describe(index));
  check_same_type(c, self, c[index_add_op::arg::source], "source");
  const Tensor& source = c[index_add_op::arg::source];
  bool fits = source.dim() == self.dim();
  for (int64_t d = 0; fits && d < self.dim(); ++d) fits = source.size(d) == (d == along ? index.numel() : self.size(d));
  const bool flat = fits_flat && self.dim() <= 1 && source.dim() <= 1 && source.numel() == index.numel();
  if (!flat && !(fits && (self.dim() || index.numel() == 1))) {
    const std::string text = fmt::format("{}: the sizes do not fit: source is {} for {} places along dimension {} of {}",
                                         c.name, describe(source), index.numel(), along, describe(self));
    const bool places = self.dim() > 0 && self.dim() == source.dim() && source.size(along) == index.numel();
    DY_CHECK_AS(IndexError, !fits_flat || places, "{}", text);
    fail("{}", text);
  }
  infer_like_first(c);
}
void IndexedSource::infer(Call& c) { check(c, false); }
void IndexedSource::infer_flat(Call& c) { check(c, true); }
void check_index_type(const Call& c, const Tensor& index) {
  DY_CHECK_AS(TypeError, index.dtype() == i64, "{}: the index is int64: index is {}; convert with .to(i64)", c.name,
              describe(index));
}
void check_index_shape(const Call& c, const Tensor& index, const Tensor& operand, const char* operand_name, int64_t dim) {
  if (index.numel() == 0) return;  // of any dtype and shape
  check_index_type(c, index);
  auto ndim = [](const Tensor& t) { return std::max<int64_t>(t.dim(), 1); };
  bool fits = ndim(index) == ndim(operand);
  for (int64_t d = 0; fits && d < operand.dim() && d < index.dim(); ++d) fits = d == dim || index.size(d) <= operand.size(d);
  DY_CHECK(fits, "{}: the index does not fit: index is {}, {} is {}; sizes but that of dimension {} are no larger", c.name,
           describe(index), operand_name, describe(operand), dim);
}
void Positions::check(const void* index) const {
  const auto* p = static_cast<const int64_t*>(index);
  const int64_t bad = indexed_kernel().first_outside(p, count, 0, size);
  if (bad < 0) return;
  const std::string why =
      fmt::format("{}: index out of range: index {} at position {}; dimension {} has {} entries", name, p[bad], bad, dim, size);
  if (elements) fail("{}", why);
  fail<IndexError>("{}", why);
}
Positions positions_along(const Call& c, const Tensor& index, int64_t dim, bool elements) {
  const Tensor& self = c.tensor(0);
  return {c.name, index.numel(), self.dim() ? self.size(dim) : 1, dim, elements};
}
void check_same_type(const Call& c, const Tensor& a, const Tensor& b, const char* name) {
  DY_CHECK_AS(TypeError, plain(a) == plain(b), "{}: the dtypes differ: self is {}, {} is {}; convert with .to", c.name,
              describe(a), name, describe(b));
}

IndexedLoop loop_along(const Operand& indexed, const Operand& plain, const Operand& index, int64_t dim) {
  std::vector<Dim> before, after;
  Dim places{1, 0, 0, 0};
  for (int64_t d = 0; d < std::max<int64_t>(index.dim(), 1); ++d) {
    const Dim one{index.dim() ? index.size(d) : 1, stride_of(indexed, d), stride_of(plain, d), stride_of(index, d)};
    if (d == dim)
      places = one;
    else
      (d < dim ? before : after).push_back(one);
  }
  if (places.indexed == 0) places.indexed = 1;  // 0-d: the only entry
  return make_loop(before, places, after);
}

IndexedLoop loop_along_1d(const Operand& indexed, const Operand& plain, int64_t n, int64_t dim) {
  std::vector<Dim> before, after;
  Dim places{n, indexed.dim() ? stride_of(indexed, dim) : 1, stride_of(plain, dim), 1};
  for (int64_t d = 0; d < indexed.dim(); ++d)
    if (d != dim) (d < dim ? before : after).push_back({indexed.size(d), stride_of(indexed, d), stride_of(plain, d), 0});
  return make_loop(before, places, after);
}

IndexedLoop loop_at_offsets(const Operand& indexed, uint32_t indexed_dims, const Operand& plain, int64_t places_at,
                            int64_t places_ndim) {
  std::vector<Dim> before, after, inner;
  int64_t at = 0;  // dimension of plain
  for (int64_t d = 0; d < indexed.dim(); ++d) {
    if (indexed_dims >> d & 1) continue;
    if (at == places_at) at += places_ndim;
    (at < places_at ? before : after).push_back({indexed.size(d), stride_of(indexed, d), stride_of(plain, at), 0});
    ++at;
  }
  // Places count offsets in order; where plain does not lie densely along them they cannot be merged, and the outermost ones
  // become outer dimensions.
  std::vector<Dim> places;
  int64_t numel = 1;
  for (int64_t d = places_ndim; d-- > 0;) {
    places.insert(places.begin(), {plain.size(places_at + d), 0, stride_of(plain, places_at + d), numel});
    numel *= plain.size(places_at + d);
  }
  merge(places);
  if (places.empty()) places.push_back({1, 0, 0, 1});
  Dim last = places.back();
  places.pop_back();
  last.indexed = 1;
  before.insert(before.begin(), places.begin(), places.end());
  return make_loop(before, last, after);
}

int64_t IndexedDims::count() const {
  int64_t n = 1;
  for (int64_t d = 0; d < ndim; ++d) n *= sizes[d];
  return n;
}
std::vector<int64_t> IndexedDims::result_shape(const Tensor& self) const {
  std::vector<int64_t> shape;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (!(mask >> d & 1)) shape.push_back(self.size(d));
  shape.insert(shape.begin() + place, sizes, sizes + ndim);
  return shape;
}

IndexedDims indexed_dims(const Call& c, std::span<const Tensor> indices, const Arg& dims) {
  const Tensor& self = c.tensor(0);
  IndexedDims d;
  const bool given = dims.kind == Arg::Kind::ints;
  const auto n = int64_t(indices.size());
  DY_CHECK(n > 0, "{}: an empty list of indices", c.name);
  DY_CHECK(!given || int64_t(dims.n) == n, "{}: one dimension per index is needed: {} indices, dims is {}", c.name, n,
           shape_text(ints_of(dims)));
  DY_CHECK_AS(IndexError, n <= self.dim(), "{}: too many indices: {} for {}", c.name, n, describe(self));
  for (int64_t k = 0; k < n; ++k) {
    check_index_type(c, indices[size_t(k)]);
    d.dim[k] = given ? wrap_dim(c.name, dims.ints[k], self.dim()) : k;
    DY_CHECK(!(d.mask >> d.dim[k] & 1), "{}: a dimension is named twice: dims is {}", c.name, shape_text(ints_of(dims)));
    d.mask |= 1u << d.dim[k];
  }
  Spec common;
  const Arg all[] = {Arg(indices)};
  try {
    broadcast_shapes(c.name, common, all, 1);
  } catch (const Error& e) { fail<IndexError>("{}", e.what()); }
  d.ndim = common.ndim;
  std::copy(common.sizes, common.sizes + common.ndim, d.sizes);
  DY_CHECK(self.dim() - n + d.ndim <= kMaxDims, "{}: too many dimensions: self is {}, the indices {}", c.name, describe(self),
           shape_text(common.shape()));
  const int first = std::countr_zero(d.mask);
  const bool neighbours = (((d.mask >> first) + 1) & (d.mask >> first)) == 0;
  d.place = neighbours ? first : 0;
  return d;
}

namespace {

// f(place, element of an index) with the index broadcast to all places.
template <class F> void for_places(const Offsets& o, const Offsets::Index& i, const int64_t* data, F&& f) {
  parallel_for(o.count, 1 << 14, [&](int64_t begin, int64_t end) {
    if (i.dense) {
      for (int64_t p = begin; p < end; ++p) f(p, data[p]);
      return;
    }
    for (int64_t p = begin; p < end; ++p) {
      int64_t rest = p, at = 0;
      for (int64_t k = o.dims.ndim - 1; k >= 0; --k) at += rest % o.dims.sizes[k] * i.steps[k], rest /= o.dims.sizes[k];
      f(p, data[at]);
    }
  });
}

}  // namespace

Offsets plan_offsets(Call& c, std::span<const Tensor> indices, const IndexedDims& d, const Operand& target, int first) {
  Offsets o{c.name, d, d.count(), int64_t(indices.size()), first, c.plan.list<Offsets::Index>(indices.size())};
  for (size_t k = 0; k < indices.size(); ++k) {
    const TensorImpl& t = *indices[k].impl();
    Offsets::Index& i = o.index[k];
    i = {t.contiguous(), t.numel, target.size(d.dim[k]), target.stride(d.dim[k]), d.dim[k], {}};
    for (int64_t n = 1; n <= t.ndim; ++n) i.steps[d.ndim - n] = t.sizes[t.ndim - n] == 1 ? 0 : t.strides[t.ndim - n];
  }
  return o;
}

void Offsets::write(const Pointers& at, int64_t* offsets) const {
  for (int64_t k = 0; k < indices; ++k) {
    const Index& i = index[k];
    const auto* data = static_cast<const int64_t*>(at.in[first + k]);
    std::atomic<int64_t> bad = -1;
    if (i.dense) {
      bad = indexed_kernel().first_outside(data, i.numel, -i.size, i.size);
      DY_CHECK_AS(IndexError, bad < 0, "{}: index out of range: index {} at position {}; dimension {} has {} entries", name,
                  data[bad], bad.load(), i.dim, i.size);
    } else {
      for_places(*this, i, data, [&](int64_t p, int64_t n) {
        if (n < -i.size || n >= i.size) bad = p;
      });
      DY_CHECK_AS(IndexError, bad < 0, "{}: index out of range: place {} is outside of dimension {}, which has {} entries",
                  name, bad.load(), i.dim, i.size);
    }
  }
  for (int64_t k = 0; k < indices; ++k) {
    const Index& i = index[k];
    Index broadcast = i;
    broadcast.dense = i.dense && i.numel == count;
    for_places(*this, broadcast, static_cast<const int64_t*>(at.in[first + k]), [&](int64_t p, int64_t n) {
      const int64_t to = (n + (n < 0 ? i.size : 0)) * i.stride;
      offsets[p] = k ? offsets[p] + to : to;
    });
  }
}

Tensor pad_to(const Tensor& t, const Meta& meta) {
  std::vector<int64_t> pad;
  bool any = false;
  for (int64_t d = t.dim(); d-- > 0;) {
    pad.insert(pad.end(), {0, meta.sizes[d] - t.size(d)});
    any |= pad.back() > 0;
  }
  return any ? constant_pad_nd(t, pad) : t;
}
Tensor slice_to(const Tensor& t, IntList sizes) {
  Tensor r = t;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (r.size(int64_t(d)) != sizes[d]) r = narrow(r, int64_t(d), 0, sizes[d]);
  return r;
}

Tensor by_parts(Op op, const Arg* args, int n) {
  Tensor parts[2], held[2][kMaxArgs];
  for (int k = 0; k < 2; ++k) {
    Arg part[kMaxArgs];
    for (int i = 0; i < n; ++i) {
      part[i] = args[i];
      if (args[i].kind != Arg::Kind::tensor || !(i == 0 || args[i].tensor->dtype().is_complex())) continue;
      const Tensor& t = *args[i].tensor;
      DY_CHECK_AS(TypeError, t.dtype().is_complex(), "{}: the dtypes differ: one is {}, the other complex; convert with .to",
                  op_name(op), describe(t));
      held[k][i] = k ? imag(t) : real(t);
      part[i] = Arg(held[k][i]);
    }
    call_op(op, part, n, &parts[k]);
  }
  return complex(parts[0], parts[1]);
}

void start_from_self(const Pointers& at, const Operand& out, const Operand& self) {
  if (at.in[0] != at.out[0]) assign(at.output(0, out), at.input(0, self));
}

bool combines_rows(const Call& c, int64_t dim, CombineRows& rows) {
  const Tensor &self = c.tensor(0), &index = c.tensor(2), &source = c.tensor(3);
  const int64_t ndim = self.dim();
  if (!c.result().is_contiguous() || ndim == 0 || dim != ndim - 1 || index.dim() != ndim || source.dim() != ndim) return false;
  rows = {.count = 1, .size = self.size(dim), .places = index.size(dim), .plain_stride = source.size(dim)};
  for (int64_t d = 0; d < dim; ++d) {
    if (self.size(d) != index.size(d) || self.size(d) != source.size(d)) return false;
    rows.count *= self.size(d);
  }
  return rows.size + rows.places <= 1 << 16;
}

void Combination::run(const Pointers& at, const void* positions, int from) const {
  const IndexedLoop l = at_positions(loop, positions);
  if (!sum.defined()) {
    start_from_self(at, out, self);
    return indexed_kernel().combine(l, op, compute, at.out[0], at.in[from]);
  }
  if (self.numel() == 0) return;
  const Array total(sum, at.workspace), each(terms, static_cast<char*>(at.workspace) + terms_at);
  assign(total, at.input(0, self));
  assign(each, at.input(from, source));
  indexed_kernel().combine(l, op, compute, total.at, each.at);
  assign(at.output(0, out), total);
}

void run_indexed_write(const IndexedWrite& p, const Pointers& at) {
  p.positions.check(at.in[p.index]);
  start_from_self(at, p.out, p.self);
  indexed_kernel().write(at_positions(p.loop, at.in[p.index]), at.out[0], at.in[p.source], p.out.itemsize());
}
void run_indexed_combination(const IndexedCombination& p, const Pointers& at) {
  p.positions.check(at.in[p.index]);
  p.combine.run(at, at.in[p.index], p.source);
}

}  // namespace dyadic::inline v1::ops
