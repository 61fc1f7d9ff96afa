// An LSTM that reads handwritten digits row by row, as sequences of eight steps.
#include <cstdio>

#include "digits.h"

struct Reader : dy::nn::Module {
  dy::nn::LSTM lstm{8, 96, {.num_layers = 2, .batch_first = true, .dropout = 0.2, .bidirectional = true}};
  dy::nn::Linear output{2 * 96, 10};
  Reader() { add("lstm", lstm), add("output", output); }
  dy::Tensor forward(const dy::Tensor& images) override {
    dy::Tensor steps = lstm.call(dy::select(images, 1, 0))[0];  // of [batch, 8 rows, 8 pixels]
    return output(dy::mean(steps, {1}));
  }
};

int main() {
  const int epochs = 15;
  dy::manual_seed(0);
  DataLoader train_loader(load(false), {.batch_size = 32, .shuffle = true, .num_workers = 1});
  DataLoader test_loader(load(true), {.batch_size = 256});
  Reader model;
  dy::optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-3});
  dy::optim::OneCycleLR schedule(optimizer, {.max_lr = {1e-2}, .total_steps = epochs * train_loader.size()});
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const double loss = train(model, train_loader, optimizer, schedule), accuracy = test(model, test_loader);
    std::printf("epoch %2d: loss %.4f, test accuracy %.2f%%\n", epoch, loss, 100 * accuracy);
  }
}
