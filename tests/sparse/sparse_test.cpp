// Sparse tensors against the dense ones that they stand for.
#include "dyadic/sparse.h"

#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/autograd.h"
#include "dyadic/dyadic.h"

namespace dy = dyadic;
using dy::SparseLayout;
using dy::SparseTensor;

namespace {

SparseTensor example(const dy::Tensor& values) {  // (0, 2) twice
  return dy::sparse_coo_tensor(dy::tensor({{0, 1, 1, 0}, {2, 0, 2, 2}}), values, dy::IntList{2, 3});
}
bool same(const dy::Tensor& a, const dy::Tensor& b) { return a.sizes() == b.sizes() && dy::allclose(a, b); }
std::string error_of(const auto& call) {
  try {
    call();
  } catch (const dy::Error& e) { return e.what(); }
  return "no error";
}

}  // namespace

TEST(Sparse, DuplicatesAreAddedUp) {
  const SparseTensor s = example(dy::tensor({1., 2., 3., 4.}));
  EXPECT_TRUE(same(s.to_dense(), dy::tensor({{0., 0., 5.}, {2., 0., 3.}})));
  const SparseTensor c = s.coalesce();
  EXPECT_TRUE(!s.is_coalesced() && c.is_coalesced() && c.nnz() == 3);
  EXPECT_TRUE(same(c.indices(), dy::tensor({{0, 1, 1}, {2, 0, 2}})) && same(c.values(), dy::tensor({5., 2., 3.})));
  EXPECT_TRUE(same(s.transpose(0, 1).to_dense(), s.to_dense().t()));
}

TEST(Sparse, LayoutsAreTheSameElements) {
  const dy::Tensor dense = dy::tensor({{0., 0., 5.}, {0., 0., 0.}, {2., 0., 3.}});
  const SparseTensor coo = dy::to_sparse(dense), csr = coo.to_sparse_csr();
  EXPECT_EQ(csr.layout(), SparseLayout::csr);
  EXPECT_TRUE(same(csr.crow_indices(), dy::tensor({0, 1, 1, 3})) && same(csr.col_indices(), dy::tensor({2, 0, 2})));
  for (const SparseTensor& s : {coo, csr, csr.to_sparse_coo(), csr.transpose(0, 1).transpose(0, 1)})
    EXPECT_TRUE(same(s.to_dense(), dense));
  const dy::Tensor cube = dy::randn({3, 2, 4});
  EXPECT_TRUE(same(dy::to_sparse(cube, 1).to_dense(), cube));
  EXPECT_EQ(dy::to_sparse(cube, 1).dense_dim(), 2);
}

TEST(Sparse, ProductsAreThoseOfTheDenseOnes) {
  const dy::Tensor mask = (dy::rand({7, 5}) > 0.6).to(dy::f32), a = dy::randn({7, 5}) * mask, b = dy::randn({5, 3});
  const SparseTensor coo = dy::to_sparse(a), csr = coo.to_sparse_csr(), sb = dy::to_sparse(b * (b > 0).to(dy::f32));
  for (const SparseTensor& s : {coo, csr}) {
    EXPECT_TRUE(same(dy::sparse::mm(s, b), dy::matmul(a, b)));
    EXPECT_TRUE(same(dy::sparse::mm(s, b.select(1, 0)), dy::matmul(a, b.select(1, 0))));
    EXPECT_TRUE(same(dy::sparse::mm(s, sb).to_dense(), dy::matmul(a, sb.to_dense())));
    EXPECT_TRUE(same(dy::sparse::add(s, coo, 2).to_dense(), a * 3));
  }
  const dy::Tensor l = dy::randn({7, 4}), r = dy::randn({4, 5});
  EXPECT_TRUE(
      same(dy::sparse::sampled_addmm(csr, l, r, 2, 3).to_dense(), (a != 0).to(dy::f32) * (a * 2 + dy::matmul(l, r) * 3)));
}

TEST(Sparse, GradientsReachValuesAndDenseOperands) {
  dy::Tensor v = dy::randn({4}).requires_grad_(), b = dy::randn({3, 2}).requires_grad_();
  dy::sparse::mm(example(v), b).square().sum().backward();
  const dy::Tensor gv = v.grad().clone(), gb = b.grad().clone();
  v.set_grad({}), b.set_grad({});
  dy::matmul(example(v).to_dense(), b).square().sum().backward();
  EXPECT_TRUE(same(gv, v.grad()) && same(gb, b.grad()));
}

TEST(Sparse, SoftmaxIsOverWhatIsThere) {
  const SparseTensor s = example(dy::tensor({1., 2., 3., 4.})).coalesce();
  const double e = std::exp(1.0);
  EXPECT_TRUE(same(dy::sparse::softmax(s, 1).values(), dy::tensor({1., 1 / (1 + e), e / (1 + e)})));
  EXPECT_TRUE(same(dy::sparse::softmax(s, 0, true).values().exp(), dy::tensor({e * e / (e * e + 1), 1., 1 / (e * e + 1)})));
  EXPECT_TRUE(same(dy::sparse::sum(s, 0).to_dense(), dy::tensor({2., 0., 8.})));
}

TEST(Sparse, NothingIsThere) {
  const SparseTensor s = dy::sparse_coo_tensor(dy::zeros({2, 0}, dy::i64), dy::zeros({0}), dy::IntList{2, 3});
  EXPECT_TRUE(same(dy::sparse::mm(s, dy::ones({3, 4})), dy::zeros({2, 4})) && same(s.coalesce().to_dense(), dy::zeros({2, 3})));
  EXPECT_EQ(s.to_sparse_csr().nnz(), 0);
}

TEST(Sparse, MistakesAreNamed) {
  const dy::Tensor v = dy::ones({2}), i = dy::tensor({{0, 1}, {2, 0}});
  EXPECT_EQ(error_of([&] { dy::sparse_coo_tensor(i, v, dy::IntList{2, 2}); }),
            "sparse_coo_tensor: an index is out of range: dimension 1 has size 2, an index is 2");
  EXPECT_EQ(error_of([&] { dy::sparse_coo_tensor(i, dy::ones({3})); }),
            "sparse_coo_tensor: there is an index for each value: indices are i64[2, 2], values f32[3]");
  EXPECT_EQ(error_of([&] { dy::sparse_csr_tensor(dy::tensor({0, 3, 2}), dy::tensor({0, 1}), v); }),
            "sparse_csr_tensor: crow_indices do not rise from 0 to the number of values, 2");
  EXPECT_EQ(error_of([&] { dy::sparse::mm(dy::sparse_coo_tensor(i, v), dy::ones({2, 2})); }),
            "sparse.mm: inner sizes differ: a is [2, 3], b is [2, 2]");
}

TEST(Sparse, PrintedAsPyTorchDoes) {
  const SparseTensor s = example(dy::tensor({1., 2., 3., 4.})).coalesce();
  EXPECT_EQ(s.str(),
            "tensor(indices=tensor([[0, 1, 1],\n                       [2, 0, 2]]),\n       values=tensor([5., 2., 3.]),\n"
            "       size=(2, 3), nnz=3, layout=dyadic.sparse_coo)");
  EXPECT_EQ(s.to_sparse_csr().str(),
            "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([2, 0, 2]),\n       values=tensor([5., 2., "
            "3.]), size=(2, 3), "
            "nnz=3,\n       layout=dyadic.sparse_csr)");
}
