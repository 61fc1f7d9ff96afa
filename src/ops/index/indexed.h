// What the ops that read or write at indexed places share: rules for their arguments, loops from strides, scratch.
#pragma once
#include "ops/common.h"
#include "ops/index/combine_kernel.h"
#include "ops/index/indexed_kernel.h"
#include "ops/scratch.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::ops {

// gather and scatter: index has the operand's number of dimensions (0-d counts as 1-d) and, but along dim, no larger sizes.
void check_index_shape(const Call& c, const Tensor& index, const Tensor& operand, const char* operand_name, int64_t dim);
void check_index_type(const Call& c, const Tensor& index);  // int64
// What positions must be: all in [0, size). Of slices outside is an IndexError, of elements (gather, scatter) an Error: PyTorch
// has it so.
struct Positions {
  const char* name;
  int64_t count, size, dim;
  bool elements;
  void check(const void* index) const;
};
Positions positions_along(const Call& c, const Tensor& index, int64_t dim, bool elements = false);
void check_same_type(const Call& c, const Tensor& a, const Tensor& b, const char* name);  // of self and the source

// op(self, dim, index, source) with an index of one dimension whose entries stand for those of source along dim.
struct IndexedSource {
  static int64_t dim(const Call& c) { return wrap_dim(c.name, c[index_add_op::arg::dim], c[index_add_op::arg::self].dim()); }
  static void infer(Call& c);
  static void infer_flat(Call& c);  // a number and a list of one are the same to it
  static Positions positions(const Call& c) { return positions_along(c, c[index_add_op::arg::index], dim(c)); }

 private:
  static void check(Call& c, bool fits_flat);
};

// The loop over all elements of `index`; plain may be undefined (a number, stride 0). Positions are set when it runs.
IndexedLoop loop_along(const Operand& indexed, const Operand& plain, const Operand& index, int64_t dim);
// The same for an index of one dimension with so many places, which serves for all entries of the others.
IndexedLoop loop_along_1d(const Operand& indexed, const Operand& plain, int64_t places, int64_t dim);
// plain has `before` + places + the rest dimensions; indexed the same without those of places, whose offsets are its positions.
IndexedLoop loop_at_offsets(const Operand& indexed, uint32_t indexed_dims, const Operand& plain, int64_t places_at,
                            int64_t places_ndim);
inline IndexedLoop at_positions(IndexedLoop loop, const void* positions) {
  loop.positions = static_cast<const int64_t*>(positions);
  return loop;
}

// Which dimensions advanced indices stand for, and where their places go in the result.
struct IndexedDims {
  uint32_t mask = 0;  // of the dimensions
  int64_t dim[kMaxDims];
  int64_t sizes[kMaxDims], ndim = 0;  // the indices, broadcast
  int64_t place = 0;                  // the first of their dimensions in the result
  int64_t count() const;
  std::vector<int64_t> result_shape(const Tensor& self) const;
};
IndexedDims indexed_dims(const Call& c, std::span<const Tensor> indices, const Arg& dims);
// For every place the element of a target it is, relative to the first.
struct Offsets {
  struct Index {
    bool dense;                        // and not broadcast
    int64_t numel, size, stride, dim;  // size, stride: of the target
    int64_t steps[kMaxDims];           // of the index, as broadcast to the places
  };
  const char* name;
  IndexedDims dims;
  int64_t count, indices;
  int first;     // which of the call's tensors is the first index
  Index* index;  // `indices` of them
  // Throws before it writes where an index is out of range.
  void write(const Pointers& at, int64_t* offsets) const;
};
Offsets plan_offsets(Call& c, std::span<const Tensor> indices, const IndexedDims& d, const Operand& target, int first);
inline constexpr uint16_t kIndices = in(1) | in(2) | in(3) | in(4) | in(5) | in(6) | in(7);  // what a gradient saves

// index_put out of place, with masks among the indices.
Tensor with_indexed(const Tensor& self, std::span<const Index> key, const Tensor& values, bool accumulate);

Tensor pad_to(const Tensor& t, const Meta& meta);  // with zeros behind, up to the shape
Tensor slice_to(const Tensor& t, IntList sizes);   // the first entries of every dimension

// Dense masks (bool).
int64_t count_true(const void* mask, int64_t n);
inline int64_t count_true(const Tensor& mask) {
  if (mask.device().is_cuda()) return dyadic::sum(mask).item<int64_t>();
  note_read(*mask.impl());
  return count_true(mask.impl()->data(), mask.numel());
}
// The elements where the mask is true, in order: out of `all` into `some`, or back.
void move_masked(const void* mask, int64_t n, int64_t width, void* to, const void* from, bool out_of_all);
// How many rows of indices were written.
int64_t write_nonzero(const void* mask, IntList sizes, int64_t limit, int64_t* out);

// Of complex numbers: what only adds and moves is done to real and imaginary parts apart.
Tensor by_parts(Op op, const Arg* args, int n);

// out = self, unless the call is in place.
void start_from_self(const Pointers& at, const Operand& out, const Operand& self);

// op(self, dim, index, source): whether source goes to places along the last dimension in all rows of a dense self, which are
// not too long for the caches; the rows without their index.
bool combines_rows(const Call& c, int64_t dim, CombineRows& rows);

// out = self with values combined at indexed places, in the compute type: workspace holds what is stored in another one.
struct Combination {
  IndexedLoop loop;
  IndexedOp op;
  Operand out, self, source, sum, terms;  // sum, terms: in the compute type; undefined where that is what is stored
  Compute compute;
  int64_t terms_at;  // in the workspace
  void run(const Pointers& at, const void* positions, int source) const;
};
// loop(indexed, plain): of these operands.
template <class MakeLoop> Combination plan_combination(Call& c, IndexedOp op, const Operand& source, MakeLoop&& loop) {
  const Operand out = c.result();
  const DType stored = out.dtype(), compute = compute_dtype(stored);
  Combination p{{}, op, out, c.operand(0), source, {}, {}, compute_type(compute), 0};
  if (stored != compute) {
    p.sum = Operand(p.self.sizes(), compute), p.terms = Operand(source.sizes(), compute);
    Scratch scratch;
    scratch.take<char>(p.sum.numel() * compute.itemsize());
    p.terms_at = scratch.bytes();
    scratch.take<char>(p.terms.numel() * compute.itemsize());
    c.plan.workspace = scratch.bytes();
  }
  p.loop = stored == compute ? loop(out, source) : loop(p.sum, p.terms);
  return p;
}

// self with a source written, or combined with it, where an index says: what index_copy and scatter, index_add and scatter_add
// are, once the loop is known. `index`, `source`: which of the call's tensors.
struct IndexedWrite {
  IndexedLoop loop;
  Positions positions;
  Operand out, self;
  int index, source;
};
void run_indexed_write(const IndexedWrite& p, const Pointers& at);
struct IndexedCombination {
  Combination combine;
  Positions positions;
  int index, source;
};
void run_indexed_combination(const IndexedCombination& p, const Pointers& at);

}  // namespace dyadic::inline v1::ops
