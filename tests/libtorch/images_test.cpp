// Programs as people write them for libtorch: images. Each learns something, so that it is run and not only compiled.
#include <gtest/gtest.h>

#include "dyadic/torch.h"

namespace {

// Quarters of an image: the label says which one is bright.
struct Quarters : torch::data::datasets::Dataset<Quarters> {
  torch::data::Example<> get(size_t index) override {
    const auto label = int64_t(index % 4);
    torch::Tensor image = torch::rand({1, 12, 12}) * 0.1;
    using torch::indexing::Slice;
    const int64_t row = label / 2 * 6, column = label % 2 * 6;
    image.index_put_({0, Slice(row, row + 6), Slice(column, column + 6)}, 1.0);
    return {image, torch::tensor(label, torch::kLong)};
  }
  torch::optional<size_t> size() const override { return 64; }
};

struct NetImpl : torch::nn::Module {
  NetImpl() : conv1(torch::nn::Conv2dOptions(1, 8, /*kernel_size=*/3).padding(1)), conv2(8, 8, 3), fc(72, 4) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("drop", drop);
    register_module("fc", fc);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(conv2->forward(x)).index({"...", torch::indexing::Slice(0, 3), torch::indexing::Slice(0, 3)});
    x = torch::dropout(drop->forward(x.reshape({x.size(0), -1})), 0.1, is_training());
    return torch::log_softmax(fc->forward(x), /*dim=*/1);
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Dropout drop{0.1};
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

template <class Loader> double train(Net& net, Loader& loader, torch::optim::Optimizer& optimizer, torch::Device device) {
  net->train();
  double loss = 0;
  for (auto& batch : loader) {
    auto data = batch.data.to(device), target = batch.target.to(device);
    optimizer.zero_grad();
    auto l = torch::nll_loss(net->forward(data), target);
    TORCH_CHECK(!std::isnan(l.template item<float>()), "loss is ", l.template item<float>());
    l.backward();
    optimizer.step();
    loss = l.template item<double>();
  }
  return loss;
}

TEST(LibtorchImages, DigitsWithADataLoader) {
  torch::manual_seed(1);
  torch::DeviceType type = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  torch::Device device(type);
  EXPECT_FALSE(device.is_cuda());
  Net net;
  net->to(device);
  auto dataset = Quarters().map(torch::data::transforms::Normalize<>(0.3, 0.4)).map(torch::data::transforms::Stack<>());
  EXPECT_EQ(dataset.size().value(), 64);
  auto loader = torch::data::make_data_loader(std::move(dataset), torch::data::DataLoaderOptions().batch_size(16).workers(2));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.5));
  for (int epoch = 0; epoch < 8; ++epoch) train(net, *loader, optimizer, device);
  net->eval();
  torch::NoGradGuard no_grad;
  double sum = 0;
  int64_t correct = 0;
  for (const auto& batch : *loader) {
    auto output = net->forward(batch.data);
    sum += torch::nll_loss(output, batch.target, /*weight=*/{}, torch::Reduction::Sum).template item<double>();
    correct += output.argmax(1).eq(batch.target).sum().template item<int64_t>();
  }
  EXPECT_GT(correct, 56);
  EXPECT_LT(sum / 64, 1);
}

TEST(LibtorchImages, AdversariesWithOptionChains) {
  using namespace torch;
  torch::manual_seed(2);
  nn::Sequential generator(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 8, 4).bias(false)), nn::BatchNorm2d(8), nn::ReLU(),
                           nn::ConvTranspose2d(nn::ConvTranspose2dOptions(8, 1, 4).stride(2).padding(1)), nn::Tanh());
  nn::Sequential judge{nn::Conv2d(nn::Conv2dOptions(1, 8, 4).stride(2).padding(1).bias(false)),
                       nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)), nn::Conv2d(nn::Conv2dOptions(8, 1, 4)),
                       nn::Sigmoid()};
  EXPECT_EQ(judge[1]->as<nn::LeakyReLU>()->options.negative_slope(), 0.2);
  EXPECT_EQ(generator->size(), 5u);
  optim::Adam g(generator->parameters(), optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.9)));
  optim::Adam d(judge->parameters(), optim::AdamOptions(2e-3).betas({0.5, 0.9}));
  double first = 0, last = 0;
  for (int i = 0; i < 12; ++i) {
    judge->zero_grad();
    Tensor labels = torch::empty(8, kCPU).uniform_(0.8, 1.0);
    Tensor real = torch::binary_cross_entropy(judge->forward(torch::ones({8, 1, 8, 8})).reshape(labels.sizes()), labels);
    Tensor images = generator->forward(torch::randn({8, 4, 1, 1}, kCPU));
    Tensor fake = torch::binary_cross_entropy(judge->forward(images.detach()).reshape({-1}), torch::zeros(8, kCPU));
    (real + fake).backward();
    d.step();
    generator->zero_grad();
    labels.fill_(1);
    torch::binary_cross_entropy(judge->forward(images).reshape({-1}), labels).backward();
    g.step();
    (i ? last : first) = (real + fake).item<double>();
  }
  EXPECT_LT(last, first);
  static_cast<optim::AdamOptions&>(g.param_groups()[0].options()).lr(5e-4);
  EXPECT_EQ(g.groups()[0].options.number("lr"), 5e-4);
  EXPECT_EQ(std::get<0>(static_cast<optim::AdamOptions&>(g.param_groups()[0].options()).betas()), 0.5);
}

class Bytes : public torch::data::datasets::Dataset<Bytes> {
  using Example = torch::data::Example<>;
  std::vector<std::pair<std::vector<uint8_t>, int64_t>> data_;

 public:
  Bytes() {
    for (int i = 0; i < 24; ++i) data_.emplace_back(std::vector<uint8_t>(64, uint8_t(i * 9)), i % 3);
  }
  Example get(size_t i) override {
    auto gray = torch::from_blob(data_[i].first.data(), {8, 8}, torch::kUInt8);
    return {torch::stack({gray, gray, gray}).to(torch::kFloat), torch::from_blob(&data_[i].second, {1}, torch::kLong)};
  }
  torch::optional<size_t> size() const override { return data_.size(); }
};
struct StackedImpl : torch::nn::SequentialImpl {
  StackedImpl() {
    using namespace torch::nn;
    auto stride = torch::ExpandingArray<2>({2, 2});
    push_back(Conv2d(Conv2dOptions(3, 4, 3).padding(1)));
    push_back(Functional(torch::relu));
    push_back(Functional(torch::max_pool2d, 2, stride, 0, 1, false));
    push_back("flat", Flatten());
    push_back(Linear(4 * 16, 3));
    push_back(Functional(torch::log_softmax, 1, torch::nullopt));
  }
};
TORCH_MODULE(Stacked);

TEST(LibtorchImages, ADatasetOfBytesAndFunctionals) {
  torch::manual_seed(3);
  Stacked net;
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Bytes().map(torch::data::transforms::Stack<>()), 10);
  int batches = 0;
  for (auto& batch : *loader) {
    auto loss = torch::nll_loss(net->forward(batch.data / 255), batch.target.view({-1}));
    net->zero_grad();
    loss.backward();
    ++batches;
  }
  EXPECT_EQ(batches, 3);
  EXPECT_TRUE(net->named_parameters()["4.weight"].grad().defined());
  EXPECT_EQ(net->named_modules().back().key(), "5");
}

}  // namespace
