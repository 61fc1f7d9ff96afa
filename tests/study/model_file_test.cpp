// A trained model's folder: a GPT-2 of Hugging Face's form with a tokenizer, and what this program reads from it.
#include "study/model_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "dyadic/dyadic.h"
#include "dyadic/models.h"
#include "dyadic/tokenizer.h"

namespace dyadic::inline v1::study {
namespace {

std::string folder(const char* name) {
  const std::string path = ::testing::TempDir() + name;
  std::filesystem::create_directories(path);
  return path;
}

TEST(ModelFile, IsAModelForEveryReader) {
  manual_seed(4);
  for (bool bias : {true, false}) {
    models::Gpt gpt({.vocab = 300, .block = 16, .layers = 2, .heads = 2, .width = 32, .bias = bias});
    for (auto& [name, p] : gpt.named_parameters()) p.detach().copy_(randn(p.sizes()) * 0.3);
    gpt.eval();
    const std::string path = folder("trained");
    save_model(path, gpt, Vocabulary(), {{"preset", "nano"}, {"run", "this one"}});
    const Tensor ids = randint(0, 256, {3, 16});
    const NoGrad guard;
    const Tensor want = gpt.forward(ids), got = models::load(path)(ids);
    EXPECT_LT(max(abs(got - want)).item(), 1e-5 * max(abs(want)).item());

    const TrainedModel back = load_model(path);
    EXPECT_TRUE(is_trained(path));
    EXPECT_EQ(back.preset, "nano");
    EXPECT_EQ(back.model->config.bias, bias);
    EXPECT_TRUE(equal(back.model->forward(ids), want));
    const auto all = gpt.named_parameters(), again = back.model->named_parameters();
    ASSERT_EQ(all.size(), again.size());
    for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(equal(all[i].second, again[i].second)) << all[i].first;
  }
}

TEST(ModelFile, ItsTokenizerIsTheVocabulary) {
  std::string text = "The R\u00f6mer \u20ac \U0001f600\n\t ";
  for (int b = 0; b < 256; ++b) text += char(b);
  const models::Gpt gpt({.vocab = 256, .block = 8, .layers = 1, .heads = 1, .width = 8});
  const std::string path = folder("vocabulary");
  save_model(path, gpt, Vocabulary(), {});
  Tokenizer t = Tokenizer::load(path);
  EXPECT_EQ(t.vocab_size(), 256);
  EXPECT_EQ(t.encode(text), Vocabulary().encode(text));
  EXPECT_EQ(t.decode(t.encode(text)), text);

  const Vocabulary chars({'\n', ' ', '"', '\\', 'a', 'b', 0xf6, 0x20ac, 0x1f600});
  save_model(path, gpt, chars, {});
  t = Tokenizer::load(path);
  const std::string some = "ab \u20ac\"\\\n\U0001f600\u00f6 a";
  EXPECT_EQ(t.encode(some), chars.encode(some));
  EXPECT_EQ(t.decode(t.encode(some)), some);
}

TEST(ModelFile, OthersAreNone) {
  const std::string path = folder("other");
  EXPECT_FALSE(is_trained(path));
  io::save_safetensors(path + "/model.safetensors", {{"w", ones({2})}}, {});
  EXPECT_FALSE(is_trained(path));
  try {
    load_model(path);
    FAIL();
  } catch (const ValueError& e) { EXPECT_NE(std::string(e.what()).find("dyadic train"), std::string::npos) << e.what(); }
}

}  // namespace
}  // namespace dyadic::inline v1::study
