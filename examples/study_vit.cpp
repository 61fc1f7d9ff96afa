// Which precision for a small vision transformer: the digits cut into 16 patches, judged by its accuracy.
//   bin/examples/study_vit [steps] [folder of the report]
#include <dyadic/study.h>

#include <cstdio>
#include <cstdlib>

#include "digits.h"

struct Block : dy::nn::Module {
  dy::nn::LayerNorm norm1{{64}}, norm2{{64}};
  dy::nn::Linear qkv{64, 3 * 64}, proj{64, 64}, fc{64, 2 * 64}, out{2 * 64, 64};
  dy::nn::Dropout dropout{0.1};
  Block() {
    add("norm1", norm1), add("qkv", qkv), add("proj", proj), add("norm2", norm2), add("fc", fc), add("out", out);
    add("dropout", dropout);
  }
  dy::Tensor forward(const dy::Tensor& x) override {
    const int64_t n = x.size(0), places = x.size(1);
    const dy::Tensor all = qkv(norm1(x)).view({n, places, 3, 4, 16}).permute({2, 0, 3, 1, 4});  // [3, n, heads, places, 16]
    const dy::Tensor seen = dy::scaled_dot_product_attention(all[0], all[1], all[2]).transpose(1, 2).reshape({n, places, 64});
    const dy::Tensor y = x + dropout(proj(seen));
    return y + dropout(out(dy::gelu(fc(norm2(y)))));
  }
  const char* kind() const override { return "Block"; }
};

struct Transformer : dy::nn::Module {
  dy::nn::Conv2d patches{1, 64, 2, 2};
  dy::Tensor places = dy::nn::make_parameter({1, 16, 64}, {});
  dy::nn::ModuleList<Block> blocks;
  dy::nn::LayerNorm norm{{64}};
  dy::nn::Linear output{64, 10};
  Transformer() {
    dy::nn::init::normal_(places, 0, 0.02);
    add("patches", patches), add_parameter("places", places), add("blocks", blocks), add("norm", norm), add("output", output);
    for (int i = 0; i < 3; ++i) blocks.append(std::make_shared<Block>());
  }
  dy::Tensor forward(const dy::Tensor& images) override {
    dy::Tensor x = dy::flatten(patches(images), 2).transpose(1, 2) + places;
    for (Block* block : blocks) x = (*block)(x);
    return output(dy::mean(norm(x), {1}));
  }
  const char* kind() const override { return "Transformer"; }
};

int main(int argc, char** argv) {
  const auto make = [] { return std::make_shared<Transformer>(); };
  const auto loss = [](dy::nn::Module& model, const Value& batch) {
    return dy::cross_entropy(model(batch[0]), batch[1], "none");
  };
  DataLoader train_loader(load(false), {.batch_size = 32, .shuffle = true});
  DataLoader test_loader(load(true), {.batch_size = 256});
  const dy::study::Study result = dy::study::study(make, train_loader, loss,
                                                   {.evaluation = test_loader,
                                                    .metric = dy::study::accuracy(),
                                                    .tolerance = 0.03,  // what 360 images can tell
                                                    .steps = argc > 1 ? std::atoi(argv[1]) : 600,
                                                    .optimizer_options = {{"lr", 2e-3}, {"weight_decay", 0.05}},
                                                    .per_layer = true,
                                                    .name = "vit",
                                                    .out = argc > 2 ? argv[2] : ""});
  std::printf("%s\nReport: %s/report.html\n", result.text().c_str(), result.folder.c_str());
}
