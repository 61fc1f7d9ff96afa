// dyadic bench train: steps of GPTs and of a convolutional network as a run takes them, batches from a loader with workers; how
// long a step waits for its batch.
#include <algorithm>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "base/clock.h"
#include "cli/bench_gpt.h"
#include "dyadic/amp.h"
#include "dyadic/data.h"
#include "dyadic/nn_layers.h"

namespace dyadic::inline v1::cli {
namespace {

struct TrainCases {
  std::vector<std::string> cases{"char", "baby", "gpt2s", "digits"}, precisions{"f32", "bf16"};
  int steps = 0, workers = 1;
};

// Windows of a text of random tokens: inputs, and targets one later.
class Windows : public data::Dataset {
  Tensor text_;
  int64_t block_;

 public:
  Windows(int64_t vocab, int64_t block) : text_(randint(0, vocab, {1 << 20})), block_(block) {}
  int64_t size() override { return text_.size(0) - block_; }
  data::Value get(int64_t i) override {
    return data::Value::List{narrow(text_, 0, i, block_), narrow(text_, 0, i + 1, block_)};
  }
};

// Batches without end, and the seconds that each next() took since the last clear().
class Feed {
  data::DataLoader loader_;
  std::unique_ptr<data::Epoch> epoch_;
  std::vector<double> waits_;

 public:
  Feed(std::shared_ptr<data::Dataset> dataset, int64_t batch, int workers)
      : loader_(std::move(dataset), {.batch_size = batch,
                                     .shuffle = true,
                                     .num_workers = workers,
                                     .drop_last = true,
                                     .persistent_workers = workers > 0}),
        epoch_(loader_.iter()) {}
  data::Value next() {
    const double begin = seconds_now();
    std::optional<data::Value> batch = epoch_->next();
    if (!batch) {
      epoch_ = loader_.iter();
      batch = epoch_->next();
    }
    waits_.push_back(seconds_now() - begin);
    return *batch;
  }
  void clear() { waits_.clear(); }
  Row& note(Row& r) {
    r.wait_mean = std::accumulate(waits_.begin(), waits_.end(), 0.0) / double(waits_.size());
    std::sort(waits_.begin(), waits_.end());
    r.wait = waits_[waits_.size() / 2];
    return r;
  }
};

Row row(const std::string& name, bool low, int steps, Feed& feed, FunctionRef<void(const data::Value&)> train) {
  auto step = [&] { train(feed.next()); };
  const double flops = flops_of(step);
  if (!steps) steps = steps_for(step);
  time_runs(0, 2, step);
  feed.clear();
  Row r = flops_row(name, low ? "bf16" : "f32", time_runs(0, steps, step), flops, low ? Peak::flops_bf16 : Peak::flops_f32);
  return feed.note(r);
}

Row gpt_row(const study::Preset& preset, bool low, const TrainCases& o) {
  manual_seed(0);
  GptStep step(preset, low);
  Feed feed(std::make_shared<Windows>(step.config.vocab, step.config.block), step.batch, o.workers);
  return row("gpt/" + preset.name, low, o.steps, feed, [&](const data::Value& b) { step(b[0], b[1]); });
}

// The network of examples/digits.cpp, on as many images of noise as it has.
std::vector<std::shared_ptr<nn::Module>> digits_layers() {
  std::vector<std::shared_ptr<nn::Module>> net;
  int64_t in = 1;
  for (int64_t out : {32, 64, 128}) {
    net.push_back(std::make_shared<nn::Layer>("Conv2d", in, out, 3, 1, 1));
    net.push_back(std::make_shared<nn::Layer>("BatchNorm2d", out));
    net.push_back(std::make_shared<nn::ReLU>());
    if (in > 1) net.push_back(std::make_shared<nn::Layer>("MaxPool2d", 2));
    in = out;
  }
  net.push_back(std::make_shared<nn::Layer>("Flatten"));
  net.push_back(std::make_shared<nn::Dropout>(0.3));
  net.push_back(std::make_shared<nn::Linear>(128 * 2 * 2, 10));
  return net;
}

Row digits_row(bool low, const TrainCases& o) {
  manual_seed(0);
  nn::Sequential net(digits_layers());
  optim::AdamW optimizer(net.named_parameters());
  auto noise = std::make_shared<data::TensorDataset>(std::vector{randn({1437, 1, 8, 8}), randint(0, 10, {1437})});
  Feed feed(noise, 32, o.workers);
  return row("cnn/digits", low, o.steps, feed, [&](const data::Value& b) {
    Tensor loss;
    {
      Autocast autocast(bf16, low);
      loss = cross_entropy(net(b[0]), b[1]);
    }
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
  });
}

Run setup_bench_train(Options& options) {
  auto o = std::make_shared<TrainCases>();
  options
      .value("--case", o->cases, "C", "char, baby, gpt2s, digits; several may follow (default: all)",
             [](const std::string& text) {
               if (text != "digits") study::preset(text);
             })
      .value("--precision", o->precisions, "D", "f32, bf16 (autocast); both may follow (default: both)", check_precision)
      .value("--steps", o->steps, "N", "steps to time (default: what four seconds hold)", at_least(1))
      .value("--workers", o->workers, "N", "threads that prepare batches (default: 1)", between(0, 64));
  return [o](const Common& common) {
    return bench(common, [&] {
      std::vector<Row> rows;
      for (const std::string& name : o->cases)
        for (const std::string& d : o->precisions) {
          const bool low = d == "bf16";
          rows.push_back(name == "digits" ? digits_row(low, *o) : gpt_row(study::preset(name), low, *o));
          empty_cache();
        }
      return rows;
    });
  };
}

}  // namespace

const Command bench_train_command = {"train", "training steps as a run takes them, with the wait for the data loader",
                                     "dyadic bench train --case char digits --precision f32 --json", setup_bench_train};

}  // namespace dyadic::inline v1::cli
