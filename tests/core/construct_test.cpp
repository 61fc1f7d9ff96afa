// Modules made in a dtype: nothing exists in another one first. Stacks of transformer layers. Computed parameters.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"
#include "dyadic/nn_layers.h"

namespace dyadic {
namespace {

using Arguments = std::vector<Arg>;
Arg n(int64_t v) { return Arg(v); }

TEST(Construct, NoOtherCopyEverExists) {
  const int64_t kernel[] = {3, 3};
  const std::pair<const char*, Arguments> cases[] = {
      {"Bilinear", {n(64), n(64), n(64)}},    {"Conv2d", {n(128), n(256), Arg(IntList(kernel))}},
      {"LSTM", {n(256), n(256), n(2)}},       {"GRU", {n(256), n(256)}},
      {"MultiheadAttention", {n(512), n(4)}}, {"TransformerEncoderLayer", {n(256), n(4), n(1024)}},
  };
  for (DType dtype : {bf16, f16, f64}) {
    for (Device device : {cpu, meta}) {
      for (auto& [name, arguments] : cases) {
        reset_peak_memory_stats(device);
        const int64_t before = memory_allocated(device);
        const nn::Layer layer(nn::layer_def(name), arguments, {dtype, device});
        const int64_t live = memory_allocated(device) - before, peak = max_memory_allocated(device) - before;
        EXPECT_EQ(peak, live) << name << " " << dtype.name() << " on " << device.name();
        EXPECT_GE(live, layer.nbytes());
        for (auto& [key, p] : layer.named_parameters()) EXPECT_EQ(p.dtype().name(), dtype.name()) << name << "." << key;
      }
      reset_peak_memory_stats(device);
      const int64_t before = memory_allocated(device);
      const nn::Linear linear(1024, 1024, true, {dtype, device});
      const nn::Embedding embedding(1024, 256, nn::Options{dtype, device});
      EXPECT_EQ(max_memory_allocated(device), memory_allocated(device));
      EXPECT_EQ(memory_allocated(device) - before, linear.nbytes() + embedding.nbytes());
    }
  }
}

TEST(TransformerStack, RunsItsLayersInOrder) {
  std::vector<std::shared_ptr<nn::Layer>> encoders, decoders;
  for (int i = 0; i < 2; ++i) {
    encoders.push_back(std::make_shared<nn::Layer>("TransformerEncoderLayer", 8, 2, 16, 0.0));
    decoders.push_back(std::make_shared<nn::Layer>("TransformerDecoderLayer", 8, 2, 16, 0.0));
  }
  const int64_t size[] = {8};
  auto norm = std::make_shared<nn::LayerNorm>(IntList(size));
  nn::TransformerEncoder encoder(encoders, norm);
  nn::TransformerDecoder decoder(decoders);
  const Tensor src = randn({5, 3, 8}), tgt = randn({4, 3, 8});
  const Tensor memory = encoder(src);
  EXPECT_EQ(memory.to_vector(), (*norm)(encoders[1]->call(encoders[0]->call(src)[0])[0]).to_vector());
  const Tensor mask = triu(full({4, 4}, -INFINITY, f32), 1);
  const Tensor out = decoder(tgt, memory, mask), first = decoder(narrow(tgt, 0, 0, 1), memory);
  EXPECT_LT(amax(abs(sub(narrow(out, 0, 0, 1), first))).item(), 1e-5);  // causal
  EXPECT_EQ(encoder.named_parameters()[0].first, "layers.0.self_attn.in_proj_weight");
  EXPECT_EQ(encoder.named_parameters().back().first, "norm.bias");
}

TEST(ComputedParameter, IsReadButNotTrained) {
  nn::Linear m(2, 2, false);
  Tensor& slot = m.begin_computed("weight");
  EXPECT_TRUE(m.named_parameters().empty());
  EXPECT_TRUE(m.state_dict().empty());
  slot = full({2, 2}, 3.0, f32);
  EXPECT_EQ(m(ones({1, 2})).to_vector(), (std::vector<double>{6, 6}));
  EXPECT_THROW(m.begin_computed("weight"), ValueError);
  m.end_computed("weight", ones({2, 2}).requires_grad_());
  EXPECT_EQ(m.named_parameters().size(), 1u);
  EXPECT_EQ(m(ones({1, 2})).to_vector(), (std::vector<double>{2, 2}));
}

}  // namespace
}  // namespace dyadic
