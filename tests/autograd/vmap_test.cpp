// dyadic/vmap.h from C++; what it does to each op is the op suite's (batched), and the rest tests/python/test_vmap.py's.
#include "dyadic/vmap.h"

#include <gtest/gtest.h>

#include "dyadic/ops.h"
#include "tensor/batched.h"

namespace dyadic::inline v1 {
namespace {

using Tensors = std::vector<Tensor>;

TEST(Vmap, JoinsWhatEachEntryGives) {
  const Tensor x = randn({4, 3}), y = randn({3, 5, 4});
  const Tensor in[] = {x, y};
  const Tensor out = vmap([](const Tensors& t) { return Tensors{matmul(t[0], t[1])}; }, in, {0, -1}, {1})[0];
  for (int64_t i = 0; i < 4; ++i) EXPECT_TRUE(allclose(select(out, 1, i), matmul(select(x, 0, i), select(y, 2, i))));
}

TEST(Vmap, GradientsInsideAreOfEachEntryAndOutsideOfAll) {
  const Tensor w = randn({3}).requires_grad_(), x = randn({4, 3});
  const Tensor in[] = {x};
  const auto loss = [](const Tensor& w, const Tensor& x) { return square(sum(mul(w, x))); };
  const Tensor each = vmap(
      [&](const Tensors& t) {
        const Tensor own[] = {w.detach().requires_grad_()}, out[] = {loss(own[0], t[0])};
        return grad(out, own);
      },
      in)[0];
  const Tensor all[] = {sum(vmap([&](const Tensors& t) { return Tensors{loss(w, t[0])}; }, in)[0])}, leaf[] = {w};
  EXPECT_EQ(each.sizes().vec(), x.sizes().vec());
  EXPECT_TRUE(allclose(grad(all, leaf)[0], sum(each, {0}), 1e-4));
}

TEST(Vmap, HasNoValuesAndEnds) {
  const Tensor in[] = {ones({2, 3})};
  EXPECT_THROW(vmap([](const Tensors& t) { return t[0].to_vector().empty() ? t : Tensors{}; }, in), Error);
  EXPECT_EQ(t_batch_level, nullptr);
  Tensor kept;
  vmap([&](const Tensors& t) { return kept = t[0], t; }, in);
  EXPECT_THROW(kept.to_vector(), Error);
}

TEST(Vmap, WhatIsTheSameForAllIsNotWritten) {
  const Tensor shared = zeros({3}), in[] = {ones({2, 3})};
  EXPECT_THROW(vmap([&](const Tensors& t) { return Tensors{shared.add_(t[0])}; }, in), Error);
  EXPECT_EQ(sum(shared).item<float>(), 0);
}

}  // namespace
}  // namespace dyadic::inline v1
