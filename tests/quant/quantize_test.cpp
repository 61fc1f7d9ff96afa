// Whole models, in place.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"
#include "dyadic/gpt.h"
#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {
namespace {

template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

struct Mlp : nn::Module {
  nn::LayerNorm norm{{64}};
  nn::Linear up{64, 96}, gate{64, 96}, down{96, 32};
  bool seen_elsewhere = false;  // the norm's result goes another way too
  Mlp() { add("norm", norm), add("up", up), add("gate", gate), add("down", down); }
  Tensor forward(const Tensor& x) override {
    const Tensor n = norm(x);
    const Tensor y = down(silu(gate(n)) * up(n));
    return seen_elsewhere ? y + narrow(n, -1, 0, 32) : y;
  }
};

// Of which a few are large, as those of language models.
Tensor inputs(int64_t rows) {
  const Tensor x = matmul(randn({rows, 24}), randn({24, 64})) + randn({rows, 64}) * 0.3;
  for (int64_t i = 5; i < 64; i += 20) select(x, 1, i).mul_(15);
  return x;
}
double loss(nn::Module& m, const Tensor& x, const Tensor& y) { return (mean(square(m(x) - y)) / mean(square(y))).item(); }

const DType kFormat = DType::parse("i4(group=32)");

TEST(Quantize, RoundingToNearestIsWhatToDoes) {
  manual_seed(1);
  Mlp a, b;
  b.load_state_dict(a.state_dict());
  const int64_t predicted = predicted_bytes(a, {.weights = kFormat});
  const Report r = quantize(a, {.weights = kFormat});
  b.to(kFormat);
  const Tensor x = inputs(8);
  EXPECT_TRUE(equal(a(x), b(x)));
  ASSERT_EQ(r.layers.size(), 3u);
  EXPECT_EQ(r.layers[0].name, "up.weight");
  EXPECT_EQ(r.layers[0].format, kFormat);
  EXPECT_EQ(r.layers[0].error, r.layers[0].error_rtn);
  EXPECT_EQ(r.layers[0].fallback, "");
  EXPECT_EQ(r.bytes_before, b.nbytes() - r.bytes_after + r.bytes_before);
  EXPECT_EQ(r.bytes_after, predicted);
  EXPECT_EQ(r.bytes_after, a.nbytes());
  EXPECT_TRUE(a.training());
  EXPECT_EQ(a.norm.weight.dtype(), f32);
}

TEST(Quantize, MethodsGainOnRowsThatTheyHaveNotSeen) {
  manual_seed(2);
  Mlp model;
  const nn::NamedTensors state = model.state_dict();
  nn::NamedTensors whole;
  for (auto& [name, t] : state) whole.emplace_back(name, t.clone());
  Tensor all = inputs(1024);
  std::vector<Tensor> seen;
  for (int i = 0; i < 4; ++i) seen.push_back(narrow(all, 0, 128 * i, 128));
  const Tensor x = narrow(all, 0, 512, 512), y = model(x).detach();
  std::map<std::string, double> losses;
  for (const char* name : {"rtn", "imatrix", "gptq", "awq"}) {
    Mlp m;
    m.load_state_dict(whole);
    Batches data(seen);
    const Report r = quantize(m, {.weights = kFormat, .method = name, .calibration = &data});
    losses[name] = loss(m, x, y);
    for (const LayerReport& l : r.layers) {
      EXPECT_EQ(l.fallback, "");
      EXPECT_LE(l.error, l.error_rtn * (1 + 1e-6)) << name << " " << l.name;
    }
    if (name == std::string("awq")) {
      EXPECT_EQ(r.layers[0].note, "scales are in norm");
      EXPECT_EQ(r.layers[2].note, "scales are in up");  // down's inputs are up's results, times something
    }
    EXPECT_FALSE(m.up.hooked());
  }
  EXPECT_LT(losses["imatrix"], losses["rtn"]);
  EXPECT_LT(losses["gptq"], 0.5 * losses["rtn"]);
  EXPECT_LT(losses["awq"], 0.7 * losses["rtn"]);
}

TEST(Quantize, ScalesAreNotPutWhereTheyWouldChangeTheModel) {
  manual_seed(3);
  Mlp m;
  m.seen_elsewhere = true;
  const Tensor x = inputs(256), before = m.norm.weight.clone();
  Batches data({x});
  const Report r = quantize(m, {.weights = kFormat, .method = "awq", .calibration = &data, .exclude = {"down.*"}});
  EXPECT_EQ(r.layers[0].note, "its inputs are not scaled: nothing before it takes the scales");
  EXPECT_TRUE(equal(m.norm.weight, before));
}

// Eight bits for weights and inputs where a few features are large: plain rounding loses much, what moves or spares the
// outliers hardly anything.
TEST(Quantize, OutliersAmongInputs) {
  manual_seed(8);
  const auto outliers = [](int64_t rows) {
    const Tensor x = randn({rows, 64});
    for (int64_t i : {7, 30}) select(x, 1, i).mul_(60);
    return x;
  };
  struct One : nn::Module {
    nn::LayerNorm norm{{64}};
    nn::Linear out{64, 64};
    One() { add("norm", norm), add("out", out); }
    Tensor forward(const Tensor& x) override { return out(norm(x)); }
  };
  One whole;
  for (int64_t i : {7, 30}) select(whole.norm.weight.detach(), 0, i).fill_(40);  // as norms before outlier features have them
  nn::NamedTensors state;
  for (auto& [name, t] : whole.state_dict()) state.emplace_back(name, t.clone());
  const Tensor seen = randn({256, 64}), x = randn({256, 64}), y = whole(x).detach();
  const auto error = [&](QuantizeOptions o) {
    One m;
    m.load_state_dict(state);
    Batches data({seen});
    o.weights = i8_row, o.activations = o.activations ? o.activations : i8_row, o.calibration = &data;
    quantize(m, o);
    return mean(abs(m(x) - y)).item();
  };
  const double plain = error({.activations = DType::parse("i8(tensor)")}), by_token = error({});
  const double smooth = error({.method = "smoothquant"}), spared = error({.threshold = 6});
  EXPECT_GT(plain, 5 * smooth);
  EXPECT_GT(plain, 5 * spared);
  EXPECT_GT(by_token, 3 * smooth);
  EXPECT_GT(by_token, 3 * spared);
  const Tensor r = outliers(5), rounded = round_inputs(r, i8_row, 6);
  EXPECT_TRUE(equal(select(rounded, 1, 7), select(r, 1, 7)));
  EXPECT_FALSE(equal(select(rounded, 1, 8), select(r, 1, 8)));
  EXPECT_TRUE(equal(round_inputs(r, i8_row), r.to(i8_row).to(f32)));
  EXPECT_EQ(error_of([&] { round_inputs(r, f16); }), "round_inputs: inputs cannot be f16: f16 has no scales; use to()");
  EXPECT_EQ(error_of([&] { round_inputs(r, i8_row, -1); }), "round_inputs: threshold is -1, below 0");
}

TEST(Quantize, ByPatterns) {
  manual_seed(4);
  models::Gpt m({.vocab = 65, .block = 32, .layers = 2, .heads = 2, .width = 64});
  std::vector<Tensor> ids{randint(0, 65, {2, 32})};
  Batches data(ids);
  const Report r = quantize(m, {.weights = kFormat,
                                .map = {{"blocks.1.fc.weight", q8_0}, {"blocks.0.*", {}}},
                                .method = "gptq",
                                .calibration = &data,
                                .exclude = {"pos.*"}});
  std::vector<std::string> names;
  for (const LayerReport& l : r.layers) names.push_back(l.name + " " + l.format.name() + " " + l.fallback);
  EXPECT_EQ(names, (std::vector<std::string>{"blocks.1.qkv.weight i4(group=32) ", "blocks.1.proj.weight i4(group=32) ",
                                             "blocks.1.fc.weight q8_0 ", "blocks.1.out.weight i4(group=32) ",
                                             "tok.weight i4(group=32) its rows are looked up, not multiplied"}));
  EXPECT_TRUE(all(isfinite(m.forward(ids[0]))).item<bool>());
}

// Interrupted between two blocks and resumed: the same bits, nothing computed twice.
TEST(Quantize, GoesOnWhereItWasInterrupted) {
  const std::string folder = ::testing::TempDir() + "dyadic_quant_journal";
  const Tensor ids = randint(0, 65, {4, 32});
  struct Stop {};
  struct Count {
    int allowed, begun = 0;
    static void step(void* self, size_t, size_t, const std::string&) {
      auto& c = *static_cast<Count*>(self);
      if (c.begun++ == c.allowed) throw Stop{};
    }
  };
  for (const char* name : {"gptq", "awq"}) {
    const auto run = [&](Journal* journal, Count count) {
      manual_seed(7);
      models::Gpt m({.vocab = 65, .block = 32, .layers = 3, .heads = 2, .width = 64});
      Batches data({ids});
      const Report r = quantize(m, {.weights = kFormat,
                                    .method = name,
                                    .calibration = &data,
                                    .progress = Count::step,
                                    .context = &count,
                                    .journal = journal});
      return std::tuple(m.forward(ids), r, count.begun);
    };
    const auto [whole, report, all] = run(nullptr, {100});
    FolderJournal first(folder, name, false);
    EXPECT_THROW(run(&first, {6}), Stop);  // in the second block
    FolderJournal second(folder, name, true);
    const auto [resumed, same, rest] = run(&second, {100});
    EXPECT_TRUE(equal(resumed, whole)) << name;
    EXPECT_EQ(rest, all - 4) << name;
    ASSERT_EQ(same.layers.size(), report.layers.size());
    for (size_t i = 0; i < same.layers.size(); ++i) {
      EXPECT_EQ(same.layers[i].name, report.layers[i].name);
      EXPECT_EQ(same.layers[i].error, report.layers[i].error);
      EXPECT_EQ(same.layers[i].note, report.layers[i].note);
    }
    EXPECT_EQ(same.bytes_before, report.bytes_before);
    FolderJournal other(folder, "another", true);
    EXPECT_NE(error_of([&] { run(&other, {100}); }).find("it is of another run"), std::string::npos);
    second.remove();
  }
}

// A method may serve one format, as ldlq does; what the map gives another is rounded to nearest, and says why.
TEST(Quantize, MappedFormatsThatTheMethodDoesNotServeAreRounded) {
  manual_seed(5);
  struct Pair : nn::Module {
    nn::Linear first{256, 256}, last{256, 64};
    Pair() { add("first", first), add("last", last); }
    Tensor forward(const Tensor& x) override { return last(first(x)); }
  } m;
  Batches data({randn({64, 256})});
  const Tensor last = m.last.weight.detach().clone();
  const Report r = quantize(m, {.weights = e8p, .map = {{"last.weight", q6_K}}, .method = "ldlq", .calibration = &data});
  ASSERT_EQ(r.layers.size(), 2u);
  EXPECT_EQ(r.layers[0].fallback, "");
  EXPECT_EQ(r.layers[1].format, q6_K);
  EXPECT_TRUE(r.layers[1].fallback.starts_with("ldlq does not serve q6_K: ")) << r.layers[1].fallback;
  EXPECT_TRUE(equal(m.last.weight.to(f32), last.to(q6_K).to(f32)));
  EXPECT_LT(r.layers[0].error, r.layers[0].error_rtn);
}

TEST(Quantize, BadInput) {
  manual_seed(5);
  Mlp m;
  Batches data({inputs(64)});
  const auto complaint = [&](const QuantizeOptions& o) { return error_of([&] { quantize(m, o); }); };
  EXPECT_EQ(complaint({.weights = kFormat, .method = "gptqq"}), "quantize: unknown method \"gptqq\"; did you mean gptq?");
  EXPECT_EQ(complaint({.weights = kFormat, .method = "gptq"}),
            "quantize: gptq needs calibration data: give some, or use rtn, hqq or another that needs none");
  EXPECT_EQ(complaint({.weights = f16}),
            "quantize: weights is f16: a scaled format is needed, such as i4(group=128); to() converts to the others");
  EXPECT_EQ(complaint({.weights = iq2_xs}), "quantize: rtn does not serve iq2_xs: iq2_xs cannot be encoded here; use q2_K");
  EXPECT_EQ(complaint({.weights = tq1_0, .method = "gptq", .calibration = &data}),
            "quantize: gptq does not serve tq1_0: tq1_0 does not keep each element's code in bits of its own");
  EXPECT_EQ(complaint({.weights = kFormat, .options = {{"damping", 1}}}), "rtn: it has no option \"damping\"; it has none");
  EXPECT_EQ(complaint({.weights = kFormat, .method = "gptq", .options = {{"dumping", 1}}, .calibration = &data}),
            "gptq: it has no option \"dumping\"; did you mean damping?");
  EXPECT_EQ(
      complaint({.weights = q4_K, .include = {"up.weight"}}),
      "quantize: up.weight cannot be q4_K: it is f32[96, 64]; that is for matrices that products or lookups read, of rows "
      "with a multiple of 256 elements");
  EXPECT_EQ(complaint({.weights = kFormat, .include = {"upp.*"}}), "quantize: no parameter fits \"upp.*\"");
  EXPECT_EQ(
      complaint({.weights = kFormat, .map = {{"norm.*", q8_0}}}),
      "quantize: norm.weight cannot be q8_0: it is f32[64]; that is for matrices that products or lookups read, of rows with "
      "a multiple of 32 elements");
  EXPECT_EQ(error_of([] { Batches none(std::vector<Tensor>{}); }), "Batches: there is no data");
  for (auto& [name, t] : m.named_parameters()) EXPECT_EQ(t.dtype(), f32) << name;
  Tensor bad = inputs(64);
  select(select(bad, 0, 3), 0, 7).fill_(NAN);
  Batches broken({bad});
  EXPECT_EQ(complaint({.weights = kFormat, .method = "gptq", .calibration = &broken}),
            "quantize: up.weight: Inputs: NaN or infinities are among the inputs: x is f32[64, 64]");
  select(select(m.down.weight.detach(), 0, 0), 0, 0).fill_(INFINITY);
  EXPECT_EQ(complaint({.weights = kFormat}), "quantize: down.weight has no finite values: it is f32[32, 96]");
}

TEST(FitBudget, SpendsBytesWhereTheyHelpMost) {
  manual_seed(6);
  Mlp m;
  m.down.weight.detach().mul_(10);  // much comes of it
  Batches data({inputs(64)});
  const std::vector<DType> formats{DType::parse("i2(group=32)"), kFormat, DType::parse("i8(group=32)")};
  const int64_t least = predicted_bytes(m, {.weights = formats[0]}), most = predicted_bytes(m, {.weights = formats[2]});
  const auto plan_of = [&](int64_t bytes) { return fit_budget(m, {.bytes = bytes, .formats = formats, .calibration = &data}); };
  const BudgetPlan plan = plan_of((least + most) / 2);
  for (size_t i = 1; i < plan.curve.size(); ++i) {
    EXPECT_GT(plan.curve[i].bytes, plan.curve[i - 1].bytes);
    EXPECT_LT(plan.curve[i].distance, plan.curve[i - 1].distance);
  }
  EXPECT_EQ(plan.curve.front().bytes, least);
  EXPECT_LE(plan.curve.back().bytes, (least + most) / 2);
  EXPECT_EQ(m.up.weight.dtype(), f32);
  EXPECT_EQ(predicted_bytes(m, {.map = plan.map}), plan.curve.back().bytes);
  quantize(m, {.map = plan.map});
  EXPECT_EQ(m.nbytes(), plan.curve.back().bytes);
  EXPECT_NE(error_of([&] { plan_of(least - 1); }).find("are too few"), std::string::npos);
}

// What is given counts, whether it is larger or smaller than what would be chosen, and is not chosen for.
TEST(FitBudget, CountsWhatIsGiven) {
  manual_seed(6);
  Mlp m;
  const DType i2 = DType::parse("i2(group=32)");
  const std::vector<DType> formats{i2, kFormat, DType::parse("i8(group=32)"), i2};  // one of them twice
  using Map = std::vector<std::pair<std::string, DType>>;
  for (const Map& given : {Map{{"down.*", q8_0}}, Map{{"down.*", DType::parse("i2(group=32)")}}, Map{{"down.*", {}}}}) {
    const int64_t least = predicted_bytes(m, {.weights = formats[0], .map = given});
    const auto plan_of = [&](int64_t bytes) { return fit_budget(m, {.bytes = bytes, .formats = formats, .map = given}); };
    const BudgetPlan plan = plan_of(least + 1000);
    EXPECT_EQ(plan.curve.front().bytes, least);
    EXPECT_LE(plan.curve.back().bytes, least + 1000);
    EXPECT_EQ(plan.map.size(), 3u);
    EXPECT_EQ(plan.map.front(), given.front());
    EXPECT_EQ(predicted_bytes(m, {.map = plan.map}), plan.curve.back().bytes);
    EXPECT_NE(error_of([&] { plan_of(least - 1); }).find("are too few"), std::string::npos);
  }
}

}  // namespace
}  // namespace dyadic::inline v1::quant
