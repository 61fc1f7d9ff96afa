// A dry run on meta predicts the bytes of training, category by category, for every optimizer and format of its states.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"
#include "dyadic/gpt.h"

namespace dyadic::test {
namespace {

// Steps of a model: the loss of one, on the device.
struct Training {
  const char* name;
  std::shared_ptr<nn::Module> (*make)(Device);
  Tensor (*loss)(nn::Module&, Device);
};
Tensor inputs(IntList sizes, Device d) { return randn(sizes, f32, d); }

// Weights of more and of fewer than 4,096 elements, below which small states stay f32.
const Training kTrainings[] = {
    {"layers",
     [](Device d) -> std::shared_ptr<nn::Module> {
       const nn::Options o{f32, d};
       return std::shared_ptr<nn::Module>(
           new nn::Sequential({std::make_shared<nn::Linear>(70, 97, true, o), std::make_shared<nn::GELU>(),
                               std::make_shared<nn::Linear>(97, 13, true, o)}));
     },
     [](nn::Module& m, Device d) { return m(inputs({5, 70}, d)).square().mean(); }},
    {"convolutions",
     [](Device d) -> std::shared_ptr<nn::Module> {
       return std::shared_ptr<nn::Module>(
           new nn::Sequential({std::make_shared<nn::Conv2d>(3, 48, 3, nn::Conv2dOptions{.dtype = f32, .device = d}),
                               std::make_shared<nn::BatchNorm2d>(48, nn::BatchNorm2dOptions{.dtype = f32, .device = d}),
                               std::make_shared<nn::ReLU>(),
                               std::make_shared<nn::Conv2d>(48, 16, 3, nn::Conv2dOptions{.dtype = f32, .device = d})}));
     },
     [](nn::Module& m, Device d) { return m(inputs({2, 3, 9, 9}, d)).square().mean(); }},
    {"numbers",  // of calls, saved for backward: they lie on the host in a dry run too
     [](Device d) -> std::shared_ptr<nn::Module> { return std::make_shared<nn::Linear>(70, 97, true, nn::Options{f32, d}); },
     [](nn::Module& m, Device d) { return (dropout(m(inputs({5, 70}, d)) * 0.5, 0.1) * 3).square().mean(); }},
    {"gpt",
     [](Device d) -> std::shared_ptr<nn::Module> {
       return std::make_shared<models::Gpt>(models::GptConfig{.vocab = 70, .block = 16, .layers = 1, .heads = 2, .width = 64},
                                            nn::Options{f32, d});
     },
     [](nn::Module& m, Device d) {
       const Tensor x = randint(0, 70, {2, 16}, i64, d);
       return dynamic_cast<models::Gpt&>(m).loss(x, x);
     }},
};

MemoryStats train(const Training& t, const std::string& optimizer, DType state, Device d) {
  manual_seed(3);
  const MemoryStats before = memory_stats(d);
  reset_peak_memory_stats(d);
  {
    auto model = t.make(d);
    nn::NamedTensors trained = model->named_parameters();
    if (optimizer == "Muon") std::erase_if(trained, [](auto& p) { return p.second.dim() != 2; });  // it takes matrices
    optim::Optimizer o(optimizer, trained, {{"lr", 1e-3}, {"state", state}});
    for (int step = 0; step < 3; ++step) {
      o.zero_grad();
      t.loss(*model, d).backward();
      o.step();
    }
  }
  MemoryStats used = memory_stats(d);
  for (size_t c = 0; c < size_t(kCategories); ++c) used.peak[c] -= before.live[c], used.live[c] -= before.live[c];
  used.total_peak -= before.total;
  used.total -= before.total;
  return used;
}

TEST(Predicted, EqualsMeasuredToTheByte) {
  int trained = 0;
  for (const Training& t : kTrainings)
    for (const optim::OptimizerDef* def : optim::optimizer_defs()) {
      if (!def->step) continue;  // LBFGS steps by the values it meets
      for (DType state : {f32, bf16, dynamic8}) {
        if (def->name() == "Adafactor" && state != f32) continue;                      // which refuses it
        if (def->name() == "Muon" && t.name == std::string("convolutions")) continue;  // which have no matrix
        const MemoryStats predicted = train(t, def->name(), state, meta), measured = train(t, def->name(), state, cpu);
        EXPECT_GT(measured.total_peak, 0);
        EXPECT_EQ(predicted.total_peak, measured.total_peak) << t.name << " " << def->name() << " " << state.name();
        for (size_t c = 0; c < size_t(kCategories); ++c)
          EXPECT_EQ(predicted.peak[c], measured.peak[c])
              << t.name << " " << def->name() << " " << state.name() << ", " << category_name(Category(c));
        EXPECT_EQ(measured.total, 0);
        ++trained;
      }
    }
  EXPECT_GT(trained, 100);
}

}  // namespace
}  // namespace dyadic::test
