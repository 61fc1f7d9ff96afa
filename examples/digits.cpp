// Handwritten digits: a small convolutional network, trained on four of five rows and tested on every fifth.
//   bin/examples/digits [epochs] [workers]     from the repository's folder
#include "digits.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 20, workers = argc > 2 ? std::atoi(argv[2]) : 2;
  dy::manual_seed(0);
  DataLoader train_loader(load(false), {.batch_size = 32, .shuffle = true, .num_workers = workers});
  DataLoader test_loader(load(true), {.batch_size = 256, .num_workers = workers});
  Net model;
  dy::optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-3, .weight_decay = 0.01});
  dy::optim::OneCycleLR schedule(optimizer, {.max_lr = {3e-3}, .total_steps = epochs * train_loader.size()});
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    const double loss = train(model, train_loader, optimizer, schedule), accuracy = test(model, test_loader);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("epoch %2d: loss %.4f, test accuracy %.2f%%, %.2f s\n", epoch, loss, 100 * accuracy, seconds.count());
  }
}
