// Compiled steps of training and compiled programs of random calls: the bits of eager ones.
#include <optional>

#include "dyadic/autograd.h"
#include "dyadic/optim.h"
#include "dyadic/parallel.h"
#include "dyadic/planes.h"
#include "tests/graph/compiled.h"

namespace dyadic::inline v1 {
namespace {

struct Model : nn::Module {
  nn::Linear first{32, 64}, second{64, 10};
  nn::LayerNorm norm{{64}};
  Model() {
    add("first", first);
    add("second", second);
    add("norm", norm);
  }
  Tensor loss(const Tensor& x, const Tensor& targets) {
    nn::ModuleScope scope(*this);
    Tensor h = norm(first(x));
    h = dropout(gelu(h) + h * sigmoid(h), 0.25, true);
    return cross_entropy(second(tanh(h) * 1.5), targets) + 0.01 * (h * h).mean();
  }
};
std::string train(bool compiled, DType low, int threads) {
  const int before = num_threads();
  set_num_threads(threads);
  manual_seed(1);
  Model model;
  optim::Optimizer optimizer("AdamW", model.named_parameters(), {{"lr", 1e-2}});
  std::string seen;
  auto step = [&](const Tensor& x, const Tensor& targets) {
    optimizer.zero_grad();
    Tensor loss;
    {
      std::optional<Autocast> cast;
      if (low) cast.emplace(low);
      loss = model.loss(x, targets);
    }
    loss.backward();
    for (auto& [name, p] : model.named_parameters()) seen += bits(p.grad());
    optimizer.step();
    return loss;
  };
  auto fast = compile(step);
  for (int k = 0; k < 20; ++k) {
    const Tensor x = randn({80, 32}), targets = randint(0, 10, {80});
    seen += bits(compiled ? fast(x, targets) : step(x, targets));
  }
  for (auto& [name, p] : model.named_parameters()) seen += bits(p);
  set_num_threads(before);
  return seen + bits(randn({4}));
}
TEST(compile, twenty_steps_of_training) {
  for (const DType low : {DType(), bf16}) {
    const std::string eager = train(false, low, 1);
    for (const int threads : {1, 2, 3, 7}) EXPECT_TRUE(train(true, low, threads) == eager) << threads << " threads";
  }
}

// What is written at each of random places of a program: calls, views, writes, reads, things that are held or let go.
struct Program {
  uint64_t state;
  uint64_t next(uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> live;
    for (const Tensor& t : inputs) live.push_back(t.clone());
    auto any = [&]() -> Tensor& { return live[next(live.size())]; };
    for (int k = 0; k < 40; ++k) {
      Tensor a = any(), b = any();
      Tensor r;
      switch (next(21)) {
        case 0:
          r = a + b;
          break;
        case 1:
          r = a * b;
          break;
        case 2:
          r = a - b * 0.5;
          break;
        case 3:
          r = tanh(a);
          break;
        case 4:
          r = where(a > b, a, b);
          break;
        case 5:
          r = maximum(a, b) + 1;
          break;
        case 6:
          r = a.t().contiguous().view(a.sizes());
          break;
        case 7:
          r = sigmoid(a.to(next(2) ? bf16 : f32));
          break;
        case 8:
          r = a * a.narrow(0, int64_t(next(uint64_t(a.size(0)))), 1);
          break;
        case 9:
          r = a + b.mean({1}, true);
          break;
        case 10:
          a.mul_(0.5);
          continue;
        case 11:
          a.narrow(1, 0, 3).copy_(b.narrow(1, 0, 3));
          continue;
        case 12:
          r = a.view({-1}).view(b.sizes()) - b;
          break;
        case 13:
          live.erase(live.begin() + int64_t(next(live.size())));
          if (live.size() < 2) live.push_back(b.clone());
          continue;
        case 14:
          if (a.sum().item() > 0)
            r = gelu(b);
          else
            r = b.abs();
          break;
        case 15:
          a.add_(b);
          continue;
        case 16:
          a.sub_(a.narrow(0, 3, 1));
          continue;
        case 17:
          r = a + b[2];
          b.add_(1);
          break;
        case 18: {
          const Tensor row = a.narrow(0, 1, 1);
          a.mul_(0.9);
          r = a - row;
          break;
        }
        case 19:
          a.view({-1}).relu_();
          continue;
        default:
          r = dropout(a, 0.5, true) + b;
          break;
      }
      live.push_back(r);
      if (live.size() > 6) live.erase(live.begin());
    }
    return live;
  }
};
TEST(compile, random_programs) {
  const FeedAll all;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    manual_seed(seed);
    const std::vector<Tensor> inputs = {randn({64, 65}), randn({64, 65}), randn({64, 65}).to(bf16)};
    expect_same([&] { return Program{seed}.run(inputs); });
    if (HasFailure()) break;
  }
}

// A call that is never followed by another gains nothing by being put off, nor a function by looking at such calls; where one
// is followed again, that is noticed.
TEST(compile, calls_that_stand_alone) {
  const Tensor x = randn({5000}), y = randn({5000});
  int more = 0;
  auto f = compile([&] {
    Tensor t = tanh(x);
    if (more) t = t * y + x;
    return t;
  });
  for (int k = 0; k < 40; ++k) EXPECT_TRUE(bits(f()) == bits(tanh(x)));
  EXPECT_NE(f.explain().find("what no other call comes after (8)"), std::string::npos) << f.explain();
  EXPECT_NE(f.explain().find("whole runs, after 8 that had put nothing off (24)"), std::string::npos) << f.explain();
  more = 1;
  for (int k = 0; k < 200; ++k) EXPECT_TRUE(bits(f()) == bits(tanh(x) * y + x));
  EXPECT_NE(f.explain().find("tanh mul add of f32[5000]"), std::string::npos) << f.explain();
}

}  // namespace
}  // namespace dyadic::inline v1
