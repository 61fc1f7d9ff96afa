// Fine-tuning: a network that knows the digits 0 to 4 learns 5 to 9 with all but its output layer frozen.
#include <cstdio>

#include "digits.h"

using Samples = std::shared_ptr<dy::data::Dataset>;

// Those of the dataset whose label is in [first, first + 5), as labels 0 to 4.
Samples part(const Samples& dataset, int64_t first) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    const int64_t label = (*dataset)[i][1].tensor().item<int64_t>();
    if (label >= first && label < first + 5) kept.push_back(i);
  }
  return std::make_shared<dy::data::MappedDataset>(std::make_shared<dy::data::Subset>(dataset, kept), [first](Value sample) {
    return Value(Value::List{sample[0], sample[1].tensor() - first});
  });
}

void fit(const char* name, Net& model, dy::nn::NamedTensors parameters, int64_t first, int epochs) {
  DataLoader train_loader(part(load(false), first), {.batch_size = 32, .shuffle = true});
  DataLoader test_loader(part(load(true), first), {.batch_size = 256});
  dy::optim::AdamW optimizer(std::move(parameters), {.lr = 3e-3});
  dy::optim::CosineAnnealingLR schedule(optimizer, {.T_max = double(epochs * train_loader.size())});
  double loss = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) loss = train(model, train_loader, optimizer, schedule);
  std::printf("%s: loss %.4f, test accuracy %.2f%%\n", name, loss, 100 * test(model, test_loader));
}

int main() {
  dy::manual_seed(0);
  Net model;
  dy::nn::Linear low(512, 5);
  model.swap_output(low);
  fit("0 to 4", model, model.named_parameters(), 0, 5);

  model.features.requires_grad_(false);
  dy::nn::Linear high(512, 5);
  model.swap_output(high);
  std::vector<dy::Tensor> before;
  for (const dy::Tensor& p : model.features.parameters()) before.push_back(p.clone());
  dy::nn::NamedTensors trainable;
  int64_t count = 0;
  for (auto& [name, p] : model.named_parameters())
    if (p.requires_grad()) trainable.emplace_back(name, p), count += p.numel();
  std::printf("trained now: %ld of %ld parameters\n", long(count), long(model.num_parameters()));
  fit("5 to 9", model, trainable, 5, 10);
  bool unchanged = true;
  for (size_t i = 0; i < before.size(); ++i)
    unchanged = unchanged && dy::all(dy::eq(before[i], model.features.parameters()[i])).item<bool>();
  std::printf("frozen parameters unchanged: %s\n", unchanged ? "yes" : "no");
}
