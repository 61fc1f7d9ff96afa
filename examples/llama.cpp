// A Llama of 1.1 billion parameters trained for five steps in 12 GB: weights in bf16 (made so: no f32 copy ever exists),
// rounded stochastically, 8-bit optimizer states, activations computed again in backward. First the same on meta, which
// predicts.
//   bin/examples/llama [layers] [steps]
#include <dyadic/dyadic.h>
#include <dyadic/llama.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace dy = dyadic;

struct Result {
  int64_t parameters, peak;
};

Result train(dy::Device device, int64_t layers, int steps) {
  dy::manual_seed(0);
  dy::reset_peak_memory_stats(device);
  dy::models::Llama model({.layers = layers, .recompute = true}, {dy::bf16, device});
  // As bitsandbytes has it, the states of the embedding stay at 32 bits.
  dy::optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-4, .state = dy::dynamic8, .stochastic_rounding = true},
                             {"tok.weight"});
  const dy::Tensor text = dy::randint(0, 32000, {1, 257}, dy::i64, device);
  for (int step = 1; step <= steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    dy::Tensor loss = model.loss(dy::narrow(text, 1, 0, 256), dy::narrow(text, 1, 1, 256));
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (device == dy::cpu) std::printf("step %d: loss %.4f, %.1f s\n", step, loss.item(), seconds.count());
    std::fflush(stdout);
  }
  return {model.num_parameters(), dy::max_memory_allocated(device)};
}

int main(int argc, char** argv) {
  const int64_t layers = argc > 1 ? std::atol(argv[1]) : 22;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 5;
  const Result predicted = train(dy::meta, layers, 2);
  std::printf("%.3f billion parameters; predicted peak %.2f GB\n", double(predicted.parameters) / 1e9,
              double(predicted.peak) / 1e9);
  std::fflush(stdout);
  dy::set_memory_limit(12'000'000'000);
  const Result measured = train(dy::cpu, layers, steps);
  std::printf("measured peak %.2f GB, %+.2f %% from the prediction\n", double(measured.peak) / 1e9,
              100 * (double(measured.peak) / double(predicted.peak) - 1));
}
