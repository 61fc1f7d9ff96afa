// GGUF files of other programs, which carry no tokenizer.json, as folders.
#include "dyadic/text_generation.h"
#include "tests/models/gguf_models.h"

namespace dyadic::testing {
namespace {

using namespace models;

TEST(GgufVocabulary, BecomesATokenizerJson) {
  Folder folder;
  const std::string file = folder / "stripped.gguf", back = folder / "back";
  convert(small_model(), folder / "own.gguf"), strip(folder / "own.gguf", file);
  convert(file, back);
  EXPECT_TRUE(fs::exists(back + "/tokenizer.json"));
  const Tokenizer own = Tokenizer::load(small_model()), stored = Tokenizer::load(file), t = Tokenizer::load(back);
  const std::string chat = R"([{"role":"user","content":"Hi, 123 of\n\n  \t\u00fc\ud83d\ude00"}])";
  for (const char* text : {"", "Once upon a 1234 time <|end|> x", " \xff\xe4\xb8 \n\n", "\xe4\xb8\xad\xe6\x96\x87 e\xcc\x81"})
    for (const Tokenizer* other : {&own, &stored}) {
      EXPECT_EQ(t.encode(text), other->encode(text)) << text;
      EXPECT_EQ(t.decode(t.encode(text), true), other->decode(other->encode(text), true)) << text;
    }
  EXPECT_EQ(t.encode_chat(chat, {.add_generation_prompt = true}), own.encode_chat(chat, {.add_generation_prompt = true}));
  EXPECT_EQ(t.bos_id(), own.bos_id());
  EXPECT_EQ(t.eos_id(), own.eos_id());
  const json config = json::parse(text_of_file(back + "/tokenizer_config.json"));
  EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_TRUE(config["chat_template"].is_string());
  const TextOptions o{.generate = {.max_new_tokens = 8}};
  EXPECT_EQ(generate_text(*models::load(back), t, "Once", o).text, generate_text(*models::load(file), stored, "Once", o).text);
}

TEST(GgufVocabulary, WithoutAFormMakesNoFile) {
  Folder folder;
  convert(small_model(), folder / "own.gguf"), strip(folder / "own.gguf", folder / "stripped.gguf");
  const auto whole = io::GgufFile::open(folder / "stripped.gguf");
  io::GgufMetadata keys;
  for (auto& [key, value] : whole->values())
    keys.emplace_back(key, key == "tokenizer.ggml.pre" ? io::GgufValue(std::string("martian")) : value);
  io::save_gguf(folder / "other.gguf", whole->tensors(), [&](size_t i) { return whole->get(i); }, keys);
  ::testing::internal::CaptureStderr();
  convert(folder / "other.gguf", folder / "back");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no tokenizer.json"), said.npos) << said;
  EXPECT_NE(said.find("\"martian\" is not known"), said.npos) << said;
  EXPECT_TRUE(fs::exists(folder / "back/model.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "back/tokenizer.json"));
}

}  // namespace
}  // namespace dyadic::testing
