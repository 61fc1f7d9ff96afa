// Gradient accumulation: four batches of 64 give the gradient of one of 256, to rounding, and so the same training. An
// epoch ends with less: 158 images, in one batch or in three.
#include <algorithm>
#include <cstdio>

#include "digits.h"

struct Run {
  std::vector<dy::Tensor> gradients, weights;  // of the first step; after the last
  double loss = 0;
};

Run train(int64_t batch_size, int64_t accumulate, int epochs = 20) {
  dy::manual_seed(0);
  dy::nn::Sequential model({std::make_shared<dy::nn::Flatten>(), std::make_shared<dy::nn::Linear>(64, 64),
                            std::make_shared<dy::nn::GELU>(), std::make_shared<dy::nn::Linear>(64, 10)});
  dy::optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-3});
  auto generator = std::make_shared<dy::Generator>(1);  // the same order, whatever the batch size
  DataLoader loader(load(false), {.batch_size = batch_size, .shuffle = true, .generator = generator});
  Run run;
  for (int e = 0; e < epochs; ++e) {
    auto epoch = loader.iter();
    while (auto window = dy::train::next_window(*epoch, accumulate)) {  // the last one has the batches that are left
      run.loss = 0;
      for (auto& [weight, batch] : *window) {
        dy::Tensor loss = dy::cross_entropy(model(batch[0]), batch[1]) * weight;
        loss.backward();
        run.loss += loss.item();
      }
      if (run.gradients.empty())
        for (const dy::Tensor& p : model.parameters()) run.gradients.push_back(p.grad().clone());
      optimizer.step();
      optimizer.zero_grad();
    }
  }
  for (const dy::Tensor& p : model.parameters()) run.weights.push_back(p.detach());
  return run;
}

double largest(const dy::Tensor& t) { return dy::amax(dy::abs(t)).item(); }
double difference(const std::vector<dy::Tensor>& a, const std::vector<dy::Tensor>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, largest(a[i] - b[i]));
  return most;
}

int main() {
  const Run large = train(256, 1), small = train(64, 4);
  double scale = 0;
  for (const dy::Tensor& g : large.gradients) scale = std::max(scale, largest(g));
  std::printf("first gradient: largest difference %.1e of its largest element\n",
              difference(large.gradients, small.gradients) / scale);
  std::printf("after 20 epochs: losses %.6f and %.6f, largest difference of a weight %.1e\n", large.loss, small.loss,
              difference(large.weights, small.weights));
}
