// Which precision for a model that decides how long it computes: a layer applied until its state settles, at most eight times,
// with activations of one bit, whose gradient is a function of one's own.
//   bin/examples/study_settling [steps] [folder of the report]
#include <dyadic/study.h>

#include <cstdio>
#include <cstdlib>

#include "digits.h"

// +1 or -1; backward takes the slope of a line between -1 and 1 (straight-through estimator, Bengio et al. 2013).
struct Sign : dy::Function<Sign> {
  static constexpr const char* name = "Sign";
  static dy::Tensor forward(dy::FunctionContext& context, const dy::Tensor& x) {
    context.save_for_backward({x});
    return dy::where(x >= 0, 1, -1).to(x.dtype());
  }
  static dy::Tensor backward(dy::FunctionContext& context, std::span<const dy::Tensor> grad) {
    return grad[0] * (dy::abs(context.saved_tensors()[0]) <= 1).to(grad[0].dtype());
  }
};

struct Settling : dy::nn::Module {
  dy::nn::Linear read{64, 128}, again{128, 128}, output{128, 10};
  dy::nn::LayerNorm norm{128};
  Settling() { add("read", read), add("again", again), add("norm", norm), add("output", output); }
  dy::Tensor forward(const dy::Tensor& images) override {
    const dy::Tensor seen = read(dy::flatten(images, 1));
    dy::Tensor state = Sign::apply(seen);
    for (int i = 0; i < 8; ++i) {
      const dy::Tensor before = state;
      state = Sign::apply(norm(seen + again(state)));
      if (dy::mean((state != before).to(dy::f32)).item() < 0.02) break;
    }
    return output(state);
  }
  const char* kind() const override { return "Settling"; }
};

int main(int argc, char** argv) {
  DataLoader train_loader(load(false), {.batch_size = 32, .shuffle = true});
  DataLoader test_loader(load(true), {.batch_size = 256});
  const dy::study::Study result = dy::study::study(
      [] { return std::make_shared<Settling>(); }, train_loader,
      [](dy::nn::Module& model, const Value& batch) { return dy::cross_entropy(model(batch[0]), batch[1], "none"); },
      {.evaluation = test_loader,
       .metric = dy::study::accuracy(),
       .tolerance = 0.03,  // what 360 images can tell
       .steps = argc > 1 ? std::atoi(argv[1]) : 600,
       .optimizer_options = {{"lr", 3e-3}},
       .name = "settling",
       .out = argc > 2 ? argv[2] : ""});
  std::printf("%s\nReport: %s/report.html\n", result.text().c_str(), result.folder.c_str());
}
