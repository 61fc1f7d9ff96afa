// Handwritten digits: the data, a small convolutional network, the usual loops. Used by the examples beside it.
#pragma once
#include <dyadic/dyadic.h>

namespace dy = dyadic;
using dy::data::DataLoader, dy::data::Value;

struct Net : dy::nn::Module {
  dy::nn::Sequential features{layers()};
  dy::nn::Dropout dropout{0.3};
  dy::nn::Linear first_output, *output = &first_output;
  explicit Net(int64_t classes = 10) : first_output(128 * 2 * 2, classes) {
    add("features", features), add("dropout", dropout), add("output", first_output);
  }
  void swap_output(dy::nn::Linear& other) { add("output", *(output = &other)); }

  static std::vector<std::shared_ptr<dy::nn::Module>> layers() {
    std::vector<std::shared_ptr<dy::nn::Module>> all;
    int64_t in = 1;
    for (int64_t out : {32, 64, 128}) {
      all.push_back(std::make_shared<dy::nn::Conv2d>(in, out, 3, 1, 1));
      all.push_back(std::make_shared<dy::nn::BatchNorm2d>(out));
      all.push_back(std::make_shared<dy::nn::ReLU>());
      if (in > 1) all.push_back(std::make_shared<dy::nn::MaxPool2d>(2));
      in = out;
    }
    return all;
  }
  dy::Tensor forward(const dy::Tensor& x) override { return (*output)(dropout(dy::flatten(features(x), 1))); }
};

// The 1,797 digits of a CSV file: every fifth for the test, the others for training.
inline std::shared_ptr<dy::data::Dataset> load(bool test, const char* path = "examples/data/digits.csv") {
  dy::Tensor table = dy::data::read_csv(path);
  auto digits = std::make_shared<dy::data::TensorDataset>(
      std::vector{dy::narrow(table, 1, 0, 64).reshape({-1, 1, 8, 8}) / 16, dy::select(table, 1, 64).to(dy::i64)});
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < digits->size(); ++i)
    if ((i % 5 == 0) == test) rows.push_back(i);
  return std::make_shared<dy::data::Subset>(digits, rows);
}

inline double train(dy::nn::Module& model, DataLoader& loader, dy::optim::Optimizer& optimizer,
                    dy::optim::LRScheduler& schedule) {
  model.train();
  double total = 0;
  for (const Value& batch : loader) {
    dy::Tensor images = batch[0], labels = batch[1];
    dy::Tensor loss = dy::cross_entropy(model(images), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    schedule.step();
    total += loss.item() * double(images.size(0));
  }
  return total / double(loader.dataset()->size());
}

inline double test(dy::nn::Module& model, DataLoader& loader) {
  model.eval();
  dy::NoGrad guard;
  int64_t correct = 0;
  for (const Value& batch : loader) correct += dy::sum(dy::eq(dy::argmax(model(batch[0]), 1), batch[1])).item<int64_t>();
  return double(correct) / double(loader.dataset()->size());
}
