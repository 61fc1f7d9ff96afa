// A GPT that learns to write like a text, byte by byte: nanoGPT's recipe for CPUs. Then it writes a few lines.
//   bin/examples/shakespeare FILE [steps] [seed]     tiny Shakespeare reaches a validation loss of about 1.91
#include <dyadic/dyadic.h>
#include <dyadic/gpt.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace dy = dyadic;
constexpr int64_t kBlock = 64, kBatch = 12;

struct Text {
  std::string letters;  // in order
  dy::Tensor train, held_out;
  explicit Text(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::set<char> found(text.begin(), text.end());
    letters.assign(found.begin(), found.end());
    std::vector<int64_t> numbers;
    for (char c : text) numbers.push_back(int64_t(letters.find(c)));
    const int64_t n = int64_t(numbers.size()), cut = n * 9 / 10;
    const dy::Tensor all = dy::from_data(numbers.data(), {n}, dy::i64);
    train = dy::narrow(all, 0, 0, cut), held_out = dy::narrow(all, 0, cut, n - cut);
  }
};

// Of windows of kBlock inputs and, one later, as many targets, which begin at `starts` [n, 1].
dy::Tensor loss(dy::models::Gpt& model, const dy::Tensor& text, const dy::Tensor& starts) {
  const dy::Tensor places = starts + dy::arange(int64_t(0), kBlock);
  return model.loss(dy::take(text, places), dy::take(text, places + int64_t(1)));
}

std::string write(dy::models::Gpt& model, const std::string& letters, int64_t count) {
  dy::NoGrad guard;
  dy::Tensor tokens = dy::zeros({1, 1}, dy::i64);
  std::string text;
  while (int64_t(text.size()) < count) {
    const int64_t seen = std::min(tokens.size(1), kBlock);
    const dy::Tensor logits = model.forward(dy::narrow(tokens, 1, tokens.size(1) - seen, seen));
    const dy::Tensor next = dy::multinomial(dy::softmax(dy::select(logits, 1, seen - 1)), 1);
    tokens = dy::cat(std::vector{tokens, next}, 1);
    text += letters[size_t(next.item<int64_t>())];
  }
  return text;
}

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: shakespeare FILE [steps] [seed]\n"), 2;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 2000;
  dy::manual_seed(argc > 3 ? uint64_t(std::atoll(argv[3])) : 1);
  const Text text(argv[1]);
  dy::models::Gpt model({.vocab = int64_t(text.letters.size()), .block = kBlock, .bias = false});
  dy::optim::AdamWOptions decaying{.lr = 1e-3, .betas = {0.9, 0.99}, .weight_decay = 0.1}, plain = decaying;
  plain.weight_decay = 0;
  dy::optim::ParamGroup matrices{{}, decaying}, vectors{{}, plain};
  for (auto& named : model.named_parameters()) (named.second.dim() >= 2 ? matrices : vectors).params.push_back(named);
  dy::optim::AdamW optimizer({matrices, vectors});
  const dy::optim::WarmupCosine schedule{.peak = 1e-3, .floor = 1e-4, .warmup = 100, .total = steps};
  for (int step = 1; step <= steps; ++step) {
    const dy::Tensor l = loss(model, text.train, dy::randint(0, text.train.size(0) - kBlock, {kBatch, 1}));
    optimizer.zero_grad();
    l.backward();
    optimizer.set_lr(schedule(step - 1));
    optimizer.step(dy::optim::clip_factor(dy::optim::grad_norm(model.named_parameters()), 1));
    if (step % 100 == 0) std::printf("step %d: loss %.4f\n", step, l.item());
  }
  dy::NoGrad guard;
  const int64_t windows = (text.held_out.size(0) - 1) / kBlock;
  const dy::Tensor starts = dy::unsqueeze(dy::arange(int64_t(0), windows) * kBlock, 1);
  std::printf("validation loss %.4f\n%s\n", loss(model, text.held_out, starts).item(), write(model, text.letters, 300).c_str());
}
