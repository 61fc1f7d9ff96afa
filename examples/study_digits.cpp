// Which precision for a network of one's own: the digits' convolutional network, judged by its accuracy.
//   bin/examples/study_digits [steps] [folder of the report]
#include <dyadic/study.h>

#include <cstdio>
#include <cstdlib>

#include "digits.h"

int main(int argc, char** argv) {
  DataLoader train_loader(load(false), {.batch_size = 32, .shuffle = true});
  DataLoader test_loader(load(true), {.batch_size = 256});
  const dy::study::Study result = dy::study::study(
      [] { return std::make_shared<Net>(); }, train_loader,
      [](dy::nn::Module& model, const Value& batch) { return dy::cross_entropy(model(batch[0]), batch[1], "none"); },
      {.evaluation = test_loader,
       .metric = dy::study::accuracy(),
       .tolerance = 0.03,  // what 360 images can tell
       .steps = argc > 1 ? std::atoi(argv[1]) : 400,
       .optimizer_options = {{"lr", 3e-3}},
       .per_layer = true,
       .name = "digits",
       .out = argc > 2 ? argv[2] : ""});
  std::printf("%s\nReport: %s/report.html\n", result.text().c_str(), result.folder.c_str());
}
