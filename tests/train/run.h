// A small training run with everything in it that a checkpoint must bring back: dropout and batch normalization, AdamW, a
// scaler that grows, a schedule, data shuffled and loaded by workers.
#pragma once
#include "base/sha256.h"
#include "dyadic/autograd.h"
#include "dyadic/nn_layers.h"
#include "dyadic/train.h"
#include "tests/io/helpers.h"

namespace dyadic::testing {

struct Net : nn::Module {
  nn::Linear up, down;
  nn::Layer norm;
  nn::Dropout drop;
  explicit Net(int64_t width = 24, int64_t classes = 4)
      : up(12, width), down(width, classes), norm("BatchNorm1d", width), drop(0.2) {
    add("up", up), add("norm", norm), add("drop", drop), add("down", down);
  }
  Tensor forward(const Tensor& x) override { return down(drop(relu(norm(up(x))))); }
};

struct SmallRun {
  Net net;
  optim::AdamW adamw{net.named_parameters(), {.lr = 5e-3}};
  optim::GradScaler scaler{1024};
  optim::LRScheduler schedule{"CosineAnnealingLR", adamw, {{"T_max", 500}}};
  std::shared_ptr<Generator> noise = std::make_shared<Generator>(11);
  std::unique_ptr<data::DataLoader> loader;
  double mean_loss = 0;
  int64_t step = 0;

  explicit SmallRun(int workers) {
    scaler.growth_interval = 7;
    Generator fixed(5);
    GeneratorScope scope(fixed);
    Tensor x = randn({90, 12}), y = randint(0, 4, {90});
    loader =
        std::make_unique<data::DataLoader>(std::make_shared<data::TensorDataset>(std::vector{x, y}),
                                           data::DataLoaderOptions{.batch_size = 16, .shuffle = true, .num_workers = workers});
  }
  void add_to(train::Checkpoint& c) {
    c.add("model", net).add("optimizer", adamw).add("scaler", scaler).add("schedule", schedule);
    c.add("data", *loader).add("noise", *noise).add("mean_loss", mean_loss);
    c.config(R"({"lr": 0.005, "data": {"batch": 16}})");
  }
  // Until `steps` are done; after each one, done(step, loss) says whether to go on.
  template <class F> void train(int64_t steps, F&& done) {
    while (step < steps)
      for (const data::Value& batch : *loader) {
        if (!one(batch, done) || step == steps) return;
      }
  }
  std::string weights() const {
    Sha256 sum;
    for (auto& [name, t] : net.state_dict()) sum.update(name + content(t));
    return sum.hex();
  }

 private:
  template <class F> bool one(const data::Value& batch, F& done) {
    Tensor x = batch[0];
    {
      GeneratorScope scope(*noise);
      x = x + randn({x.size(0), x.size(1)}) * 0.1;
    }
    adamw.zero_grad();
    Tensor loss = cross_entropy(net(x), batch[1]);
    scaler.scale(loss).backward();
    scaler.step(adamw);
    scaler.update();
    schedule.step();
    ++step;
    mean_loss += (loss.item() - mean_loss) / double(step);
    return done(step, loss.item());
  }
};

}  // namespace dyadic::testing
