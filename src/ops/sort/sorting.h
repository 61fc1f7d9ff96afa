// Order within rows: sorting, the first k, the k-th, the mode. Values become unsigned keys in their order (NaN last, both zeros
// equal). Sorted is a key with its index as one number: no elements are equal, so that every method gives the stable order.
// What only chooses looks at the keys alone and for the index last.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

struct Rows {  // dense, along the last dimension; 0-d counts as a row of one
  int64_t count = 1, size = 1;
};
Rows rows_of(const Tensor& t);

// The plans of these ops: values and indices (int64) have `columns` columns.
struct RowOrder {
  const Format* format;
  Rows rows;
  int64_t columns;
  int64_t wanted;  // of kth_rows
  bool backwards;  // the largest first
  bool nothing() const { return rows.count * rows.size == 0; }
};
RowOrder order_rows(const Call& c);
void sort_rows(const RowOrder& p, const Pointers& at);
void top_rows(const RowOrder& p, const Pointers& at);
// The k-th smallest, counted from 0; kMedian: the lower median, NaN if there is one; kNanMedian: that of the others.
inline constexpr int64_t kMedian = -1, kNanMedian = -2;
void kth_rows(const RowOrder& p, const Pointers& at);
// For every row those of its elements that have the ranks (int64, in range) in its sorted order.
void ranked_rows(const RowOrder& p, const Pointers& at);
void mode_rows(const RowOrder& p, const Pointers& at);
int64_t order_workspace(const RowOrder& p);
int64_t choose_workspace(const RowOrder& p);  // of kth_rows and ranked_rows
void check_order(const Call& c);              // rows of fewer than 2^32 entries

// For compositions over any dimension: self with dim last, and a result with its last dimension back at dim.
Tensor to_last(const Tensor& t, int64_t dim);
Tensor from_last(const Tensor& t, int64_t dim);
// The gradient of values picked along dim: where they came from.
Tensor picked_gradient(const Tensor& g, const Tensor& indices, const Meta& input, int64_t dim);
// `value`, chosen among all of t, with its gradient: in equal shares to those that are equal to it, NaN to NaN.
Tensor shared_by_ties(const Tensor& t, const Tensor& value);

}  // namespace dyadic::inline v1::ops
