// What the ops that read or write at indexed places share: rules for their arguments, loops from strides, scratch.
#pragma once
#include "ops/common.h"
#include "ops/index/combine_kernel.h"
#include "ops/index/indexed_kernel.h"
#include "ops/scratch.h"

namespace dyadic::inline v1::ops {

// gather and scatter: index has the operand's number of dimensions (0-d counts as 1-d) and, but along dim, no larger sizes.
void check_index_shape(const Call& c, const Tensor& index, const Tensor& operand, const char* operand_name, int64_t dim);
void check_index_type(const Call& c, const Tensor& index);  // int64
// All in [0, size). Of slices outside is an IndexError, of elements (gather, scatter) an Error: PyTorch has it so.
void check_positions(const Call& c, const Tensor& index, int64_t size, int64_t dim, bool elements = false);
void check_same_type(const Call& c, const Tensor& a, const Tensor& b, const char* name);  // of self and the source

// op(self, dim, index, source) with an index of one dimension whose entries stand for those of source along dim.
struct IndexedSource {
  static int64_t dim(const Call& c) { return wrap_dim(c.name, c.integer(1), c.tensor(0).dim()); }
  static void infer(Call& c);
  static void check(const Call& c);  // the index's values
};

// The loop over all elements of `index`; plain may be undefined (a number, stride 0).
IndexedLoop loop_along(const Tensor& indexed, const Tensor& plain, const Tensor& index, int64_t dim);
// The same for an index of one dimension, which serves for all entries of the others.
IndexedLoop loop_along_1d(const Tensor& indexed, const Tensor& plain, const Tensor& index, int64_t dim);
// plain has `before` + places + the rest dimensions; indexed the same without those of places, whose offsets are given.
IndexedLoop loop_at_offsets(const Tensor& indexed, uint32_t indexed_dims, const Tensor& plain, int64_t places_at,
                            int64_t places_ndim, const int64_t* offsets);

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
// For every place the element of `target` it is, relative to the first. Throws before it writes where an index is out of range.
void write_offsets(const Call& c, const Tensor& target, std::span<const Tensor> indices, const IndexedDims& d,
                   int64_t* offsets);
inline constexpr uint16_t kIndices = in(1) | in(2) | in(3) | in(4) | in(5) | in(6) | in(7);  // what a gradient saves

// index_put out of place, with masks among the indices.
Tensor with_indexed(const Tensor& self, std::span<const Index> key, const Tensor& values, bool accumulate);

Tensor pad_to(const Tensor& t, const Meta& meta);  // with zeros behind, up to the shape
Tensor slice_to(const Tensor& t, IntList sizes);   // the first entries of every dimension

// Dense masks (bool).
int64_t count_true(const Tensor& mask);
// The elements where the mask is true, in order: out of `all` into `some`, or back.
void move_masked(const Tensor& mask, int64_t width, void* to, const void* from, bool out_of_all);
int64_t write_nonzero(const Tensor& mask, int64_t limit, int64_t* out);  // how many rows of indices were written

// Of complex numbers: what only adds and moves is done to real and imaginary parts apart.
Tensor by_parts(Op op, const Arg* args, int n);

// out = self, unless the call is in place.
void start_from_self(Call& c);
// op(self, dim, index, source): whether source goes to places along the last dimension in all rows of a dense self, which are
// not too long for the caches; the rows without their index.
bool combines_rows(const Call& c, int64_t dim, CombineRows& rows);
// out = self with values combined at indexed places, in the compute type: scratch holds what is stored in another one.
int64_t combine_scratch(const Call& c, const Tensor& source);
template <class MakeLoop> void combine_at(Call& c, IndexedOp op, const Tensor& source, MakeLoop&& loop) {
  const Tensor &out = c.out[0], &self = c.tensor(0);
  const DType compute = compute_dtype(out.dtype());
  Scratch scratch(c.workspace);
  if (out.dtype() == compute) {
    start_from_self(c);
    indexed_kernel().combine(loop(out, source), op, compute_type(compute), out.impl()->data(), source.impl()->data());
    return;
  }
  if (self.numel() == 0) return;
  const Tensor sum = scratch.tensor(self.sizes(), compute), terms = scratch.tensor(source.sizes(), compute);
  assign(sum, self);
  assign(terms, source);
  indexed_kernel().combine(loop(sum, terms), op, compute_type(compute), sum.impl()->data(), terms.impl()->data());
  assign(out, sum);
}

}  // namespace dyadic::inline v1::ops
