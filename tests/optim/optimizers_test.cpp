// What all optimizers share: formats of states, threads, saving and resuming, groups, the order of a training loop, errors.
#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "dyadic/dyadic.h"
#include "dyadic/optim.h"
#include "optim/update.h"

namespace dyadic::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

using optim::Optimizer;
using optim::Options;

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const optim::OptimizerDef* def : optim::optimizer_defs())
    if (def->step) out.push_back(def->name());
  return out;
}
// Those whose states are elementwise, with an option that gives them one.
std::vector<std::pair<std::string, Options>> elementwise() {
  std::vector<std::pair<std::string, Options>> out;
  for (const std::string& name : names())
    if (name != "Adafactor" && name != "Muon") out.emplace_back(name, name == "SGD" ? Options{{"momentum", 0.9}} : Options{});
  return out;
}

struct Model {
  nn::NamedTensors params;
  explicit Model(DType dtype = f32, int64_t rows = 70, int64_t columns = 97) {
    manual_seed(7);
    params = {{"w", randn({rows, columns}).to(dtype)}, {"v", randn({13, 5}).to(dtype)}};
    for (auto& [name, p] : params) p.requires_grad_();
  }
  void gradients(int k) {
    manual_seed(uint64_t(100 + k));
    for (auto& [name, p] : params) p.set_grad(mul(randn(p.sizes()), scalar_tensor(0.1)).to(p.dtype()));
  }
  std::vector<double> values() const {
    std::vector<double> out;
    for (auto& [name, p] : params)
      for (double v : p.to_vector()) out.push_back(v);
    return out;
  }
};

Options with(Options o, const char* name, optim::Option value) {
  o.set(name, std::move(value));
  return o;
}

// bitsandbytes' criterion: parameters are brought together after every step; each of 50 steps of lr 1e-3 differs by less than
// 6e-5 on average.
void expect_states_close(const std::string& name, Options o, DType state, int64_t columns) {
  o.set("lr", 1e-3);
  manual_seed(3);
  Tensor wide = mul(randn({1024, columns}), scalar_tensor(0.1)), narrow = wide.clone();
  wide.requires_grad_(), narrow.requires_grad_();
  Optimizer a(name, {{"p", wide}}, o), b(name, {{"p", narrow}}, with(o, "state", state));
  double worst = 0;
  for (int k = 0; k < 50; ++k) {
    const Tensor g = mul(randn(wide.sizes()), scalar_tensor(0.01));
    wide.set_grad(g), narrow.set_grad(g);
    a.step(), b.step();
    worst = std::max(worst, mean(abs(sub(wide.detach(), narrow.detach()))).item());
    narrow.detach().copy_(wide.detach());
  }
  EXPECT_LT(worst, 6e-5) << name << " with states in " << state.name();
  EXPECT_GT(worst, 0) << name;
}

TEST(Optimizers, EightBitStatesStayCloseToFloat) {
  for (const char* name : {"Adam", "AdamW", "SGD", "Lion", "RMSprop", "Adagrad", "NAdam", "RAdam"})
    expect_states_close(name, std::string(name) == "SGD" ? Options{{"momentum", 0.9}} : Options{}, dynamic8, 32);
}

TEST(Optimizers, EveryStateFormatTrains) {
  for (auto& [name, o] : elementwise()) {
    for (DType state : {f32, bf16, f16, f8e4m3fn, f8e5m2, dynamic8, DType::parse("mxfp8_e4m3")}) {
      Model m;
      Optimizer optimizer(name, m.params, with(o, "state", state));
      for (int k = 0; k < 3; ++k) m.gradients(k), optimizer.step();
      for (double v : m.values()) ASSERT_TRUE(std::isfinite(v)) << name << " " << state.name();
      for (auto& [key, t] : optimizer.state_dict()) {
        if (t.dim() == 0 || key.starts_with("z.")) continue;
        const bool small = key.ends_with(".v");
        const DType want = state.bits() <= 8 && small ? f32 : state;
        EXPECT_TRUE(t.dtype() == want || (want == dynamic8 && t.dtype() == udynamic8))
            << name << " " << key << " " << t.dtype().name();
      }
    }
  }
}

// One step from zero states in a format is the f32 step with its states rounded to the format.
TEST(Optimizers, StatesAreRoundedWhereTheyLie) {
  for (DType state : {bf16, f8e5m2, dynamic8, DType::parse("mxfp8_e4m3")}) {
    Model wide(f32, 61, 87), narrow(f32, 61, 87);
    Optimizer a("SGD", wide.params, {{"momentum", 0.9}}), b("SGD", narrow.params, {{"momentum", 0.9}, {"state", state}});
    wide.gradients(0), narrow.gradients(0);
    a.step(), b.step();
    EXPECT_EQ(wide.values(), narrow.values());
    auto buffer = [](Optimizer& o) {
      for (auto& [key, t] : o.state_dict())
        if (key == "momentum_buffer.w") return t;
      return Tensor();
    };
    EXPECT_EQ(buffer(b).to(f32).to_vector(), buffer(a).view({-1}).to(state).to(f32).to_vector()) << state.name();
  }
}

TEST(Optimizers, SameBitsForAnyThreads) {
  const int threads = num_threads();
  for (auto& [name, o] : elementwise()) {
    for (DType dtype : {f32, bf16}) {
      for (DType state : {f32, f8e4m3fn, dynamic8}) {
        std::vector<double> one;
        for (int n : {1, 2, 3, 7}) {
          set_num_threads(n);
          Model m(dtype, 300, 231);
          Optimizer optimizer(name, m.params, with(with(o, "state", state), "stochastic_rounding", true));
          for (int k = 0; k < 3; ++k) m.gradients(k), optimizer.step();
          if (n == 1)
            one = m.values();
          else
            ASSERT_TRUE(one == m.values()) << name << " " << dtype.name() << " " << state.name() << ": " << n << " threads";
        }
      }
    }
  }
  set_num_threads(threads);
}

TEST(Optimizers, ResumeBitForBit) {
  for (const std::string& name : names()) {
    for (DType state : {f32, bf16, dynamic8}) {
      if (name == "Adafactor" && state != f32) continue;  // refused
      auto make = [&](const Model& m) {
        Options o{{"state", state}};
        if (name == "SGD") o.set("momentum", 0.9);
        return std::make_unique<Optimizer>(name, m.params, o);
      };
      Model straight, resumed;
      if (name == "Adafactor" || name == "Muon") straight.params.pop_back(), resumed.params.pop_back();
      auto a = make(straight), b = make(resumed);
      for (int k = 0; k < 7; ++k) {
        straight.gradients(k), a->step();
        if (k == 3) {
          const nn::NamedTensors saved = b->state_dict();
          const int64_t steps = b->steps();
          b = make(resumed);
          b->load_state_dict(saved, steps);
        }
        resumed.gradients(k), b->step();
      }
      EXPECT_TRUE(straight.values() == resumed.values()) << name << " with states in " << state.name();
    }
  }
}

// A parameter without a gradient is left alone and keeps its own count of steps, as in PyTorch.
TEST(Optimizers, ParametersCountTheirOwnSteps) {
  Model together, late;
  Optimizer a("Adam", {together.params[1]}), b("Adam", late.params);
  for (int k = 0; k < 2; ++k) {
    late.gradients(k);
    late.params[1].second.set_grad({});
    b.step();
  }
  together.gradients(5), a.step();
  late.gradients(5), b.step();
  EXPECT_EQ(together.params[1].second.to_vector(), late.params[1].second.to_vector());
  Optimizer c("Adam", late.params);
  c.load_state_dict(b.state_dict(), b.steps());
  together.gradients(6), a.step();
  late.gradients(6), c.step();
  EXPECT_EQ(together.params[1].second.to_vector(), late.params[1].second.to_vector());
}

TEST(Optimizers, LayerwiseStepsHaveTheirNorm) {
  manual_seed(1);
  Tensor p = randn({50, 60}), before = p.clone();
  p.requires_grad_();
  const Tensor g = randn({50, 60});
  auto norm = [](const Tensor& t) { return std::sqrt(sum(square(t.to(f64))).item()); };
  p.set_grad(g);
  Optimizer lamb("LAMB", {{"p", p}}, {{"lr", 0.01}, {"weight_decay", 0.1}});
  lamb.step();
  EXPECT_NEAR(norm(sub(p.detach(), before)), 0.01 * norm(before), 1e-5 * norm(before));
  const Tensor direction = add(sign(g), before * 0.1);
  EXPECT_NEAR(sum(mul(sub(before, p.detach()), direction)).item() / norm(direction), 0.01 * norm(before), 1e-4 * norm(before));

  p.detach().copy_(before);
  Optimizer lars("LARS", {{"p", p}}, {{"lr", 0.5}, {"trust_coefficient", 0.1}});
  lars.step();
  const double trust = 0.1 * norm(before) / norm(g);
  EXPECT_LT(norm(sub(sub(before, p.detach()), g * (0.5 * trust))), 1e-5 * norm(before));
}

// The published algorithm in double, and its average.
TEST(Optimizers, ScheduleFreeIsThePaper) {
  Tensor p = tensor({1.0, -2.0, 0.5}, f64);
  p.requires_grad_();
  Optimizer optimizer("ScheduleFreeAdamW", {{"p", p}},
                      {{"lr", 0.1}, {"betas", {0.9, 0.99}}, {"weight_decay", 0.05}, {"warmup_steps", 3}, {"r", 0.5}});
  std::vector<double> x = {1, -2, 0.5}, z = x, v(3);
  double sum = 0, largest = 0;
  for (int t = 1; t <= 9; ++t) {
    const double lr = 0.1 * std::min(1.0, t / 3.0);
    largest = std::max(largest, lr);
    const double weight = std::sqrt(double(t)) * largest * largest;
    sum += weight;
    Tensor grad = tensor({0.0, 0.0, 0.0}, f64);
    for (size_t i = 0; i < 3; ++i) {
      const double y = 0.1 * z[i] + 0.9 * x[i], g = y * y + 0.3;
      grad.data<double>()[i] = g;
      EXPECT_NEAR(p.to_vector()[i], y, 1e-12);
      v[i] = 0.99 * v[i] + 0.01 * g * g;
      z[i] -= lr * (g / (std::sqrt(v[i] / (1 - std::pow(0.99, t))) + 1e-8) + 0.05 * y);
      x[i] += weight / sum * (z[i] - x[i]);
    }
    p.set_grad(grad);
    optimizer.step();
  }
  optimizer.train(false);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(p.to_vector()[i], x[i], 1e-12);
  EXPECT_THROW(optimizer.step(), Error);
  optimizer.train();
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(p.to_vector()[i], 0.1 * z[i] + 0.9 * x[i], 1e-12);
}

TEST(Optimizers, LostUpdatesAreCounted) {
  for (const char* name : {"SGD", "Adam", "Lion", "Adagrad", "RMSprop"}) {
    Tensor p = ones({300}, bf16);
    p.requires_grad_();
    p.set_grad(ones({300}, bf16));
    Optimizer optimizer(name, {{"p", p}}, {{"lr", 1e-5}, {"weight_decay", 0.0}});
    optimizer.step();
    EXPECT_EQ(optimizer.updates().nonzero, 300) << name;
    EXPECT_EQ(optimizer.updates().lost, 300) << name;
  }
}

TEST(Optimizers, GroupsHaveTheirOwnOptions) {
  Model m;
  Optimizer optimizer("SGD", {{{m.params[0]}, {{"lr", 0.5}}}}, {{"lr", 0.1}, {"momentum", 0.9}});
  optimizer.add_param_group({{m.params[1]}, {{"momentum", 0.0}}});
  EXPECT_EQ(optimizer.groups()[0].options.number("lr"), 0.5);
  EXPECT_EQ(optimizer.groups()[1].options.number("lr"), 0.1);
  EXPECT_EQ(optimizer.groups()[0].options.number("momentum"), 0.9);
  m.gradients(0);
  optimizer.step();
  EXPECT_EQ(optimizer.state_dict().size(), 1u);
  EXPECT_THROW(optimizer.add_param_group({{m.params[1]}, {}}), ValueError);
}

// Strided gradients and those of f64 reach the same rules.
TEST(Optimizers, GradientsOfAnyKindAreSeen) {
  manual_seed(2);
  const Tensor g = randn({20, 30});
  std::vector<std::vector<double>> results;
  for (const Tensor& given : {g, g.t().contiguous().t()}) {
    Tensor p = ones({20, 30});
    p.requires_grad_();
    p.set_grad(given);
    Optimizer optimizer("Adam", {{"p", p}});
    optimizer.step();
    results.push_back(p.to_vector());
  }
  EXPECT_TRUE(results[0] == results[1]);
  Tensor wide = ones({5000}, f64);
  wide.requires_grad_();
  wide.set_grad(full({5000}, 3.0, f64));
  Optimizer optimizer("SGD", {{"p", wide}}, {{"lr", 1.0}});
  optim::GradScaler scaler(2.0);
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(wide.to_vector()[4999], -0.5);
  EXPECT_NEAR(optim::grad_norm({{"p", wide}}), 1.5 * std::sqrt(5000.0), 1e-9);
  wide.set_grad(full({5000}, kInf, f64));
  scaler.update();
  EXPECT_FALSE(scaler.step(optimizer));
}

// The bytes a dry run predicts are those of the real states.
TEST(Optimizers, StatesOnMetaAreThoseOnCpu) {
  for (const std::string& name : names()) {
    auto bytes = [&](Device device) {
      Tensor p = zeros({100, 60}, f32, device);
      p.requires_grad_();
      p.set_grad(zeros({100, 60}, f32, device));
      Optimizer optimizer(name, {{"p", p}}, {{"state", name == "Adafactor" ? f32 : dynamic8}});
      optimizer.step();
      std::map<std::string, int64_t> out;
      for (auto& [key, t] : optimizer.state_dict()) out[key] = t.nbytes();
      return out;
    };
    EXPECT_EQ(bytes(meta), bytes(cpu)) << name;
  }
}

std::string message(auto&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "nothing was thrown";
}

TEST(Optimizers, ErrorsNameWhatIsWrong) {
  Model m;
  auto make = [&](const char* name, Options o) { return message([&] { Optimizer x(name, m.params, o); }); };
  EXPECT_EQ(make("Adma", {}), "Optimizer: unknown optimizer \"Adma\"; did you mean Adam?");
  EXPECT_EQ(make("SGD", {{"lr", -1.0}}), "SGD: an option is out of range: lr is -1; it is at least 0 and at most inf");
  EXPECT_EQ(make("Adam", {{"betas", {0.9, 1.0}}}), "Adam: an option is out of range: betas is 1; it is at least 0 and below 1");
  EXPECT_EQ(make("Adam", {{"betas", 0.9}}), "Adam: betas takes 2 numbers, not 1");
  EXPECT_EQ(make("SGD", {{"nesterov", true}}), "SGD: nesterov takes a momentum above zero and no dampening: they are 0 and 0");
  EXPECT_EQ(make("Lion", {{"momentum", 0.9}}),
            "Lion: an unknown option: momentum; there are lr, betas, weight_decay, maximize, state, "
            "stochastic_rounding, compensation, seed");
  EXPECT_EQ(make("Adam", {{"state", nf4}}),
            "Adam: states are f32, bf16, f16, an 8-bit float, or 8 or 4 bits in blocks that divide 1024, such as dynamic8 or "
            "i4(group=64), not nf4(block=64,double)");
  Optimizer lbfgs("LBFGS", m.params);
  EXPECT_EQ(message([&] { lbfgs.step(); }), "LBFGS: step() takes a closure that computes the loss and its gradients");
  Optimizer adam("Adam", m.params);
  EXPECT_EQ(message([&] { adam.load_state_dict({{"exp_avg.other", zeros({3})}}, 1); }),
            "Adam: 1 saved states belong to no parameter here; is it the same model?");
  const std::string first = m.params.front().first;
  for (const char* name : {"Adam", "SGD", "Lion", "Muon"}) {
    Optimizer o(name, m.params);
    EXPECT_NE(message([&] { o.load_state_dict({{"exp_avg." + first, zeros({1 << 12})}}, 1); }).find("does not fit"),
              std::string::npos);
    EXPECT_NE(message([&] { o.load_state_dict({}, -5); }).find("negative step"), std::string::npos);
  }
}

TEST(Optimizers, WarnsWhenGradientsWereDropped) {
  Model m;
  Optimizer optimizer("Rprop", m.params);
  testing::internal::CaptureStderr();
  m.gradients(0), optimizer.step(), optimizer.zero_grad(false);
  m.gradients(1), optimizer.step(), optimizer.zero_grad(), optimizer.zero_grad();
  m.gradients(2), optimizer.step();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  for (int k = 0; k < 2; ++k) {
    optimizer.zero_grad();
    m.gradients(3), optimizer.zero_grad(false), optimizer.step();
  }
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "dyadic: warning: Rprop.step(): all gradients are zero: zero_grad() came between backward() and step(); the order is "
      "zero_grad(), backward(), step()\n");
  testing::internal::CaptureStderr();
  for (int k = 0; k < 2; ++k) m.gradients(4), optimizer.zero_grad(), optimizer.step();
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "dyadic: warning: Rprop.step(): no parameter has a gradient, nothing was updated: zero_grad() came between backward() "
      "and step(), or backward() was not called; the order is zero_grad(), backward(), step()\n");
}

}  // namespace
}  // namespace dyadic::test
