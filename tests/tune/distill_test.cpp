// Distillation: the losses' formulas, the teacher's logits from a file, a student that learns more from a teacher than alone.
#include "dyadic/distill.h"

#include <gtest/gtest.h>

#include "tests/models/apart.h"
#include "tests/tune/small_world.h"

namespace dyadic::testing {
namespace {

using namespace tune;

double kl(const std::vector<double>& t, const std::vector<double>& s) {
  double zt = 0, zs = 0, sum = 0;
  for (size_t i = 0; i < t.size(); ++i) zt += std::exp(t[i]), zs += std::exp(s[i]);
  for (size_t i = 0; i < t.size(); ++i) sum += std::exp(t[i]) / zt * (t[i] - std::log(zt) - s[i] + std::log(zs));
  return sum;
}
double at(const Tensor& t, std::initializer_list<int64_t> place) {
  Tensor one = t;
  for (const int64_t i : place) one = select(one, 0, i);
  return one.item();
}

TEST(Distill, LossesAreTheirFormulas) {
  manual_seed(1);
  const Tensor s = randn({5, 7}, f64), t = randn({5, 7}, f64);
  double soft = 0, hidden = 0;
  for (int64_t i = 0; i < 5; ++i) {
    std::vector<double> a, b;
    double apart = 0, size = 0;
    for (int64_t j = 0; j < 7; ++j) {
      a.push_back(at(s, {i, j}) / 3), b.push_back(at(t, {i, j}) / 3);
      apart += std::pow(at(s, {i, j}) - at(t, {i, j}), 2), size += std::pow(at(t, {i, j}), 2);
    }
    soft += 9 * kl(b, a) / 5, hidden += apart / size / 5;
  }
  EXPECT_NEAR(distillation_loss(s, t, 3).item(), soft, 1e-12);
  EXPECT_NEAR(hidden_loss(s, t).item(), hidden, 1e-12);
  EXPECT_NEAR(distillation_loss(t, t).item(), 0, 1e-15);

  // Relations of 2 heads, 3 and 2 numbers wide, of tokens that see those before them.
  const Tensor q = randn({1, 4, 6}, f64), p = randn({1, 4, 4}, f64);
  const Tensor mask = tril(ones({4, 4}, f64)).to(boolean);
  double relations = 0;
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < 4; ++i) {
      const auto scores = [&](const Tensor& x, int64_t d) {
        std::vector<double> all;
        for (int64_t j = 0; j <= i; ++j) {
          double sum = 0;
          for (int64_t k = h * d; k < (h + 1) * d; ++k) sum += at(x, {0, i, k}) * at(x, {0, j, k});
          all.push_back(sum / std::sqrt(double(d)));
        }
        return all;
      };
      relations += kl(scores(p, 2), scores(q, 3)) / 8;
    }
  EXPECT_NEAR(relation_loss(q, p, 2, mask).item(), relations, 1e-12);
  EXPECT_THROW(hidden_loss(q, p), ValueError);
  EXPECT_THROW(relation_loss(q, p, 5), ValueError);
  EXPECT_THROW(distillation_loss(s, t.t()), ValueError);
}

// Knows the world of sentences() well.
models::Model teacher() {
  static const std::string path = [] {
    std::string folder = new_folder("teacher");
    const models::Model m = models::load(trained_model(), {.dtype = f32});
    finetune(*m, tokenizer(), sentences(3000, 1), {.context = 64, .batch = 8, .lr = 5e-3, .out = folder});
    return folder;
  }();
  return models::load(path);
}
// Untrained, half as wide.
models::Model student(uint64_t seed) {
  json config = small_llama_config();
  config["hidden_size"] = 32, config["intermediate_size"] = 48, config["num_hidden_layers"] = 1;
  auto m = models::make(config.dump(), {f32, cpu});
  const NoGrad guard;
  manual_seed(seed);
  for (auto& [name, p] : m->named_parameters()) p.detach().copy_(p.dim() < 2 ? ones(p.sizes()) : randn(p.sizes()) * 0.1);
  return m;
}
FinetuneOptions few_samples(uint64_t seed) {
  FinetuneOptions o{.context = 64, .steps = 100, .batch = 4, .lr = 1e-2};
  o.eval = sentences(200, 99), o.seed = seed;
  return o;
}

// Of few samples a teacher in 4 bits tells more than they do: every seed's student predicts others better than alone; from the
// 32 likeliest tokens in a file as well.
TEST(Distill, StudentsLearnMoreThanAlone) {
  if (kSanitized) GTEST_SKIP() << "what is learned is the same, and takes two minutes";
  const models::Model large = teacher();
  large->to(DType::parse("i4(group=32)"));
  for (const uint64_t seed : {1, 2, 3}) {
    const Data few = sentences(60, 10 + seed);
    const models::Model alone = student(seed), taught = student(seed);
    DistillOptions o{.share = 0.9};
    if (seed == 3) o.cache = new_folder("short.safetensors"), o.top_k = 32;
    const double by_itself = *finetune(*alone, tokenizer(), few, few_samples(seed)).eval_loss;
    const FinetuneReport by_teacher = distill(*taught, &*large, tokenizer(), few, o, few_samples(seed));
    EXPECT_LT(*by_teacher.eval_loss, 0.95 * by_itself) << seed;
    if (seed == 3) { EXPECT_LT(std::filesystem::file_size(o.cache), size_t(by_teacher.learned * 32 * 6 + 1024)); }
  }
}

TEST(Distill, LogitsFromAFileAreTheTeachers) {
  const models::Model large = teacher();
  const Data few = sentences(40, 5);
  FinetuneOptions run = few_samples(1);
  run.steps = 3;
  DistillOptions o{.cache = new_folder("logits.safetensors"), .top_k = 704};
  EXPECT_TRUE(cache_logits(*large, tokenizer(), few, o, run));
  EXPECT_FALSE(cache_logits(*large, tokenizer(), few, o, run));
  const models::Model live = student(1), cached = student(1);
  const double loss = distill(*live, &*large, tokenizer(), few, {}, run).train_loss;
  EXPECT_NEAR(distill(*cached, nullptr, tokenizer(), few, o, run).train_loss, loss, 2e-3 * loss);
  run.context = 32;
  EXPECT_THROW(distill(*cached, nullptr, tokenizer(), few, o, run), ValueError);  // other rows
}

TEST(Distill, FeaturesComeNearer) {
  const models::Model large = teacher();
  const Data few = sentences(40, 5);
  FinetuneOptions run = few_samples(1);
  run.steps = 20;
  std::vector<double> apart;
  for (const double weight : {0.0, 5.0}) {
    const models::Model m = student(2);
    const DistillOptions o{.relations = {{"model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj"}},
                           .relation_weight = weight,
                           .heads = 4};
    distill(*m, &*large, tokenizer(), few, o, run);
    const NoGrad guard;
    struct Keep : nn::Hook {
      Tensor result;
      void after(nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& results) override { result = results[0]; }
    };
    const auto caught = [](models::CausalLM& model, const std::string& name, const Tensor& ids) {
      const auto keep = std::make_shared<Keep>();
      for (auto& [path, module] : model.named_modules())
        if (path == name) module->add_hook(keep);
      model(ids);
      return keep->result;
    };
    const Tensor ids = tensor(tokenizer().encode("Ada sings in Rome.")).reshape({1, -1});
    apart.push_back(relation_loss(caught(*m, "model.layers.0.self_attn.q_proj", ids),
                                  caught(*large, "model.layers.1.self_attn.q_proj", ids), 4)
                        .item());
  }
  EXPECT_LT(apart[1], 0.7 * apart[0]);
}

TEST(Distill, Refuses) {
  const models::Model large = teacher();
  const Data few = sentences(8, 5);
  FinetuneOptions run = few_samples(1);
  run.steps = 1;
  const auto words = [&](const DistillOptions& o, models::CausalLM* from) -> std::string {
    try {
      distill(*student(1), from, tokenizer(), few, o, run);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_NE(words({}, nullptr).find("a teacher is needed"), std::string::npos);
  EXPECT_NE(words({.temperature = 0}, &*large).find("temperature is 0"), std::string::npos);
  EXPECT_NE(words({.hidden = {{"model.norm", "model.nrm"}}}, &*large).find("has no module model.nrm"), std::string::npos);
  EXPECT_NE(words({.hidden = {{"model.norm", "model.norm"}}}, &*large).find("relations compare across widths"),
            std::string::npos);
  const models::Model other = models::load(model_data("llama"), {.dtype = f32});
  EXPECT_NE(words({}, &*other).find("the teacher has a vocabulary of 64, and the student one of 704"), std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
