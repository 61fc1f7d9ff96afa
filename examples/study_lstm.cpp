// Which precision for a recurrent network: an LSTM that reads the digits row by row, judged by its accuracy.
//   bin/examples/study_lstm [steps] [folder of the report]
#include <dyadic/study.h>

#include <cstdio>
#include <cstdlib>

#include "digits.h"

struct Reader : dy::nn::Module {
  dy::nn::LSTM lstm{8, 96, {.num_layers = 2, .batch_first = true, .dropout = 0.2, .bidirectional = true}};
  dy::nn::Linear output{2 * 96, 10};
  Reader() { add("lstm", lstm), add("output", output); }
  dy::Tensor forward(const dy::Tensor& images) override {
    dy::Tensor steps = lstm.call(dy::select(images, 1, 0))[0];  // of [batch, 8 rows, 8 pixels]
    return output(dy::mean(steps, {1}));
  }
  const char* kind() const override { return "Reader"; }
};

int main(int argc, char** argv) {
  const auto make = [] { return std::make_shared<Reader>(); };
  const auto loss = [](dy::nn::Module& model, const Value& batch) {
    return dy::cross_entropy(model(batch[0]), batch[1], "none");
  };
  DataLoader train_loader(load(false), {.batch_size = 32, .shuffle = true});
  DataLoader test_loader(load(true), {.batch_size = 256});
  const Value batch = *train_loader.begin();
  std::printf("predicted, before anything runs:\n%s\n",
              dy::study::text(dy::study::predict(make, batch, {.loss = loss})).c_str());
  const dy::study::Study result = dy::study::study(make, train_loader, loss,
                                                   {.evaluation = test_loader,
                                                    .metric = dy::study::accuracy(),
                                                    .tolerance = 0.03,  // what 360 images can tell
                                                    .steps = argc > 1 ? std::atoi(argv[1]) : 600,
                                                    .optimizer_options = {{"lr", 5e-3}},
                                                    .name = "lstm",
                                                    .out = argc > 2 ? argv[2] : ""});
  std::printf("%s\nReport: %s/report.html\n", result.text().c_str(), result.folder.c_str());
}
