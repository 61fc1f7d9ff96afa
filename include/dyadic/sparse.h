// Sparse tensors: the elements that are there, and where they are, in PyTorch's layouts: coo (a column of indices for each
// element) and csr (of a matrix: where each row begins, and the columns). Values are a tensor like any other, in any dtype that
// can be added: gradients reach it through all that is declared here. What is not declared goes by way of to_dense().
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

enum class SparseLayout { coo, csr };

class SparseTensor {
 public:
  SparseLayout layout() const { return layout_; }
  IntList sizes() const { return sizes_; }
  int64_t size(int64_t dim) const;
  int64_t dim() const { return int64_t(sizes_.size()); }
  int64_t sparse_dim() const { return layout_ == SparseLayout::csr ? 2 : place_.size(0); }
  int64_t dense_dim() const { return dim() - sparse_dim(); }  // of each element
  int64_t nnz() const { return values_.size(0); }
  bool is_coalesced() const { return coalesced_; }  // indices in order, none twice
  const Tensor& values() const { return values_; }  // [nnz, dense sizes ...]
  const Tensor& indices() const;                    // coo: int64 [sparse_dim, nnz]
  const Tensor& crow_indices() const;               // csr: int64 [rows + 1]
  const Tensor& col_indices() const;                // csr: int64 [nnz]
  std::string str() const;                          // as PyTorch prints it

  SparseTensor coalesce() const;                         // duplicates added up
  SparseTensor with_values(const Tensor& values) const;  // other values at the same places: pointwise functions that keep 0
  Tensor to_dense() const;                               // duplicates added up
  SparseTensor to_sparse_coo() const;
  SparseTensor to_sparse_csr() const;  // of a matrix
  SparseTensor transpose(int64_t dim0, int64_t dim1) const;

 private:
  friend SparseTensor sparse_coo_tensor(const Tensor&, const Tensor&, std::optional<IntList>, bool);
  friend SparseTensor sparse_csr_tensor(const Tensor&, const Tensor&, const Tensor&, std::optional<IntList>);
  SparseTensor(SparseLayout layout, Tensor place, Tensor columns, Tensor values, std::vector<int64_t> sizes, bool coalesced);
  SparseLayout layout_;
  Tensor place_, columns_, values_;  // indices of coo; crow_indices and col_indices of csr
  std::vector<int64_t> sizes_;
  bool coalesced_;
};

// indices: int64 [sparse_dim, nnz]; values: [nnz, dense sizes ...]. Without a size: the smallest that holds all indices.
// is_coalesced is taken at its word.
SparseTensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, std::optional<IntList> size = {},
                               bool is_coalesced = false);
// crow_indices: int64 [rows + 1], from 0 up to nnz; col_indices: int64 [nnz]; values: [nnz].
SparseTensor sparse_csr_tensor(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                               std::optional<IntList> size = {});
// The elements of a dense tensor that are not 0, by its first sparse_dim dimensions (all of them).
SparseTensor to_sparse(const Tensor& dense, std::optional<int64_t> sparse_dim = {});

namespace sparse {

// a [m, k] times b, [k, n] or [k]; memory: nnz n elements for the products.
Tensor mm(const SparseTensor& a, const Tensor& b);
// The same for a sparse b; the result's layout is a's.
SparseTensor mm(const SparseTensor& a, const SparseTensor& b);
SparseTensor add(const SparseTensor& a, const SparseTensor& b, Scalar alpha = 1);
// Over the elements that are there, of all that differ in one dimension of a coalesced a alone: their softmax, its logarithm,
// their sum (without that dimension).
SparseTensor softmax(const SparseTensor& a, int64_t dim, bool logarithm = false);
SparseTensor sum(const SparseTensor& a, int64_t dim);
// Elements of dense at the places of a.
Tensor gather(const SparseTensor& a, const Tensor& dense);
// The product of rows of b [m, k] and columns of c [k, n] at the places of a [m, n], beside a: beta a + alpha (b c).
SparseTensor sampled_addmm(const SparseTensor& a, const Tensor& b, const Tensor& c, Scalar beta = 1, Scalar alpha = 1);

}  // namespace sparse
}  // namespace dyadic::inline v1
