// A program written for libtorch, unchanged.
#include <torch/torch.h>

#include <iostream>

struct Net : torch::nn::Module {
  Net() { fc = register_module("fc", torch::nn::Linear(4, 1)); }
  torch::Tensor forward(torch::Tensor x) { return torch::tanh(fc->forward(x)); }
  torch::nn::Linear fc{nullptr};
};

int main() {
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  auto net = std::make_shared<Net>();
  net->to(device);
  torch::optim::SGD optimizer(net->parameters(), /*lr=*/0.1);
  torch::Tensor x = torch::ones({8, 4}, torch::TensorOptions().device(device)), first;
  for (int i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    torch::Tensor loss = torch::mse_loss(net->forward(x), torch::full({8, 1}, 0.5));
    if (i == 0) first = loss;
    loss.backward();
    optimizer.step();
    if (i == 19) std::cout << (loss.item<float>() < first.item<float>()) << "\n";
  }
}
