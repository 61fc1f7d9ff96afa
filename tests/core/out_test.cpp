// Results written into given tensors, and tensors that change their size.
#include <gtest/gtest.h>

#include "dyadic/counters.h"
#include "dyadic/generator.h"
#include "dyadic/ops.h"
#include "tensor/resize.h"

namespace dyadic::inline v1 {
namespace {

int64_t peak_of(void (*f)()) {
  const int64_t before = memory_allocated();
  reset_peak_memory_stats();
  f();
  return max_memory_allocated() - before;
}

TEST(Out, GetsShapeAndValues) {
  const Tensor x = tensor({1., 2, 3}), y = empty({0});
  EXPECT_TRUE(call_out(Op::exp_, y, x).is_same(y));
  EXPECT_EQ(y.to_vector(), exp(x).to_vector());
  void* at = y.data_ptr();
  call_out(Op::add_, y, x, x, Arg());
  EXPECT_EQ(y.data_ptr(), at);
  EXPECT_EQ(y.to_vector(), (std::vector<double>{2, 4, 6}));
}

TEST(Out, KeepsItsDtypeAndStrides) {
  const Tensor x = tensor({1., 2, 3, 4}).view({2, 2}), wide = zeros({2, 4}, f64), y = slice(wide, 1, 0, 4, 2);
  call_out(Op::matmul_, y, x, x);
  EXPECT_EQ(y.to_vector(), matmul(x, x).to_vector());
  EXPECT_EQ(wide.to_vector(), (std::vector<double>{7, 0, 10, 0, 15, 0, 22, 0}));
  const Tensor half = empty({2, 2}, f16);
  call_out(Op::exp_, half, x);
  EXPECT_EQ(half.to_vector(), exp(x).to(f16).to_vector());
}

TEST(Out, MayBeAnInput) {
  Tensor x = tensor({1., 2, 3, 4}).view({2, 2});
  const std::vector<double> product = matmul(x, x).to_vector();
  call_out(Op::matmul_, x, x, x);
  EXPECT_EQ(x.to_vector(), product);
  const Tensor row = tensor({1., 2, 3, 4}), behind = slice(row, 0, 1, 4), ahead = slice(row, 0, 0, 3);
  call_out(Op::add_, behind, ahead, ahead, Arg());  // overlapping: as if read before it is written
  EXPECT_EQ(row.to_vector(), (std::vector<double>{1, 2, 4, 6}));
}

TEST(Out, AllocatesNothingWhereItFits) {
  static const Tensor x = randn({64, 64}), y = empty({64, 64}), v = empty({64}), i = empty({64}, i64);
  EXPECT_EQ(peak_of([] { call_out(Op::exp_, y, x); }), 0);
  EXPECT_EQ(peak_of([] { call_out(Op::zeros_like_, y, x, Arg(), Arg()); }), 0);
  EXPECT_GT(peak_of([] { exp(x); }), 0);
}

TEST(Out, SeveralResults) {
  const Tensor x = tensor({3., 1, 2}), out[] = {empty({0}), empty({0}, i64)};
  Arg args[] = {Arg(x), Arg(int64_t(0)), Arg(false), Arg(true)};
  call_op_out(Op::sort_, args, 4, out);
  EXPECT_EQ(out[0].to_vector(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(out[1].to_vector(), (std::vector<double>{1, 2, 0}));
  EXPECT_THROW(call_op_out(Op::sort_, args, 4, {out, 1}), TypeError);
}

TEST(Out, Refuses) {
  const Tensor x = tensor({0.5, 2}), whole = empty({2}, i64), there = empty({2}, f32, meta);
  EXPECT_THROW(call_out(Op::exp_, whole, x), Error);
  EXPECT_THROW(call_out(Op::exp_, there, x), Error);
  EXPECT_THROW(call_out(Op::view_, empty({2}), x, IntList({2})), TypeError);
  Tensor leaf = tensor({0.5, 2});
  leaf.requires_grad_();
  EXPECT_THROW(call_out(Op::exp_, empty({2}), leaf), Error);
  EXPECT_THROW(call_out(Op::exp_, leaf, x), Error);
  const NoGrad guard;
  EXPECT_NO_THROW(call_out(Op::exp_, empty({2}), leaf));
}

TEST(Out, CountsAVersion) {
  const Tensor y = empty({2});
  const uint32_t before = y.version();
  call_out(Op::exp_, y, tensor({1., 2}));
  EXPECT_EQ(y.version(), before + 1);
}

TEST(Out, MetaPredictsIt) {
  const Tensor x = randn({8, 8}).to(meta), y = empty({0}, f32, meta);
  call_out(Op::matmul_, y, x, x);
  EXPECT_EQ(y.sizes(), IntList({8, 8}));
}

TEST(Resize, KeepsElementsAndOtherViews) {
  const Tensor x = tensor({1., 2, 3, 4}), other = x.view({2, 2});
  resize("resize_", x, {2});
  EXPECT_EQ(x.data_ptr(), other.data_ptr());
  resize("resize_", x, {2, 3});
  EXPECT_EQ(x.sizes(), IntList({2, 3}));
  EXPECT_EQ(x.view({6}).to_vector()[3], 4);
  EXPECT_NE(x.data_ptr(), other.data_ptr());
  EXPECT_EQ(other.to_vector(), (std::vector<double>{1, 2, 3, 4}));
  Tensor leaf = zeros({2});
  leaf.requires_grad_();
  EXPECT_THROW(resize("resize_", leaf, {3}), Error);
}

TEST(Generator, AScopeDrawsFromItsOwn) {
  manual_seed(3);
  const Tensor a = rand({4}), b = rand({4});
  manual_seed(3);
  Generator own(3);
  {
    const GeneratorScope scope(own);
    EXPECT_EQ(rand({4}).to_vector(), a.to_vector());
  }
  EXPECT_EQ(own.state().calls, 1u);
  EXPECT_EQ(rand({4}).to_vector(), a.to_vector());
  EXPECT_EQ(rand({4}).to_vector(), b.to_vector());
}

TEST(Multinomial, DrawsByWeight) {
  manual_seed(1);
  const Tensor w = tensor({0., 1, 3, 0});
  const std::vector<double> all = multinomial(w, 20000, true).to_vector();
  double twos = 0;
  for (double v : all) {
    EXPECT_TRUE(v == 1 || v == 2);
    twos += v == 2;
  }
  EXPECT_NEAR(twos / 20000, 0.75, 0.02);
  for (int k = 0; k < 50; ++k) {
    const std::vector<double> both = multinomial(w, 2).to_vector();
    EXPECT_EQ(both[0] + both[1], 3);
    EXPECT_NE(both[0], both[1]);
  }
  EXPECT_THROW(multinomial(tensor({1., -1}), 1), Error);
}

}  // namespace
}  // namespace dyadic::inline v1
