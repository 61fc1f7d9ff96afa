// Linear regression on data that does not fit: a mapped file of 64 MiB, trained on with at most 8 MiB of tensors.
//   bin/examples/mapped [FILE]     writes it
#include <dyadic/dyadic.h>

#include <cstdio>
#include <fstream>

namespace dy = dyadic;
using dy::data::Value;

constexpr int64_t kRows = 1 << 20, kFeatures = 15;  // and the target: 16 numbers a row
const dy::Tensor& truth() {
  static const dy::Tensor t = dy::linspace(-1, 1, kFeatures);
  return t;
}

// Rows (x, x . truth + 0.5 + noise), piece by piece.
void write(const char* path) {
  const int64_t piece = 1 << 13;
  std::ofstream file(path, std::ios::binary);
  for (int64_t i = 0; i < kRows / piece; ++i) {
    dy::Tensor x = dy::randn({piece, kFeatures});
    dy::Tensor y = dy::matmul(x, truth()) + 0.5 + 0.1 * dy::randn({piece});
    dy::Tensor rows = dy::cat(std::vector{x, dy::unsqueeze(y, 1)}, 1);
    file.write(rows.data<char>(), rows.nbytes());
  }
}

// Sample i is a run of rows: as few calls as there are batches.
struct Rows : dy::data::Dataset {
  dy::Tensor table;
  int64_t run;
  Rows(const char* path, int64_t run)
      : table(dy::memmap(path, {.dtype = dy::f32, .shape = {{kRows, kFeatures + 1}}})), run(run) {}
  int64_t size() override { return kRows / run; }
  Value get(int64_t i) override {
    dy::Tensor rows = dy::narrow(table, 0, i * run, run);
    return Value::List{dy::narrow(rows, 1, 0, kFeatures).clone(), dy::select(rows, 1, kFeatures).clone()};
  }
};

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "rows.f32";
  dy::manual_seed(0);
  dy::set_memory_limit(8 << 20);
  write(path);
  dy::data::DataLoader loader(std::make_shared<Rows>(path, 1024), {.batch_size = {}, .shuffle = true, .num_workers = 2});
  dy::nn::Linear model(kFeatures, 1);
  dy::optim::SGD optimizer(model.named_parameters(), {.lr = 0.1});
  dy::optim::CosineAnnealingLR schedule(optimizer, {.T_max = double(loader.size())});
  double last = 0;
  for (const Value& batch : loader) {
    dy::Tensor x = batch[0], y = batch[1];
    dy::Tensor loss = dy::mse_loss(dy::squeeze(model(x), 1), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    schedule.step();
    last = loss.item();
  }
  dy::NoGrad guard;
  const double error = dy::amax(dy::abs(dy::select(model.weight, 0, 0) - truth())).item();
  std::printf("file %ld MiB, most tensors at once %.1f MiB\n", long(kRows * (kFeatures + 1) * 4 >> 20),
              double(dy::max_memory_allocated()) / (1 << 20));
  std::printf("largest error of a weight %.4f, bias %.4f (0.5), last loss %.4f (0.0100)\n", error, model.bias.item(), last);
}
