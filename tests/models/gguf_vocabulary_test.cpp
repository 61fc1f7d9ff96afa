// Tokenizers and GGUF's vocabularies: through one and back, and files of other programs, which carry no tokenizer.json, as
// folders.
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
  stored.save_pretrained(folder / "saved");
  const Tokenizer saved = Tokenizer::load(folder / "saved");
  const std::string chat = R"([{"role":"user","content":"Hi, 123 of\n\n  \t\u00fc\ud83d\ude00"}])";
  for (const char* text : {"", "Once upon a 1234 time <|end|> x", " \xff\xe4\xb8 \n\n", "\xe4\xb8\xad\xe6\x96\x87 e\xcc\x81"})
    for (const Tokenizer* other : {&own, &stored, &saved}) {
      EXPECT_EQ(t.encode(text), other->encode(text)) << text;
      EXPECT_EQ(t.decode(t.encode(text), true), other->decode(other->encode(text), true)) << text;
    }
  EXPECT_EQ(t.encode_chat(chat, {.add_generation_prompt = true}), own.encode_chat(chat, {.add_generation_prompt = true}));
  EXPECT_EQ(saved.encode_chat(chat), own.encode_chat(chat));
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

// Every tokenizer whose form GGUF has, through its vocabulary and back.
TEST(GgufVocabulary, GivesTheSameIds) {
  const json expected = json::parse(text_of_file(test_data("text/data/expected.json")));
  int64_t compared = 0;
  for (const char* name : {"llama3", "llama2", "gemma", "gpt2", "qwen2", "o200k", "starcoder", "deepseek", "mistral"}) {
    const std::string source = text_of_file(test_data(std::string("text/data/") + name + ".json"));
    const Tokenizer own = Tokenizer::from_json(source, R"({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})");
    const StoredVocabulary v = own.stored_vocabulary(own.vocab_size() + 3);
    EXPECT_EQ(v.tokens.size(), size_t(own.vocab_size() + 3));
    const Tokenizer t = Tokenizer::from_vocabulary(v);
    for (const auto& text : expected["texts"]) {
      const auto s = text.get<std::string>();
      const std::vector<int64_t> ids = own.encode(s, false);
      if (own.decode(ids) != s) continue;  // normalized, or spaces added at special tokens: GGUF has neither
      if (std::string(name) == "mistral" && std::ranges::any_of(ids, [&](int64_t i) { return own.is_special(i); })) continue;
      EXPECT_EQ(t.encode(s, false), ids) << name << ": " << s;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
  const auto refused = [](const char* name) {
    try {
      Tokenizer::load(test_data(std::string("text/data/") + name + ".json")).stored_vocabulary();
    } catch (const ValueError& e) { return std::string(e.what()); }
    return std::string();
  };
  EXPECT_NE(refused("clip").find("vocabulary:"), std::string::npos);
  EXPECT_NE(refused("bert_cased").find("vocabulary:"), std::string::npos);  // cuts no Chinese
  EXPECT_NE(refused("t5").find("vocabulary:"), std::string::npos);
  EXPECT_THROW(Tokenizer::load(test_data("text/data/gpt2.json")).stored_vocabulary(10), ValueError);
}

// WordPiece, through a file from which Hugging Face's own JSON was taken.
TEST(GgufVocabulary, KeepsBertsPieces) {
  Folder folder;
  const std::string model = folder / "model", file = folder / "a.gguf";
  const std::string source = text_of_file(test_data("text/data/bert.json"));
  const Tokenizer own = Tokenizer::from_json(source);
  fs::create_directories(model);
  std::ofstream(model + "/tokenizer.json") << source;
  json config = json::parse(text_of_file(model_data("bert") + "/config.json"));
  config["vocab_size"] = own.vocab_size(), config["architectures"] = {"BertModel"};
  std::ofstream(model + "/config.json") << config.dump();
  io::NamedTensors body;
  for (auto& [name, t] : io::load_safetensors(model_data("bert") + "/model.safetensors").tensors)
    if (name.starts_with("bert."))
      body.emplace_back(name.substr(5), name.find("word_embeddings") == name.npos ? t : randn({own.vocab_size(), t.size(1)}));
  io::save(model + "/model.safetensors", body);
  convert(model, file);
  const auto whole = io::GgufFile::open(file);
  io::GgufMetadata keys;
  for (auto& [key, value] : whole->values())
    if (key != "tokenizer.huggingface.json" && !key.starts_with("dyadic.")) keys.emplace_back(key, value);
  io::save_gguf(folder / "b.gguf", {}, [&](size_t) { return Tensor(); }, keys);
  const Tokenizer t = Tokenizer::load(folder / "b.gguf");
  EXPECT_EQ(whole->integer("tokenizer.ggml.cls_token_id"), 2);
  EXPECT_EQ(whole->text("tokenizer.ggml.model"), "bert");
  int64_t compared = 0;
  for (const auto& text :
       json::parse(text_of_file(test_data("text/data/expected.json")))["texts"].get<std::vector<std::string>>()) {
    if (text.size() >= 40) continue;  // this tokenizer's longest word; GGUF's has 1000
    EXPECT_EQ(t.encode(text), own.encode(text)) << text;
    compared += t.encode(text).size() > 2;
  }
  EXPECT_GT(compared, 50);
  const Encoding pair = t.encode_full("hi", "there"), of_own = own.encode_full("hi", "there");
  EXPECT_EQ(pair.ids, of_own.ids);
  EXPECT_EQ(pair.type_ids, of_own.type_ids);
}

}  // namespace
}  // namespace dyadic::testing
