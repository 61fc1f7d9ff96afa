// Layers that are trained as they will be stored: gradients by their formulas in plain loops, and what freeze() leaves.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"
#include "dyadic/planes.h"
#include "dyadic/quant.h"
#include "quant/fake.h"
#include "quant/observers.h"

namespace dyadic::inline v1::quant {
namespace {

template <class F> std::string train_error(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}
DType format(const char* text) { return DType::parse(text); }

struct Net : nn::Module {
  nn::Embedding words{20, 32};
  nn::Conv1d conv{32, 24, 3};
  nn::Linear out{24, 10};
  Net() { add("words", words), add("conv", conv), add("out", out); }
  Tensor forward(const Tensor& ids) override { return out(relu(conv(words(ids).transpose(1, 2))).transpose(1, 2)); }
};
Tensor ids() { return randint(0, 20, {4, 9}); }
nn::NamedTensors copied(const nn::NamedTensors& state) {
  nn::NamedTensors all;
  for (auto& [name, t] : state) all.emplace_back(name, t.clone());
  return all;
}

TEST(FakeQuantize, ValuesAreTheFormatsAndGradientsPass) {
  manual_seed(1);
  for (const char* name : {"i4(row)", "nf4(block=32)", "q4_0", "i8(tensor)"}) {
    const Tensor x = randn({6, 64}).requires_grad_(), g = randn({6, 64});
    const Tensor y = fake_quantize(x, format(name));
    EXPECT_TRUE(equal(y, x.detach().to(format(name)).to(f32))) << name;
    sum(y * g).backward();
    EXPECT_TRUE(equal(x.grad(), g)) << name;
  }
}

// Equations 1 to 3 of the paper, with the gradient's factor of section 2.2, in doubles.
TEST(LearnedScales, AreThePapersFormulas) {
  manual_seed(2);
  struct Case {
    const char* name;
    int64_t per_scale, low, high;
  };
  for (const Case c : {Case{"i4(row)", 24, -8, 7}, {"i2(group=8)", 8, -2, 1}, {"i3(tensor)", 6 * 24, -4, 3}}) {
    const Tensor w = randn({6, 24}).requires_grad_(), g = randn({6, 24});
    const int64_t scales = 6 * 24 / c.per_scale;
    const Tensor s = (rand({scales}) * 0.2 + 0.1).detach().requires_grad_();  // so small that many codes are cut off
    const Tensor y = through_scales(w, s, format(c.name), false);
    sum(y * g).backward();
    const double factor = 1 / std::sqrt(double(c.per_scale) * double(c.high));
    std::vector<double> want(size_t(scales), 0.0);
    int64_t cut = 0;
    for (int64_t i = 0; i < 6 * 24; ++i) {
      const double x = w.data<float>()[i], scale = s.data<float>()[i / c.per_scale], up = g.data<float>()[i];
      const double v = double(float(x) / float(scale)), inside = v >= double(c.low) && v <= double(c.high);
      const double code = std::nearbyint(std::clamp(v, double(c.low), double(c.high)));
      EXPECT_NEAR(y.data<float>()[i], code * scale, 1e-6) << c.name;
      EXPECT_NEAR(w.grad().data<float>()[i], inside != 0 ? up : 0, 1e-5 * std::abs(up)) << c.name << " " << v;
      want[size_t(i / c.per_scale)] += up * factor * (inside != 0 ? code - v : code);
      cut += inside == 0;
    }
    EXPECT_GT(cut, 5);
    for (int64_t k = 0; k < scales; ++k) EXPECT_NEAR(s.grad().data<float>()[k], want[size_t(k)], 1e-5) << c.name;
  }
}

TEST(Filters, AreRows) {
  manual_seed(10);
  nn::Conv2d m(4, 8, 3);
  const Tensor w = m.value("weight").clone(), x = randn({1, 4, 6, 6});
  const DType f = format("i4(row)");
  quantize(m, {.weights = f});
  const Tensor stored = m.value("weight");
  EXPECT_EQ(stored.nbytes(), 8 * 36 / 2 + 8 * 4);  // a scale for each filter
  EXPECT_TRUE(equal(stored.to(f32), w.view({8, 36}).to(f).to(f32).view({8, 4, 3, 3})));
  for (const Tensor& copy : {stored.clone(), empty(stored.sizes(), f32).copy_(stored).to(f32)})
    EXPECT_TRUE(equal(copy.to(f32), stored.to(f32)));
  EXPECT_EQ(stored.clone().nbytes(), stored.nbytes());
  nn::Conv2d same(4, 8, 3);
  same.to(f);
  same.load_state_dict(m.state_dict());
  EXPECT_TRUE(equal(same(x), m(x)));
  nn::Conv2d wide(32, 8, 3);
  EXPECT_EQ(quantize(wide, {.weights = q8_0}).layers.size(), 1u);  // filters of 288
}

TEST(LearnedScales, AreStoredAsTheyAreSeen) {
  manual_seed(3);
  for (const char* name : {"i4(row)", "i2(group=8)", "i8(tensor)", "i3(row)", "i4(group=8,scale=f16)"}) {
    const DType f = format(name);
    const Tensor w = randn({5, 3, 4, 2}), s = first_scales(w, f, true);
    const Tensor stored = stored_with_scales(w, s, f, true);
    EXPECT_EQ(stored.dtype(), f);
    EXPECT_TRUE(equal(stored.to(f32), through_scales(w, s, f, true))) << name;
  }
}

TEST(Trainable, FrozenIsWhatWasSeen) {
  for (const bool learned : {false, true})
    for (const char* activations : {"", "i8(row)", "i8(tensor)"}) {
      manual_seed(4);
      Net m;
      const Tensor x = ids(), plain = m(x);
      const int64_t bytes = m.nbytes();
      const Report made = quantize(m, {.weights = format("i4(row)"),
                                       .activations = *activations ? format(activations) : DType(),
                                       .trainable = true,
                                       .learned_scales = learned});
      ASSERT_EQ(made.layers.size(), 3u);
      EXPECT_EQ(m.conv.value("weight").dtype(), f32);
      const Tensor seen = m(x);
      EXPECT_FALSE(equal(seen, plain));
      EXPECT_TRUE(m.out.weight.requires_grad());
      const Report r = freeze(m);
      EXPECT_TRUE(equal(m(x), seen)) << learned << " " << activations;
      EXPECT_EQ(m.words.weight.dtype(), format("i4(row)"));
      EXPECT_EQ(m.conv.value("weight").dtype(), format("i4(row)"));
      EXPECT_FALSE(m.out.weight.requires_grad());
      EXPECT_EQ(r.bytes_after, m.nbytes());
      EXPECT_LT(m.nbytes(), bytes / 4);  // of rows of 24 and 32, with a scale each, and biases
      EXPECT_EQ(made.bytes_after, r.bytes_after - (std::string(activations) == "i8(tensor)" ? 12 : 0));
      EXPECT_EQ(m.out.hooked(), *activations != 0);
    }
}

TEST(Trainable, TrainsBetterThanRoundingAfterwards) {
  manual_seed(5);
  Net teacher, first;
  const Tensor x = ids(), y = argmax(teacher(x), -1).reshape({-1});
  const auto loss = [&](Net& m) { return cross_entropy(m(x).reshape({-1, 10}), y); };
  const auto train = [&](Net& m, int steps, double lr) {
    optim::AdamW optimizer(m.parameters(), {.lr = lr});
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      loss(m).backward();
      optimizer.step();
    }
  };
  train(first, 150, 3e-3);
  const nn::NamedTensors trained = copied(first.state_dict());
  const double whole = loss(first).item();
  quantize(first, {.weights = format("i2(row)")});
  const double rounded = loss(first).item();
  for (const bool learned : {false, true}) {
    Net m;
    m.load_state_dict(trained);
    quantize(m, {.weights = format("i2(row)"), .trainable = true, .learned_scales = learned});
    train(m, 200, 2e-3);
    freeze(m);
    const double got = loss(m).item();
    EXPECT_LT(got - whole, 0.2 * (rounded - whole)) << learned << ": " << whole << " " << rounded << " " << got;
  }
}

TEST(Trainable, StatesAreSavedAndLoaded) {
  manual_seed(6);
  Net a, b;
  const QuantizeOptions o{
      .weights = format("i4(row)"), .activations = format("i8(tensor,zero)"), .trainable = true, .learned_scales = true};
  quantize(a, o), quantize(b, o);
  const Tensor x = ids();
  Batches data({x});
  calibrate(a, data);
  EXPECT_FALSE(equal(a(x), b(x)));
  b.load_state_dict(copied(a.state_dict()));
  EXPECT_TRUE(equal(a(x), b(x)));
  std::vector<std::string> names;
  for (auto& [name, t] : a.state_dict()) names.push_back(name);
  for (const char* name :
       {"conv.weight", "conv.quantizer.weight_scale", "out.quantizer.input_scale", "out.quantizer.input_zero"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  freeze(a), freeze(b);
  Net c;
  quantize(c, o);
  freeze(c);
  c.load_state_dict(copied(a.state_dict()));
  EXPECT_TRUE(equal(a(x), c(x)));
}

TEST(Trainable, TiedWeightsHaveOneScale) {
  struct Tied : nn::Module {
    nn::Embedding words{16, 8};
    nn::Linear head{8, 16, {.bias = false}};
    Tied() {
      add("words", words), add("head", head);
      head.weight = words.weight;
    }
    Tensor forward(const Tensor& x) override { return head(words(x)); }
  } m;
  quantize(m, {.weights = format("i4(row)"), .trainable = true, .learned_scales = true});
  EXPECT_EQ(m.named_parameters().size(), 2u);
  const Tensor x = randint(0, 16, {3}), seen = m(x);
  sum(seen).backward();
  freeze(m);
  EXPECT_TRUE(m.head.weight.is_same(m.words.weight));
  EXPECT_TRUE(equal(m(x), seen));
}

TEST(Trainable, AForwardThatFailsLeavesTheWeight) {
  manual_seed(7);
  nn::Linear m(8, 4);
  const Tensor w = m.weight;
  quantize(m, {.weights = format("i4(row)"), .trainable = true});
  EXPECT_THROW(m(randn({2, 7})), Error);
  const Tensor seen = m(randn({2, 8}));
  EXPECT_TRUE(m.weight.is_same(w));
  sum(seen).backward();
  EXPECT_TRUE(w.grad().defined());
}

TEST(Calibrate, RangesOfKnownData) {
  const Tensor even = linspace(-1, 3, 100001);
  const IntegerCodes codes = *integer_codes(format("i8(tensor)"));
  const auto range = [&](const std::vector<Tensor>& all, const CalibrateOptions& o) {
    Observed seen;
    for (const Tensor& x : all) seen.add(x, o);
    return range_of(seen, codes, o);
  };
  EXPECT_EQ(range({even, even * 2}, {}), std::pair(-2.0, 6.0));
  const auto [low, high] = range({even, even * 2}, {.observer = "moving_average", .momentum = 0.25});
  EXPECT_NEAR(low, -1.25, 1e-6);
  EXPECT_NEAR(high, 3.75, 1e-6);
  // 75 % of the magnitudes of -1 ... 3 are below 2. The later batch makes the histogram reach farther.
  const auto part = range({even * 0.25, even}, {.observer = "percentile", .percentile = 75});
  EXPECT_NEAR(part.first, -1, 1e-6);
  EXPECT_NEAR(range({even}, {.observer = "percentile", .percentile = 75}).second, 2, 3.0 / 2048 + 1e-6);
  EXPECT_NEAR(range({even}, {.observer = "percentile", .percentile = 100}).second, 3, 1e-6);
  EXPECT_EQ(range({zeros({5})}, {.observer = "entropy"}), std::pair(0.0, 0.0));
}

TEST(Calibrate, ErrorsOfHistogramsAreThoseOfTheData) {
  manual_seed(8);
  Tensor x = randn({40000});
  select(x, 0, 7).fill_(30);  // takes the codes of all others
  for (const char* name : {"i4(tensor)", "i4(tensor,zero)"}) {
    const IntegerCodes codes = *integer_codes(format(name));
    const auto error = [&](double low, double high) {
      const Grid g = grid_of(low, high, codes);
      const Tensor e = through_scale(x, full({}, g.scale), double(g.zero), codes) - x;
      return mean(square(e)).item();
    };
    const auto chosen = [&](const char* observer) {
      Observed seen;
      seen.add(x, {});
      const auto [low, high] = range_of(seen, codes, {.observer = observer});
      return error(low, high);
    };
    double best = INFINITY;
    for (double t = 0.25; t <= 30; t *= 1.02) best = std::min(best, error(std::max(-t, amin(x).item()), t));
    EXPECT_LT(chosen("mse"), 1.02 * best) << name;
    EXPECT_LT(chosen("entropy"), 3 * best) << name;
    EXPECT_GT(chosen("minmax"), 10 * best) << name;
  }
}

TEST(Calibrate, InputsKeepTheirScale) {
  manual_seed(9);
  nn::Linear m(16, 8);
  quantize(m, {.weights = format("i8(row)"), .activations = format("i8(tensor,zero)"), .trainable = true});
  const Tensor x = rand({64, 16});
  Batches data({x, x * 2});
  const std::vector<RangeReport> r = calibrate(m, data);
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].batches, 2);
  EXPECT_NEAR(r[0].high, 2 * amax(x).item(), 1e-6);
  EXPECT_EQ(r[0].zero, -128);  // nothing is below 0
  EXPECT_NEAR(r[0].scale, r[0].high / 255, 1e-9);
  // Rows one by one are what they are together; beyond the range they are cut off, and their gradient with it.
  EXPECT_TRUE(equal(m(narrow(x, 0, 3, 1)), narrow(m(x), 0, 3, 1)));
  const Tensor large = full({1, 16}, 9.0).requires_grad_(), inside = full({1, 16}, 1.0).requires_grad_();
  (sum(m(large)) + sum(m(inside))).backward();
  EXPECT_EQ(amax(abs(large.grad())).item(), 0);
  EXPECT_GT(amin(abs(inside.grad())).item(), 0);
  EXPECT_TRUE(m.training());
}

TEST(Trainable, SaysWhatIsWrong) {
  Net m;
  EXPECT_NE(train_error([&] { freeze(m); }).find("freeze: no layer here is trainable"), std::string::npos);
  Batches data({ids()});
  EXPECT_NE(train_error([&] { calibrate(m, data); }).find("calibrate: no layer here takes a scale"), std::string::npos);
  EXPECT_NE(train_error([&] {
              quantize(m, {.weights = q4_0, .include = {"words.*"}, .trainable = true, .learned_scales = true});
            }).find("learned scales are for integers without zero points, such as i4(row): words.weight is to be q4_0"),
            std::string::npos);
  EXPECT_NE(train_error([&] { quantize(m, {.weights = format("i4(row)"), .method = "hqq", .trainable = true}); }).find("hqq"),
            std::string::npos);
  quantize(m, {.weights = format("i4(row)"), .activations = format("i8(tensor)"), .trainable = true});
  EXPECT_NE(train_error([&] { quantize(m, {.weights = format("i4(row)"), .trainable = true}); }).find("freeze() it first"),
            std::string::npos);
  EXPECT_NE(train_error([&] { calibrate(m, data, {.observer = "msee"}); }).find("did you mean mse?"), std::string::npos);
  m.conv.value("weight").detach().fill_(NAN);
  EXPECT_NE(train_error([&] { calibrate(m, data); }).find("calibrate: NaN or infinities are among the inputs"),
            std::string::npos);
}

}  // namespace
}  // namespace dyadic::inline v1::quant
