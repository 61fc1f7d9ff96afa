// A regression whose targets have outliers: divided by the largest, the others' gradients are flushed to zero in f16. A scaler
// keeps them, as the report's flushed values show. By RMSE.
//   bin/examples/study_outliers [steps] [folder of the report]
#include <dyadic/dyadic.h>
#include <dyadic/study.h>

#include <cstdio>
#include <cstdlib>

namespace dy = dyadic;
namespace nn = dy::nn;

struct Net : nn::Module {
  nn::Linear in{16, 128}, middle{128, 128}, out{128, 1};
  Net() { add("in", in), add("middle", middle), add("out", out); }
  dy::Tensor forward(const dy::Tensor& x) override { return out(dy::tanh(middle(dy::tanh(in(x))))); }
};
std::shared_ptr<nn::Module> make() { return std::make_shared<Net>(); }

// A smooth function of 16 numbers; one target of a hundred is 300 times as large, and the largest is about one.
std::shared_ptr<dy::data::Dataset> table(int64_t rows, uint64_t seed) {
  dy::Generator source(seed), fixed(0);
  const dy::Tensor weights = dy::randn({16, 4}, fixed), x = dy::randn({rows, 16}, source);
  const dy::Tensor y = dy::sum(dy::sin(dy::matmul(x, weights)), {1}, true);
  const dy::Tensor outlier = dy::lt(dy::rand({rows, 1}, source), dy::full({}, 0.01));
  return std::make_shared<dy::data::TensorDataset>(std::vector{x, dy::where(outlier, y * 300, y) / 1200.0});
}

int main(int argc, char** argv) {
  dy::data::DataLoader train_loader(table(4000, 1), {.batch_size = 64, .shuffle = true});
  dy::data::DataLoader test_loader(table(1000, 2), {.batch_size = 250});
  const dy::study::Recipe half{.name = "pure-f16", .doc = "weights, gradients and arithmetic in f16", .parameters = dy::f16};
  dy::study::Recipe scaled = half;
  scaled.name = "pure-f16-scaled", scaled.scaler = true;
  const dy::study::Study result = dy::study::study(
      make, train_loader,
      [](nn::Module& model, const dy::data::Value& batch) {  // in f32: squares below 6e-8 would be zero, with any scaler
        return dy::mean(dy::square(model(batch[0]).to(dy::f32) - batch[1].tensor()), {1});
      },
      {.evaluation = test_loader,
       .metric = dy::study::rmse(),
       .steps = argc > 1 ? std::atoi(argv[1]) : 600,
       .recipes = {dy::study::recipe("bf16"), dy::study::recipe("f16"), half, scaled},
       .name = "outliers",
       .out = argc > 2 ? argv[2] : ""});
  std::printf("%s\nReport: %s/report.html\n", result.text().c_str(), result.folder.c_str());
}
