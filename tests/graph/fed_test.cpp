// Chains that end in a reduction, a norm or a softmax, which reads them band by band: the bits of eager code, and what is
// saved.
#include <cmath>
#include <cstring>

#include "dyadic/accessor.h"
#include "dyadic/autograd.h"
#include "dyadic/nn.h"
#include "dyadic/ops_nn.h"
#include "dyadic/optim.h"
#include "dyadic/parallel.h"
#include "tests/graph/compiled.h"

namespace dyadic::inline v1 {
namespace {

Tensor fed_chain(const Tensor& x, const Tensor& y) { return (x * y + x) * 0.5 - y; }
bool was_fed(const std::string& explained, const std::string& name) {
  return explained.find("band by band " + name) != std::string::npos;
}

struct RowCall {
  const char* name;
  Tensor (*call)(const Tensor& t, const Tensor& weight);
};
constexpr RowCall kRowCalls[] = {
    {"softmax", [](const Tensor& t, const Tensor&) { return softmax(t, -1); }},
    {"log_softmax", [](const Tensor& t, const Tensor&) { return log_softmax(t, -1); }},
    {"native_layer_norm", [](const Tensor& t, const Tensor& w) { return layer_norm(t, {t.size(-1)}, w, w); }},
    {"native_layer_norm", [](const Tensor& t, const Tensor& w) { return rms_norm(t, {t.size(-1)}, w); }},
    {"sum", [](const Tensor& t, const Tensor&) { return t.sum({-1}); }},
    {"mean", [](const Tensor& t, const Tensor&) { return t.mean({-1}, true); }},
    {"prod", [](const Tensor& t, const Tensor&) { return t.prod(-1); }},
    {"amax", [](const Tensor& t, const Tensor&) { return t.amax({-1}); }},
    {"argmin", [](const Tensor& t, const Tensor&) { return t.argmin(-1); }},
    {"argmax", [](const Tensor& t, const Tensor&) { return std::get<0>(t.max(-1)); }},
    {"logsumexp", [](const Tensor& t, const Tensor&) { return t.logsumexp({-1}); }},
    {"moments", [](const Tensor& t, const Tensor&) { return t.var({-1}); }},
    {"any", [](const Tensor& t, const Tensor&) { return t.any(-1); }},
};

TEST(fed, rows) {
  const FeedAll all;
  const NoGrad guard;
  manual_seed(1);
  for (const DType d : {f32, f64, bf16, f16})
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{40, 7}, {33, 64}, {3, 4, 100}, {9, 4100}}) {
      const Tensor x = (randn(shape) * 3).to(d), y = (randn(shape) * 3).to(d), w = randn({shape.back()}).to(d);
      for (const RowCall& r : kRowCalls) {
        SCOPED_TRACE(d.name() + " " + shape_text(shape) + " " + r.name);
        auto f = [&] { return std::vector<Tensor>{r.call(fed_chain(x, y), w)}; };
        expect_same(f);
        auto again = compile(f);
        again();
        again();
        EXPECT_TRUE(d != f32 || was_fed(again.explain(), r.name)) << again.explain();
      }
    }
}

// Sums over everything, whose blocks are added in a fixed order; of several NaNs the one that eager code has.
TEST(fed, sums_over_everything) {
  const FeedAll all;
  const NoGrad guard;
  manual_seed(2);
  for (const DType d : {f32, f64, bf16})
    for (const int64_t n : {65537, 70001, 300000, 4194304 + 4097})
      for (int special = 0; special < 3; ++special) {
        SCOPED_TRACE(d.name() + " " + std::to_string(n) + " " + std::to_string(special));
        Tensor x = randn({n}), y = randn({n});
        float* p = x.data_ptr<float>();
        const uint32_t nans[] = {0x7fc00001u, 0xffc00002u, 0x7fc00003u};
        if (special == 1)
          for (int k = 0; k < 3; ++k) std::memcpy(p + (k + 1) * n / 4, nans + k, 4);
        if (special == 2) p[n / 3] = INFINITY, p[n / 2] = -INFINITY;
        x = x.to(d), y = y.to(d);
        auto f = [&] {
          return std::vector<Tensor>{(x - y).square().mean(), fed_chain(x, y).sum(), vector_norm(fed_chain(x, y)),
                                     fed_chain(x, y).nansum()};
        };
        expect_same(f);
        auto again = compile(f);
        again();
        for (const char* name : {"mean", "sum", "square_sum"}) EXPECT_TRUE(was_fed(again.explain(), name)) << again.explain();
      }
}

TEST(fed, any_number_of_threads) {
  const FeedAll all;
  const int before = num_threads();
  manual_seed(3);
  const Tensor x = randn({67, 1030}), y = randn({67, 1030});
  auto f = [&] {
    const NoGrad guard;
    return std::vector<Tensor>{softmax(fed_chain(x, y), 1), fed_chain(x, y).mean(), layer_norm(fed_chain(y, x), {1030})};
  };
  const std::string eager = bits(f());
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    auto compiled = compile(f);
    for (int run = 0; run < 3; ++run) EXPECT_TRUE(bits(compiled()) == eager) << threads << " threads, run " << run;
  }
  set_num_threads(before);
}

// What is read again, or held, is there; and from the next run on it is written when it passes by.
TEST(fed, what_is_wanted_again) {
  const FeedAll all;
  const NoGrad guard;
  manual_seed(4);
  const Tensor x = randn({50, 60}), y = randn({50, 60});
  expect_same([&] {
    const Tensor h = x + y;
    return std::vector<Tensor>{softmax(h, 1), h};
  });
  expect_same([&] {
    const Tensor h = x + y, n = rms_norm(h, {60}), s = h.sum({1}, true);
    return std::vector<Tensor>{n * s, h * h, softmax(n - h, 1)};
  });
  expect_same([&] {
    Tensor h = x * y;
    const Tensor p = softmax(h, 1);
    h.mul_(2);
    const Tensor q = softmax(h, 1);
    h.add_(p);
    return std::vector<Tensor>{p, q, h, h.mean({1})};
  });
  expect_same([&] {
    Tensor h = x.clone();
    const Tensor t = h * y, p = softmax(t, 1);
    h.zero_();
    return std::vector<Tensor>{p, t, h};
  });
  expect_same([&] {
    const Tensor t = tanh(x), u = t * y;
    const Tensor p = log_softmax(u, 1);
    return std::vector<Tensor>{p, t, (u.view({3000}) * 2).view({50, 60}).amax({1})};
  });
}

TEST(fed, gradients) {
  const FeedAll all;
  manual_seed(5);
  for (const DType d : {f32, bf16}) {
    const Tensor x0 = randn({40, 48}).to(d), y = randn({40, 48}).to(d), w0 = randn({48}).to(d);
    expect_same([&] {
      const Tensor x = x0.clone().requires_grad_(), w = w0.clone().requires_grad_();
      const Tensor h = x + gelu(x * y), n = layer_norm(h * 0.7, {48}, w, w), p = softmax(n * y + h, 1);
      const Tensor loss = (p * log_softmax(h - y, 1)).sum() + ((h - n) * (h - n)).mean();
      loss.backward();
      return std::vector<Tensor>{loss, x.grad(), w.grad()};
    });
  }
}

TEST(fed, steps_without_their_program) {
  const FeedAll all;
  auto train = [](const CompileOptions* options, int threads) {
    const int before = num_threads();
    set_num_threads(threads);
    manual_seed(6);
    nn::Linear first(24, 32), second(32, 24);
    auto parameters = first.named_parameters();
    for (auto& [name, p] : second.named_parameters()) parameters.emplace_back("second." + name, p);
    optim::Optimizer optimizer("AdamW", parameters);
    auto step = [&](const Tensor& x) {
      optimizer.zero_grad();
      const Tensor h = first(x) * 1.5, n = rms_norm(h + h.abs(), {32}), p = softmax(second(n) * 0.3 + x, 1);
      const Tensor loss = ((p - x) * (p - x)).mean({1}).sum();
      loss.backward();
      optimizer.step();
      return loss;
    };
    std::string all_bits;
    auto run = [&](auto& f) {
      for (int k = 0; k < 8; ++k) all_bits += bits(f(randn({30, 24})));
      for (auto& [name, p] : parameters) all_bits += bits(p);
    };
    if (options) {
      auto f = compile(step, *options);
      run(f);
      EXPECT_TRUE(options->mode == "default" || options->check || replays(f.explain()) > 2) << f.explain();
      EXPECT_TRUE(was_fed(f.explain(), "native_layer_norm")) << f.explain();
    } else {
      run(step);
    }
    set_num_threads(before);
    return all_bits;
  };
  const std::string eager = train(nullptr, 2);
  for (const CompileOptions& options : std::vector<CompileOptions>{
           {.mode = "default"}, {.mode = "reduce-overhead"}, {.mode = "reduce-overhead", .check = true}, {.fullgraph = true}})
    for (const int threads : {1, 3}) EXPECT_TRUE(train(&options, threads) == eager) << options.mode << " " << threads;
}

// What passes on is in no memory; results of products that nobody holds are let go in time.
TEST(fed, memory_is_less_than_eager) {
  const NoGrad guard;
  const Tensor x = randn({1024, 1024}), w = randn({1024, 1024});
  auto peak = [](auto f) {
    for (int k = 0; k < 3; ++k) f();
    reset_peak_memory_stats();
    const int64_t before = memory_allocated();
    f();
    return max_memory_allocated() - before;
  };
  auto held = [&] { return softmax(fed_chain(x, w), 1); };
  EXPECT_LE(peak(compile(held)), peak(held) - (3 << 20));
  auto made = [&] { return softmax(matmul(x, w) * 0.5 + x, 1); };
  auto compiled = compile(made);
  EXPECT_LE(peak([&] { return compiled(); }), peak(made));
  EXPECT_TRUE(was_fed(compiled.explain(), "softmax")) << compiled.explain();
  EXPECT_TRUE(bits(compiled()) == bits(made()));
}

}  // namespace
}  // namespace dyadic::inline v1
