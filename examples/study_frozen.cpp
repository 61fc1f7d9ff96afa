// Fine-tuning with the frozen layers in nf4: a network that knows the digits 0 to 4 learns 5 to 9 by its last layer.
//   bin/examples/study_frozen [steps] [folder of the report]
#include <dyadic/study.h>

#include <cstdio>
#include <cstdlib>

#include "digits.h"

// Those whose labels are first ... first + 4, as labels 0 to 4.
std::shared_ptr<dy::data::Dataset> part(bool test, int64_t first) {
  const auto all = load(test);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < all->size(); ++i) {
    const int64_t label = (*all)[i][1].tensor().item<int64_t>();
    if (label >= first && label < first + 5) rows.push_back(i);
  }
  return std::make_shared<dy::data::MappedDataset>(std::make_shared<dy::data::Subset>(all, rows), [first](Value sample) {
    return Value(Value::List{sample[0], sample[1].tensor() - first});
  });
}

struct Five : Net {
  Five() : Net(5) {}
  const char* kind() const override { return "Five"; }
};

dy::nn::NamedTensors known() {
  dy::manual_seed(0);
  Five model;
  DataLoader loader(part(false, 0), {.batch_size = 32, .shuffle = true});
  dy::optim::AdamW optimizer(model.named_parameters(), {.lr = 3e-3});
  dy::optim::CosineAnnealingLR schedule(optimizer, {.T_max = double(5 * loader.size())});
  for (int epoch = 0; epoch < 5; ++epoch) train(model, loader, optimizer, schedule);
  return model.features.state_dict();
}

int main(int argc, char** argv) {
  const dy::nn::NamedTensors features = known();
  DataLoader train_loader(part(false, 5), {.batch_size = 32, .shuffle = true});
  DataLoader test_loader(part(true, 5), {.batch_size = 256});
  const dy::study::Study result = dy::study::study(
      [&] {
        auto model = std::make_shared<Five>();
        model->features.load_state_dict(features);
        model->features.requires_grad_(false);
        model->features.to(dy::nf4);
        return model;
      },
      train_loader,
      [](dy::nn::Module& model, const Value& batch) { return dy::cross_entropy(model(batch[0]), batch[1], "none"); },
      {.evaluation = test_loader,
       .metric = dy::study::accuracy(),
       .tolerance = 0.03,  // what 360 images can tell
       .steps = argc > 1 ? std::atoi(argv[1]) : 200,
       .formats = {"bf16", "q8_0", "nf4"},
       .name = "frozen",
       .out = argc > 2 ? argv[2] : ""});
  std::printf("%s\nReport: %s/report.html\n", result.text().c_str(), result.folder.c_str());
}
