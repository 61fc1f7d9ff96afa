// The tokenizer that a GGUF file carries: Hugging Face's own JSON, or the vocabulary in its keys.

#include "base/check.h"
#include "base/json.h"
#include "dyadic/gguf.h"
#include "text/gguf_vocabulary.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

class Keys {
  const io::GgufFile& file_;

 public:
  explicit Keys(const io::GgufFile& file) : file_(file) {}
  std::string text(const std::string& key) const { return file_.has_key(key) ? file_.text(key) : ""; }
  int64_t id(const char* name) const {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    return file_.has_key(key) ? file_.integer(key) : -1;
  }
  std::optional<bool> flag(const char* name) const {
    const std::string key = fmt::format("tokenizer.ggml.{}", name);
    if (!file_.has_key(key)) return {};
    const io::GgufValue value = file_.value(key);
    const bool* b = std::get_if<bool>(&value);
    DY_CHECK_AS(ValueError, b, "key \"{}\": it is no bool", key);
    return *b;
  }
  template <class T> std::vector<T> numbers(const char* name, DType dtype) const {
    const std::string key = fmt::format("tokenizer.ggml.{}", name);
    if (!file_.has_key(key)) return {};
    const Tensor t = file_.numbers(key).to(dtype).contiguous();
    const T* data = static_cast<const T*>(t.data_ptr());
    return {data, data + t.numel()};
  }
  std::vector<std::string> strings(const char* name) const {
    const std::string key = fmt::format("tokenizer.ggml.{}", name);
    if (!file_.has_key(key)) return {};
    const auto all = file_.strings(key);
    return {all.begin(), all.end()};
  }
};

StoredVocabulary vocabulary_of(const Keys& keys) {
  StoredVocabulary v;
  v.model = keys.text("tokenizer.ggml.model"), v.pre = keys.text("tokenizer.ggml.pre");
  v.tokens = keys.strings("tokens"), v.merges = keys.strings("merges");
  v.scores = keys.numbers<float>("scores", f32), v.types = keys.numbers<int32_t>("token_type", i32);
  v.bos = keys.id("bos"), v.eos = keys.id("eos"), v.unknown = keys.id("unknown");
  v.separator = keys.id("seperator"), v.padding = keys.id("padding"), v.mask = keys.id("mask");  // so the first is spelled
  if (v.bos < 0) v.bos = keys.id("cls");
  v.add_bos = keys.flag("add_bos_token"), v.add_eos = keys.flag("add_eos_token");
  v.add_separator = keys.flag("add_sep_token"), v.add_space_prefix = keys.flag("add_space_prefix");
  v.remove_extra_whitespaces = keys.flag("remove_extra_whitespaces").value_or(false);
  v.lowercase = keys.flag("normalizer.lowercase"), v.strip_accents = keys.flag("normalizer.strip_accents");
  const std::vector<uint8_t> map = keys.numbers<uint8_t>("precompiled_charsmap", u8);
  v.precompiled_charsmap.assign(map.begin(), map.end());
  v.chat_template = keys.text("tokenizer.chat_template");
  return v;
}

// What tokenizer_config.json says of special tokens, by the ids of the keys.
std::string config_of(const io::GgufFile& file, const Keys& keys) {
  if (std::string config = keys.text("dyadic.file.tokenizer_config.json"); !config.empty()) return config;
  Json config = Json::object();
  if (!file.has_key("tokenizer.ggml.tokens")) return dump_json(config);
  const auto tokens = file.strings("tokenizer.ggml.tokens");
  const std::pair<const char*, const char*> names[] = {
      {"bos", "bos_token"}, {"eos", "eos_token"}, {"unknown", "unk_token"}, {"padding", "pad_token"}};
  for (auto& [name, token] : names)
    if (const int64_t id = keys.id(name); id >= 0 && size_t(id) < tokens.size()) config[token] = valid_utf8(tokens[size_t(id)]);
  return dump_json(config);
}

}  // namespace

StoredVocabulary vocabulary_of(const io::GgufFile& file) { return vocabulary_of(Keys(file)); }

std::shared_ptr<TokenizerState> read_gguf(std::shared_ptr<const io::GgufFile> from) {
  const io::GgufFile& file = *from;
  const Keys keys(file);
  if (const std::string json = keys.text("tokenizer.huggingface.json"); !json.empty())
    return tokenizer_state(json, config_of(file, keys), keys.text("tokenizer.chat_template"));
  const bool any = file.has_key("tokenizer.ggml.model") && file.has_key("tokenizer.ggml.tokens");
  DY_CHECK_AS(ValueError, any, "it has no tokenizer");
  auto state = vocabulary_state(vocabulary_of(keys));
  state->stored = std::move(from);
  return state;
}

}  // namespace dyadic::inline v1::text
