// The study of a model, batches and a loss that are none of the library's.
#include <gtest/gtest.h>

#include <fstream>

#include "dyadic/amp.h"
#include "dyadic/interrupt.h"
#include "own_study.h"
#include "study/recipe_apply.h"
#include "study/report_json.h"
#include "study/rounding.h"

namespace dyadic::inline v1::study {
namespace {

TEST(OwnStudy, TrainsStoresAndRecommends) {
  StudyFolder f;
  Loader l;
  const Study found = study(make, l.loader, losses, small(f / "a"));
  const StudyResult& s = found.result;
  EXPECT_TRUE(s.complete);
  EXPECT_EQ(s.model.kind, "Net");
  EXPECT_EQ(s.model.batch, 32);
  EXPECT_EQ(s.measure.metric, "accuracy");
  ASSERT_EQ(s.recipes.size(), 4u);
  for (const RecipeResult& r : s.recipes) {
    EXPECT_EQ(r.status, Status::done) << r.name;
    EXPECT_GT(r.metric, 0.9) << r.name;
    EXPECT_LT(r.val_loss, 0.5) << r.name;
    for (auto amount : {&Bytes::parameters, &Bytes::gradients, &Bytes::optimizer, &Bytes::activations, &Bytes::workspace})
      EXPECT_EQ((r.bytes.*amount).predicted, (r.bytes.*amount).measured) << r.name;
    EXPECT_GT(*r.bytes.optimizer.measured, 0);
  }
  EXPECT_EQ(s.recipe("f32")->metric_vs_f32.delta, 0);
  // Of 40 samples the accuracy is a count.
  EXPECT_NEAR(s.recipe("bf16")->metric * 40, std::round(s.recipe("bf16")->metric * 40), 1e-9);
  EXPECT_LT(*s.format(nf4.name())->bytes, *s.format("q8_0")->bytes);
  EXPECT_FALSE(s.recommendation.recipe.empty());
  EXPECT_NE(s.recommendation.why.find("accuracy"), std::string::npos) << s.recommendation.why;
  EXPECT_EQ(s.recommendation.why.find("nats"), std::string::npos) << s.recommendation.why;
  EXPECT_EQ(found.text().find("nats"), std::string::npos) << found.text();
  EXPECT_NE(found.html().find("accuracy below f32"), std::string::npos);
  // What is written is what was found, and reads back.
  std::ifstream in(f / "a/report.json");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, found.json());
  EXPECT_EQ(report_json(parse_report(text)), text);
  EXPECT_TRUE(fs::exists(f / "a/model.safetensors"));
}

TEST(OwnStudy, TheSameSeedGivesTheSameReport) {
  StudyFolder f;
  Loader l;
  const Study a = study(make, l.loader, losses, small(f / "a"));
  const Study b = study(make, l.loader, losses, small(f / "b"));  // the loader has been used by then
  EXPECT_EQ(without_times(a), without_times(b));
}

TEST(OwnStudy, InterruptedAndResumedItIsTheSame) {
  StudyFolder f;
  Loader l;
  const Study whole = study(make, l.loader, losses, small(f / "whole"));
  int64_t calls = 0;
  const Loss counted = [&](nn::Module& model, const Value& batch) {
    if (++calls == 150) request_interrupt();  // in the second recipe
    return losses(model, batch);
  };
  const Study part = study(make, l.loader, counted, small(f / "a"));
  clear_interrupt();
  EXPECT_TRUE(part.interrupted);
  EXPECT_FALSE(part.result.complete);
  StudyOptions again = small(f / "a");
  EXPECT_THROW(study(make, l.loader, losses, again), ValueError);
  again.resume = true;
  const Study rest = study(make, l.loader, losses, again);
  EXPECT_TRUE(rest.result.complete);
  for (const RecipeResult& r : whole.result.recipes) {
    EXPECT_EQ(r.weights_sha256, rest.result.recipe(r.name)->weights_sha256) << r.name;
    EXPECT_EQ(r.val_loss, rest.result.recipe(r.name)->val_loss) << r.name;
    EXPECT_EQ(r.metric, rest.result.recipe(r.name)->metric) << r.name;
  }
  again.steps = 61;
  EXPECT_THROW(study(make, l.loader, losses, again), ValueError);
}

TEST(OwnStudy, RegressionByItsRootMeanSquare) {
  StudyFolder f;
  Generator g(5);
  std::vector<Value> batches;
  const Tensor w = randn({8, 1}, g);
  for (int i = 0; i < 30; ++i) {
    const Tensor x = randn({16, 8}, g);
    batches.push_back(Value::List{x, matmul(x, w) + randn({16, 1}, g) * 0.1});
  }
  const Study found = study([](nn::Options o) { return std::make_shared<nn::Linear>(8, 1, true, o); }, batches,
                            [](nn::Module& m, const Value& b) { return square(m(b[0]) - b[1].tensor()); },
                            {.metric = rmse(),
                             .steps = 200,
                             .optimizer = "SGD",
                             .optimizer_options = {{"lr", 0.05}, {"momentum", 0.9}},
                             .recipes = {recipe("bf16")},
                             .formats = {"bf16"},
                             .name = "line",
                             .out = f / "a",
                             .progress = false});
  const RecipeResult& f32_run = found.result.recipes[0];
  EXPECT_NEAR(f32_run.metric, 0.1, 0.02);  // the noise
  EXPECT_NEAR(f32_run.metric, std::sqrt(f32_run.val_loss), 1e-6);
  EXPECT_NEAR(found.result.recipes[1].metric_vs_f32.delta, found.result.recipes[1].metric - f32_run.metric, 1e-6);
  EXPECT_EQ(found.result.measure.item, "sample");
  EXPECT_EQ(found.result.model.preset, "line");
  EXPECT_EQ(found.result.training.find("SGD, lr 0.05, momentum 0.9"), 0u) << found.result.training;
}

TEST(OwnStudy, RefusesBeforeTraining) {
  Loader l;
  const auto said = [&](const Batches& batches, const Loss& loss, StudyOptions o) -> std::string {
    o.out = "/proc/nowhere", o.progress = false;  // nothing may come so far
    try {
      study(make, batches, loss, o);
    } catch (const Error& e) { return e.what(); }
    return "";
  };
  const Loss mean_loss = [](nn::Module& m, const Value& b) { return cross_entropy(m(b[0]), b[1]); };
  EXPECT_EQ(said(l.loader, mean_loss, {}).find("study: the loss is no number for each sample: it is f32[]"), 0u);
  EXPECT_NE(said([](int64_t) { return Value(); }, losses, {}).find("pass evaluation"), std::string::npos);
  EXPECT_NE(said({}, losses, {}).find("there are no batches"), std::string::npos);
  EXPECT_NE(said(l.loader, losses, {.seeds = 0}).find("seeds is 0; from 1 to 100"), std::string::npos);
  EXPECT_NE(said(l.loader, losses, {.recipes = {{.compute = i8}}}).find("autocast's precisions"), std::string::npos);
  EXPECT_NE(said(l.loader, losses, {.recipes = {{.rounding = "up"}}}).find("nearest or stochastic"), std::string::npos);
  EXPECT_NE(said(l.loader, losses, {.formats = {"q4_K"}}).find("256"), std::string::npos);
  EXPECT_NE(said(l.loader, losses, {.steps = 5, .time_s = 3}).find("exclude each other"), std::string::npos);
}

TEST(OwnStudy, RecipesByModule) {
  Net net;
  store_parameters(net, {.parameters = bf16, .modules = {{"norm", f32}, {"o*", f16}}});
  EXPECT_EQ(net.in.weight.dtype(), bf16);
  EXPECT_EQ(net.norm.named_parameters()["weight"].dtype(), f32);
  EXPECT_EQ(net.out.weight.dtype(), f16);
  try {
    store_parameters(net, {.modules = {{"midle", f32}}});
    FAIL();
  } catch (const ValueError& e) { EXPECT_STREQ(e.what(), "recipe midle-f32: no module is called midle; did you mean middle?"); }
  // Its products are not autocast, those of the others are.
  Net other;
  store_parameters(other, {.compute = bf16, .modules = {{"out", f32}}});
  other.eval();
  Autocast low(bf16);
  const Tensor x = randn({2, 16});
  EXPECT_EQ(other(x).dtype(), f32);
  EXPECT_EQ(other.in(x).dtype(), bf16);
  EXPECT_TRUE(Autocast::enabled());
  EXPECT_EQ(recipe_name({.parameters = bf16, .compute = f8e4m3fn, .rounding = "stochastic", .states = dynamic8}),
            "pure-bf16-f8e4m3fn-sr-states-dynamic8(block=256)");
}

TEST(OwnStudy, FormatsOfATrainedModule) {
  manual_seed(1);
  Net net;
  net.eval();
  const auto data = points();
  const Tensor x = data->tensors()[0], y = argmax(net(x), 1), before = net.middle.weight.detach().clone();
  const Study found = formats(net, [&](nn::Module& m) { return eq(argmax(m(x), 1), y).to(f32); },
                              {.metric = "agreement", .larger_is_better = true, .tolerance = 0.01});
  EXPECT_EQ(found.result.format("f32")->metric, 1);
  EXPECT_LT(found.result.format("f8e5m2")->metric, 1);
  EXPECT_GT(found.result.format("f8e5m2")->metric_vs_f32.delta, 0);  // lost
  EXPECT_TRUE(equal(net.middle.weight, before));
  EXPECT_TRUE(net.middle.weight.requires_grad());
  EXPECT_EQ(net.middle.weight.dtype(), f32);
  EXPECT_FALSE(found.result.recommendation.format.empty());
  EXPECT_TRUE(found.folder.empty());
  EXPECT_EQ(found.text().find("step"), std::string::npos) << found.text();
  // A single number is taken as it is.
  const Study one = formats(net, [&](nn::Module& m) { return mean(eq(argmax(m(x), 1), y).to(f32)); },
                            {.formats = {"bf16"}, .metric = "agreement", .larger_is_better = true});
  EXPECT_NEAR(one.result.format("bf16")->metric_vs_f32.delta, 1 - one.result.format("bf16")->metric, 1e-12);
  EXPECT_EQ(one.result.notes.size(), 1u);
  EXPECT_TRUE(std::isnan(one.result.format("bf16")->metric_vs_f32.se));
  const std::string why = one.result.recommendation.why, page = one.html(), tables = one.text();
  EXPECT_EQ(why.find("95 %"), std::string::npos) << why;
  if (one.result.recommendation.format == "bf16") {
    EXPECT_NE(why.find("the error of that is not known"), std::string::npos) << why;
  }
  EXPECT_NE(page.find("error not known"), std::string::npos);
  EXPECT_TRUE(tables.find("yes?") != tables.npos || tables.find("no?") != tables.npos) << tables;
}

TEST(OwnStudy, PredictionsAllocateNothing) {
  const int64_t before = memory_stats().total;
  const Value batch = Value::List{empty({32, 16}, f32, meta), empty({32}, i64, meta)};
  const auto all = predict([](nn::Options o) { return std::make_shared<Net>(o); }, batch, {.loss = losses});
  ASSERT_EQ(all.size(), recipes().size());
  EXPECT_EQ(memory_stats().total, before);
  EXPECT_EQ(all[0].recipe, "f32");
  EXPECT_EQ(*all[0].bytes.parameters.predicted, Net().num_parameters() * 4 + 48);  // the last bias' 16 bytes take 64
  // Products: three layers, forward once and backward twice but for the first one's input.
  const double products = 2.0 * 32 * (16 * 64 * 2 + 64 * 64 * 3 + 64 * 4 * 3);
  EXPECT_GT(all[0].flops_per_step, products);
  EXPECT_LT(all[0].flops_per_step, 1.5 * products);
  EXPECT_TRUE(all[0].fits);
  EXPECT_LT(*all[3].bytes.parameters.predicted, *all[0].bytes.parameters.predicted);
  EXPECT_NE(text(all).find("pure-bf16"), std::string::npos);
}

// A convolution takes no weight of f16 beside its bias in f32: the values are f16's all the same, and so are the bytes.
TEST(OwnStudy, FormatsOfAConvolution) {
  manual_seed(2);
  nn::Conv2d conv(3, 8, 3);
  const Tensor weight = conv.named_parameters()["weight"], plain = weight.detach().clone();
  const Tensor x = randn({4, 3, 6, 6}), before = conv(x).detach();
  double rounded = 0;
  const Study found = formats(conv,
                              [&](nn::Module& m) {
                                rounded = amax(abs(weight.detach() - plain)).item<double>();
                                return amax(abs(m(x) - before), {1, 2, 3});
                              },
                              {.formats = {"f6e2m3fn", "f16"}, .tolerance = 1});
  EXPECT_GT(rounded, 0);
  EXPECT_LT(rounded, 1.0 / 2048);
  EXPECT_EQ(*found.result.format("f16")->bytes, 8 * 3 * 9 * 2 + 8 * 4);
  EXPECT_EQ(found.result.format("f16")->bits_per_weight, 16);
}

// A layer whose weights have an outlier in each row: blocks of few bits lose the rest.
struct Outliers : Net {
  explicit Outliers() {
    NoGrad guard;
    const Tensor spike = zeros({64, 64});
    narrow(spike, 1, 0, 1).fill_(40.0);
    middle.weight.copy_(middle.weight + spike);
  }
  Tensor forward(const Tensor& x) override {
    Tensor h = relu(norm(in(x)));
    return out(relu(middle(h) - narrow(h, 1, 0, 1) * 40.0));
  }
  const char* kind() const override { return "Outliers"; }
};

TEST(OwnStudy, PerLayerNamesTheOutlierAndKeepsItInMoreBits) {
  StudyFolder f;
  Loader l;
  StudyOptions o = small(f / "a");
  o.metric = {};
  o.tolerance = 0.1;
  o.steps = 100;
  o.recipes = {recipe("f32")};
  o.formats = {"bf16", "i4(group=64)"};
  o.per_layer = true;
  const Study found = study([] { return std::make_shared<Outliers>(); }, l.loader, losses, o);
  ASSERT_TRUE(found.result.layers.has_value());
  const Layers& layers = *found.result.layers;
  EXPECT_EQ(layers.format, "i4(group=64)");
  ASSERT_FALSE(layers.modules.empty());
  EXPECT_EQ(layers.modules[0].module, "middle");
  EXPECT_GT(layers.modules[0].alone.delta, 10 * layers.modules[1].alone.delta);
  EXPECT_LT(layers.modules[0].spared.delta, 0);
  ASSERT_TRUE(layers.bytes.has_value()) << found.text();
  EXPECT_TRUE(layers.modules[0].kept);
  EXPECT_FALSE(layers.modules[1].kept);
  EXPECT_LT(*layers.bytes, *found.result.format("bf16")->bytes);
  EXPECT_LE(layers.vs_f32.upper, 0.1 * found.result.recipes[0].val_loss);
  EXPECT_NE(found.text().find("Where i4(group=64) loses"), std::string::npos);
  EXPECT_EQ(report_json(parse_report(found.json())), found.json());
}

TEST(OwnStudy, AShadowTellsWhichModulesRound) {
  StudyFolder f;
  Loader l;
  StudyOptions o = small(f / "a");
  o.recipes = {recipe("bf16"), {.name = "stored", .parameters = bf16}};
  o.shadow = true;
  const Study found = study(make, l.loader, losses, o);
  const StudyResult& s = found.result;
  ASSERT_EQ(s.recipes.size(), 3u);
  for (const RecipeResult& r : s.recipes) {
    EXPECT_EQ(r.sampled_steps.size(), 16u);
    EXPECT_EQ(std::pair(r.sampled_steps.front(), r.sampled_steps.back()), std::pair(int64_t{0}, int64_t{59}));
    EXPECT_EQ(r.turns, 3);  // of 60 steps
    EXPECT_GT(r.step_spread, 0);
    EXPECT_GT(r.step_ms, 0);
    EXPECT_GT(r.sampling, 0);
  }
  const std::vector<ModuleRow> rows = module_rows(s);
  ASSERT_EQ(rows.size(), 5u);  // the model, in, norm, middle, out
  EXPECT_EQ(std::pair(rows[0].depth, rows[0].name), std::pair(0, std::string("the whole model")));
  for (size_t i = 2; i < rows.size(); ++i) EXPECT_GE(rows[i - 1].worst, rows[i].worst);
  int64_t updates = 0, lost = 0, elements = 0;
  for (const ModuleRounding& m : s.recipes[2].modules) updates += m.updates, lost += m.lost_updates, elements += m.elements;
  EXPECT_EQ(rows[0].recipes[2].updates, updates);
  EXPECT_EQ(rows[0].recipes[2].elements, elements);
  // f32 beside f64, and bf16 beside f32: about half a unit of the last of 24 and of 8 bits.
  EXPECT_LT(rows[0].recipes[0].error(), 1e-6);
  for (int k : {1, 2}) {
    EXPECT_GT(rows[0].recipes[size_t(k)].error(), 2e-4);
    EXPECT_LT(rows[0].recipes[size_t(k)].error(), 1e-2);
  }
  EXPECT_LT(rows[0].recipes[0].lost_updates, updates / 1000);
  EXPECT_GT(lost, updates / 10);
  EXPECT_NE(found.text().find("Which modules round"), std::string::npos);
  EXPECT_NE(found.html().find("Which modules round"), std::string::npos);
  EXPECT_EQ(report_json(parse_report(found.json())), found.json());
}

// Products of f8 codes have values of their scales, 10,000 times those of the model: they must not hide what its inputs lose.
TEST(OwnStudy, FewerBitsRoundMoreInTheSameOrderAsTheOutput) {
  const auto wide = [] {
    auto model = std::make_shared<nn::Sequential>();
    model->append(std::make_shared<nn::Linear>(256, 256)), model->append(std::make_shared<nn::ReLU>());
    model->append(std::make_shared<nn::Linear>(256, 8));
    return std::shared_ptr<nn::Module>(model);
  };
  Generator g(3);
  std::vector<Value> batches;
  for (int i = 0; i < 4; ++i) batches.push_back(Value::List{randn({64, 256}, g), randint(0, 8, {64}, g, i64)});
  StudyFolder f;
  const Study found = study(wide, batches, losses,
                            {.evaluation = batches,
                             .steps = 20,
                             .recipes = {recipe("bf16"), {.compute = f16, .scaler = true}, {.compute = f8e4m3fn}},
                             .formats = {"bf16"},
                             .shadow = true,
                             .out = f / "a",
                             .progress = false});
  const auto model = wide();
  const Tensor x = batches[0][0].tensor(), exact = (*model)(x);
  const auto output_error = [&](DType compute) {
    const Autocast low(compute);
    const Tensor off = (*model)(x).to(f32) - exact;
    return std::sqrt((sum(square(off)) / sum(square(exact))).item());
  };
  const double bf16_out = output_error(bf16), f8_out = output_error(f8e4m3fn);
  EXPECT_GT(f8_out, 10 * bf16_out);
  for (const ModuleRow& row : module_rows(found.result)) {
    if (row.path == "1") continue;  // ReLU rounds nothing
    const auto error = [&](int k) { return row.recipes[size_t(k)].error(); };
    EXPECT_GT(error(1), 3 * error(2)) << row.name;  // bf16 and f16: 8 and 11 bits
    EXPECT_GT(error(3), 3 * error(1)) << row.name;  // f8e4m3fn: 4
    EXPECT_GT(error(3), f8_out / 10) << row.name;
    EXPECT_LT(error(3), f8_out * 3) << row.name;
  }
}

TEST(OwnStudy, ALossThatIsNotFiniteNamesItsOrigin) {
  StudyFolder f;
  Loader l;
  StudyOptions o = small(f / "a");
  o.recipes = {{.compute = f16}, recipe("bf16")};
  // The square of what is above 256 is none of f16's numbers.
  const Loss large = [](nn::Module& m, const Value& b) {
    const Tensor h = matmul(m(b[0]) * 0 + 300.0, full({4, 4}, 300.0));
    return losses(m, b) + sum(h, {-1}) * 0;
  };
  const Study found = study(make, l.loader, large, o);
  const RecipeResult* r = found.result.recipe("f16");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, Status::stopped);
  ASSERT_TRUE(r->nan.has_value());
  EXPECT_EQ(r->nan->op, "matmul");
  // Of its first step alone: no figure of training.
  EXPECT_FALSE(r->bytes.peak.measured || r->resident_peak);
  EXPECT_TRUE(std::isnan(r->step_ms));
  EXPECT_EQ(found.result.recipe("bf16")->status, Status::done);
}

}  // namespace
}  // namespace dyadic::inline v1::study
