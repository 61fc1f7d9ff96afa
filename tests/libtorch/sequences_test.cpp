// Programs as people write them for libtorch: sequences, functions with their own gradient, agents.
#include <gtest/gtest.h>

#include <deque>

#include "dyadic/torch.h"

namespace {

struct AttentionImpl : torch::nn::Module {
  torch::nn::Linear qkv{nullptr}, proj{nullptr};
  torch::nn::Dropout drop{nullptr};
  int64_t heads;
  AttentionImpl(int64_t width, int64_t heads, double p) : heads(heads) {
    qkv = register_module("qkv", torch::nn::Linear(width, 3 * width));
    proj = register_module("proj", torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(false)));
    drop = register_module("drop", torch::nn::Dropout(p));
  }
  torch::Tensor forward(torch::Tensor x) {
    const int64_t b = x.size(0), t = x.size(1), w = x.size(2);
    auto parts = qkv(x).chunk(3, 2);
    for (auto& p : parts) p = p.view({b, t, heads, w / heads}).transpose(1, 2);
    auto scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(double(w / heads));
    auto mask = torch::triu(torch::ones({t, t}, x.options()), 1).to(torch::kBool);
    scores = torch::softmax(scores.masked_fill(mask, -std::numeric_limits<float>::infinity()), -1);
    return proj(torch::matmul(drop(scores), parts[2]).transpose(1, 2).contiguous().view({b, t, w}));
  }
};
TORCH_MODULE(Attention);
struct BlockImpl : torch::nn::Module {
  Attention attention{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Sequential mlp{nullptr};
  explicit BlockImpl(int64_t width) {
    attention = register_module("attention", Attention(width, 2, 0.0));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    mlp = register_module("mlp", torch::nn::Sequential(torch::nn::Linear(width, 2 * width), torch::nn::GELU(),
                                                       torch::nn::Linear(2 * width, width)));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = x + attention(norm(x));
    return x + mlp->forward(x);
  }
};
TORCH_MODULE(Block);
struct ModelImpl : torch::nn::Module {
  torch::nn::Embedding token{nullptr};
  torch::nn::Sequential blocks;
  torch::nn::Linear head{nullptr};
  ModelImpl(int64_t vocabulary, int64_t width) {
    token = register_module("token", torch::nn::Embedding(vocabulary, width));
    for (int i = 0; i < 2; ++i) blocks->push_back(Block(width));
    register_module("blocks", blocks);
    head = register_module("head", torch::nn::Linear(width, vocabulary));
  }
  torch::Tensor forward(torch::Tensor ids) { return head(blocks->forward(token(ids))); }
};
TORCH_MODULE(Model);

TEST(LibtorchSequences, ATransformerOfHolders) {
  torch::manual_seed(1);
  Model model(11, 16);
  Model same = model;  // the same module
  EXPECT_EQ(same->head->weight.data_ptr(), model->head->weight.data_ptr());
  EXPECT_EQ(model->named_parameters()[1].key(), "blocks.0.attention.qkv.weight");
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-2));
  auto x = torch::arange(11, torch::kLong).unsqueeze(0), y = x.roll(-1, 1);
  double first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    auto loss = torch::nn::functional::cross_entropy(model->forward(x).view({-1, 11}), y.reshape({-1}));
    optimizer.zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    (i ? last : first) = loss.item<double>();
  }
  EXPECT_LT(last, first / 4);
}

class Lltm : public torch::autograd::Function<Lltm> {
 public:
  static torch::autograd::tensor_list forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, torch::Tensor weight,
                                              double scale, torch::Tensor bias = torch::Tensor()) {
    auto y = x.mm(weight.t()) * scale;
    if (bias.defined()) y = y + bias;
    ctx->save_for_backward({x, weight, bias});
    ctx->saved_data["scale"] = scale;
    return {y, torch::sigmoid(y)};
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::tensor_list grads) {
    auto saved = ctx->get_saved_variables();
    auto g = grads[0] * ctx->saved_data["scale"].toDouble() + grads[1];  // zeros where an output is not used
    return {g.mm(saved[1]), g.t().mm(saved[0]), torch::Tensor(), saved[2].defined() ? grads[0].sum(0) : torch::Tensor()};
  }
};

TEST(LibtorchSequences, AFunctionWithItsOwnGradient) {
  auto x = torch::ones({2, 3}), w = torch::ones({4, 3}, torch::requires_grad());
  auto b = torch::zeros(4, torch::dtype(torch::kFloat).requires_grad(true));
  auto y = Lltm::apply(x, w, 2.0, b);
  ASSERT_EQ(y.size(), 2u);
  y[0].sum().backward();
  EXPECT_EQ(w.grad()[0][0].item<float>(), 4);
  EXPECT_EQ(b.grad()[0].item<float>(), 2);
  w.mutable_data_ptr<float>()[0] = 3;
  auto z = Lltm::apply(x, w, 1.0);  // bias left out
  auto g = torch::autograd::grad({z[0].sum()}, {w}, {}, /*retain_graph=*/true, /*create_graph=*/false)[0];
  EXPECT_TRUE(torch::allclose(g, torch::full({4, 3}, 2.0)));
}

// The largest of each row and where it is; or writes into its input.
struct Largest : torch::autograd::Function<Largest> {
  static torch::autograd::tensor_list forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, bool in_place) {
    if (in_place) ctx->mark_dirty({x});
    auto values = torch::amax(x, {1}), steps = torch::round(x);
    ctx->mark_non_differentiable({steps});
    ctx->save_for_backward({x});
    return {values, steps};
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::tensor_list grads) {
    EXPECT_EQ(torch::sum(torch::abs(grads[1])).item<float>(), 0);  // zeros in its shape
    return {torch::ones_like(ctx->get_saved_variables()[0]) * grads[0].unsqueeze(1), torch::Tensor()};
  }
};

TEST(LibtorchSequences, OutputsWithoutGradientsAndInputsWrittenInPlace) {
  auto x = torch::ones({2, 3}, torch::requires_grad());
  auto y = Largest::apply(x, false);
  EXPECT_TRUE(y[0].requires_grad() && !y[1].requires_grad());
  y[0].sum().backward();
  EXPECT_EQ(x.grad().sum().item<float>(), 6);
  EXPECT_THROW(Largest::apply(x, true), dyadic::Error);  // its old history would go on, unseen
  EXPECT_NO_THROW(Largest::apply(torch::ones({2, 3}), true));
  EXPECT_THROW(torch::gelu(x, "tangent"), dyadic::Error);
}

TEST(LibtorchSequences, RecurrentLayersGiveTuples) {
  torch::manual_seed(4);
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(4, 8).num_layers(2).batch_first(true).bidirectional(true));
  auto x = torch::randn({3, 5, 4});
  auto [output, state] = lstm->forward(x);
  EXPECT_EQ(output.sizes(), torch::IntArrayRef({3, 5, 16}));
  torch::Tensor again, h, c;
  std::tie(again, state) = lstm->forward(x, state);
  std::tie(h, c) = state;
  EXPECT_EQ(c.sizes(), torch::IntArrayRef({4, 3, 8}));
  torch::nn::GRU gru(4, 6);
  EXPECT_EQ(std::get<1>(gru->forward(x)).sizes(), torch::IntArrayRef({1, 5, 6}));
  torch::nn::LSTMCell cell(4, 6);
  std::tie(h, c) = cell->forward(x[0]);
  std::tie(h, c) = cell->forward(x[0], std::make_tuple(h, c));
  EXPECT_EQ(h.size(1), 6);
  torch::nn::MultiheadAttention attention(torch::nn::MultiheadAttentionOptions(4, 2));
  auto [mixed, weights] = attention(x, x, x);
  EXPECT_EQ(weights.sizes(), torch::IntArrayRef({5, 3, 3}));
}

struct Agent : torch::nn::Module {
  Agent(int64_t states, int64_t actions)
      : hidden(register_module("hidden", torch::nn::Linear(states, 16))),
        output(register_module("output", torch::nn::Linear(16, actions))) {
    temperature = register_parameter("temperature", torch::ones(1));
  }
  torch::Tensor forward(torch::Tensor x) { return output(torch::relu(hidden(x))) * temperature; }
  torch::Tensor act(torch::Tensor state) { return std::get<1>(forward(state).max(1)); }
  torch::nn::Linear hidden, output;
  torch::Tensor temperature;
};

TEST(LibtorchSequences, AnAgentAndItsTarget) {
  torch::manual_seed(5);
  auto agent = std::make_shared<Agent>(4, 2), target = std::make_shared<Agent>(4, 2);
  {
    torch::NoGradGuard no_grad;
    auto theirs = target->named_parameters();
    for (auto& p : agent->named_parameters()) theirs[p.key()].copy_(p.value());
  }
  EXPECT_TRUE(torch::equal(agent->hidden->weight, target->hidden->weight));
  EXPECT_TRUE(agent->temperature.requires_grad());
  auto optimizer = std::make_unique<torch::optim::Adam>(agent->parameters(), 1e-2);
  std::deque<std::tuple<torch::Tensor, torch::Tensor>> memory;
  for (int i = 0; i < 16; ++i) memory.emplace_back(torch::rand({1, 4}), torch::randint(0, 2, {1}, torch::kLong));
  std::vector<torch::Tensor> states, actions;
  for (auto& [s, a] : memory) states.push_back(s), actions.push_back(a);
  auto s = torch::cat(states), a = torch::cat(actions);
  double first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    auto q = agent->forward(s).gather(1, a.unsqueeze(1)).squeeze(1);
    auto goal = 1 + 0.5 * std::get<0>(target->forward(s).max(1)).detach();
    auto loss = torch::mse_loss(q, goal);
    optimizer->zero_grad();
    loss.backward();
    for (auto& p : agent->parameters()) p.grad().clamp_(-1, 1);
    optimizer->step();
    (i ? last : first) = loss.item<double>();
  }
  EXPECT_LT(last, first / 2);
  EXPECT_EQ(agent->act(s).dtype(), torch::kLong);
}

TEST(LibtorchSequences, ClosuresChecksAndKernels) {
  auto w = torch::tensor({-1.5, 2.0}, torch::dtype(torch::kFloat64).requires_grad(true));
  torch::optim::LBFGS lbfgs({w}, torch::optim::LBFGSOptions(0.5).max_iter(10).history_size(5));
  torch::Tensor loss;
  for (int i = 0; i < 10; ++i)
    loss = lbfgs.step([&] {
      lbfgs.zero_grad();
      auto l = (w * w).sum();
      l.backward();
      return l;
    });
  EXPECT_LT(loss.item<double>(), 1e-6);
  lbfgs.zero_grad();
  try {
    TORCH_CHECK(w.dim() == 2, "expected a matrix, got ", w.dim(), " dimensions");
    FAIL();
  } catch (const c10::Error& e) { EXPECT_STREQ(e.what_without_backtrace(), "expected a matrix, got 1 dimensions"); }
  auto x = torch::empty({3});
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "fill", [&] {
    auto a = x.accessor<scalar_t, 1>();
    for (int64_t i = 0; i < a.size(0); ++i) a[i] = scalar_t(2 * i);
  });
  EXPECT_EQ(x.sum().item<float>(), 6);
  EXPECT_THROW(x.data_ptr<double>(), c10::TypeError);
  EXPECT_THROW(torch::optim::SGD({w * 2}, 0.1), c10::Error);
  EXPECT_EQ(torch::tensor(std::vector<uint8_t>{250}).dtype(), torch::kByte);
  EXPECT_EQ(torch::bucketize(torch::tensor({1.0}), torch::tensor({1.0, 2.0}), /*out_int32=*/true).dtype(), torch::kInt);
  auto row = (w * 2).unsqueeze_(0);
  row.sum().backward();
  EXPECT_EQ(w.grad()[0].item<double>(), 2);
  torch::Tensor& same = x.mul_(2);
  EXPECT_TRUE(same.is_same(x));
}

TEST(LibtorchSequences, AChildThatEndsFirstIsForgotten) {
  torch::nn::Module parent;
  {
    dyadic::nn::Linear child(2, 2);
    parent.add("child", child);
    EXPECT_EQ(parent.parameters().size(), 2u);
  }
  EXPECT_TRUE(parent.parameters().empty());
}

}  // namespace
