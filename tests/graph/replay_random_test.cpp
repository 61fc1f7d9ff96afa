// Steps of random calls that run again without their program: the bits of eager ones.
#include "dyadic/autograd.h"
#include "tests/graph/compiled.h"

namespace dyadic::inline v1 {
namespace {

// Random calls in a compiled function, run after run.
struct RandomCalls {
  uint64_t state;
  uint64_t next(uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& leaves) {
    std::vector<Tensor> live = inputs;
    live.insert(live.end(), leaves.begin(), leaves.end());
    for (int k = 0; k < 25; ++k) {
      const Tensor a = live[next(live.size())], b = live[next(live.size())];
      const auto made = [&]() -> Tensor {
        switch (next(13)) {
          case 0:
            return a + b;
          case 1:
            return a * b.narrow(0, int64_t(next(uint64_t(b.size(0)))), 1);
          case 2:
            return a.t().contiguous().view(a.sizes());
          case 3:
            return softmax(a, 1) - b;
          case 4:
            return dropout(a, 0.5, true) + b.mean({1}, true);
          case 5:
            return matmul(a, b.t()).matmul(b);
          case 6:
            return cat({a, b}, 0).narrow(0, 3, a.size(0));
          case 7:
            return where(a > b, a, b.clone().mul_(0.5));
          case 8:
            return layer_norm(a, {a.size(1)});
          case 9: {
            Tensor c = a * 1.5;
            c.narrow(1, 0, 3).copy_(b.narrow(1, 2, 3));
            return c.add_(b);
          }
          case 10:
            return zeros_like(a) + b.select(1, 2).unsqueeze(1) * randn(a.sizes());
          case 11:
            return a.to(bf16).to(f32) + full({1}, 0.25);
          default:
            return gelu(a) * 2 + 1;
        }
      }();
      live.push_back(made);
      if (live.size() > 7) live.erase(live.begin());
    }
    Tensor loss = zeros({});
    for (const Tensor& t : live) loss = loss + t.square().mean();
    if (loss.requires_grad()) loss.backward();
    return {loss, live.back()};
  }
};
TEST(replay, random_steps) {
  const FeedAll all;
  int64_t again = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const int64_t n = seed % 3 ? 7 : 48;
    const auto train = [&](bool compiled) {
      manual_seed(seed);
      const std::vector<Tensor> leaves = {randn({n, 33}).requires_grad_(), randn({n, 33}).requires_grad_()};
      auto step = [&](const Tensor& x, const Tensor& y) {
        for (const Tensor& w : leaves) w.set_grad({});
        return RandomCalls{seed}.run({x, y}, leaves);
      };
      auto fast = compile(step, CompileOptions{.mode = "reduce-overhead"});
      std::string seen;
      for (int k = 0; k < 6; ++k) {
        const Tensor x = randn({n, 33}), y = randn({n, 33});
        seen += bits(compiled ? fast(x, y) : step(x, y));
        const NoGrad guard;
        for (const Tensor& w : leaves)
          if (w.grad().defined()) w.sub_(w.grad() * 0.01), seen += bits(w.grad());
      }
      if (compiled) again += replays(fast.explain());
      return seen + bits(randn({4}));
    };
    ASSERT_TRUE(train(true) == train(false));
  }
  EXPECT_GE(again, 160);
}

}  // namespace
}  // namespace dyadic::inline v1
