// Channels and heads taken out of language models.
#include "dyadic/narrow.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/models/apart.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using models::Model;

Tensor some_ids(uint64_t seed, int64_t rows = 8) {
  manual_seed(seed);
  return randint(0, 700, {rows, 48});
}
Model small() { return models::load(small_model(), {.dtype = f32}); }

// What is zero already costs nothing to take out: the smaller model computes the same.
TEST(Narrow, TakesOutWhatDoesNothing) {
  const NoGrad guard;
  const Model m = small();
  auto parameters = m->named_parameters();
  for (int layer = 0; layer < 2; ++layer) {
    const std::string path = "model.layers." + std::to_string(layer);
    narrow(parameters[path + ".mlp.down_proj.weight"], 1, 20, 32).zero_();
    narrow(parameters[path + ".self_attn.o_proj.weight"], 1, layer * 32, 32).zero_();  // a head of keys, two of queries
  }
  const Tensor ids = some_ids(1), before = m(ids);
  const Model made = prune::narrowed(*m, {.channels = 0.34, .heads = 0.5});
  EXPECT_LT(apart(made(ids), before), 1e-5);
  EXPECT_TRUE(equal(m(ids), before));
  EXPECT_EQ(made->named_parameters()["model.layers.1.mlp.gate_proj.weight"].size(0), 64);
  EXPECT_EQ(made->named_parameters()["model.layers.1.self_attn.q_proj.weight"].size(0), 32);
  EXPECT_LT(made->nbytes(), m->nbytes());
  const std::string folder = ::testing::TempDir() + "narrow";
  std::filesystem::remove_all(folder);
  made->save_pretrained(folder);
  EXPECT_TRUE(equal(models::load(folder)(ids), made(ids)));
}

// What a module of the model gives.
Tensor output_of(models::CausalLM& m, const std::string& name, const Tensor& ids) {
  struct Keep : nn::Hook {
    Tensor result;
    void after(nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& results) override { result = results[0]; }
  };
  const auto keep = std::make_shared<Keep>();
  for (auto& [path, module] : m.named_modules())
    if (path == name) module->add_hook(keep);
  m(ids);
  return keep->result;
}

// With data a layer errs less than by the weights alone, on ids that it has not seen.
TEST(Narrow, DataHelps) {
  const NoGrad guard;
  const Model m = small();
  quant::Batches data({some_ids(2, 64)});
  const Tensor ids = some_ids(3);
  const auto error = [&](const std::string& name, const prune::NarrowOptions& o) {
    const Tensor before = output_of(*m, name, ids), after = output_of(*prune::narrowed(*m, o), name, ids);
    return (sum(square(after - before)) / sum(square(before))).item();
  };
  const std::string down = "model.layers.0.mlp.down_proj", out = "model.layers.0.self_attn.o_proj";
  const double channels = error(down, {.channels = 0.34, .calibration = &data}),
               heads = error(out, {.heads = 0.5, .calibration = &data});
  EXPECT_LT(channels, 0.8 * error(down, {.channels = 0.34}));
  EXPECT_LT(heads, error(out, {.heads = 0.5}));  // heads of an untrained model hardly depend on each other
}

TEST(Narrow, Refuses) {
  const auto words = [](models::CausalLM& m, const prune::NarrowOptions& o) -> std::string {
    try {
      prune::narrowed(m, o);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  const Model m = small(), gpt = models::load(model_data("gpt2"));
  EXPECT_NE(words(*m, {}).find("nothing would go"), std::string::npos);
  EXPECT_NE(words(*m, {.channels = 1}).find("not in [0, 1)"), std::string::npos);
  EXPECT_NE(words(*gpt, {.channels = 0.5}).find("models like llama have"), std::string::npos);
  m->to(DType::parse("q8_0"));
  EXPECT_NE(words(*m, {.channels = 0.5}).find("narrow first and quantize then"), std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
