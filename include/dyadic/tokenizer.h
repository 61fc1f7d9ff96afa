// Text to token ids and back, as Hugging Face's tokenizers and llama.cpp do it, and chats to text by a model's own template.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1 {

namespace text {
struct TokenizerState;
}

// The vocabulary of a GGUF file, as its metadata has it (tokenizer.ggml.*); whoever reads the file fills it in.
struct StoredVocabulary {
  std::string model;  // "llama" (SPM), "gpt2" (BPE), "gemma4" (BPE of characters), "bert" (WPM), "t5" (UGM)
  std::string pre;    // of BPE: which pattern cuts the text ("llama-bpe", "qwen2" ...)
  std::vector<std::string> tokens;
  std::vector<float> scores;        // SPM and UGM
  std::vector<int32_t> types;       // 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte; or none
  std::vector<std::string> merges;  // of BPE: "left right"
  int64_t bos = -1, eos = -1, unknown = -1, separator = -1, padding = -1, mask = -1;  // -1: there is none
  std::optional<bool> add_bos, add_eos, add_separator, add_space_prefix;              // nothing: what the model's kind does
  std::string precompiled_charsmap;                                                   // of UGM: the bytes
  bool remove_extra_whitespaces = false;
  std::optional<bool> lowercase, strip_accents;  // of WPM: nothing is yes, and as lowercase; "whitespace": no
  std::string chat_template;
};

struct ChatOptions {
  std::string tools;  // a JSON list; empty: none
  bool add_generation_prompt = false;
  std::string variables;      // a JSON object: what else the template may name ("enable_thinking" ...); empty: nothing
  int64_t now = -1;           // for strftime_now, seconds since 1970 in UTC; -1: the clock
  std::string chat_template;  // another than the tokenizer's own; empty: its own
};

enum class Truncation : uint8_t { longest_first, only_first, only_second };  // whose end goes where texts are too long
struct EncodeOptions {
  bool add_special_tokens = true;
  std::optional<int64_t> max_length = {};  // with those that frame the texts, which stay
  Truncation truncation = Truncation::longest_first;
};
// A text, or two, as a model gets them.
struct Encoding {
  std::vector<int64_t> ids, type_ids;  // type_ids: to which text each counts, as the tokenizer has it
  std::vector<bool> special;           // those that frame a text
};

struct TrainBpeOptions {
  int64_t vocab_size = 8192;  // with the 256 bytes and the special tokens
  int64_t min_frequency = 2;  // of a pair that is merged
  std::vector<std::string> special_tokens;
  std::string pattern;  // how text is cut into words; empty: GPT-2's
};

// A value: copies share one state, which never changes; all methods may be called from several threads at once.
class Tokenizer {
  std::shared_ptr<const text::TokenizerState> state_;
  explicit Tokenizer(std::shared_ptr<const text::TokenizerState> s) : state_(std::move(s)) {}

 public:
  // A tokenizer.json, or a folder with one and perhaps tokenizer_config.json, chat_template.jinja; a GGUF file, or a folder
  // with one: its "tokenizer.huggingface.json" where it has that, else its vocabulary. ValueError "<file>: ..." for what is not
  // as it must be or not supported.
  static Tokenizer load(const std::string& path);
  static Tokenizer from_json(std::string_view tokenizer, std::string_view config = {}, std::string_view chat_template = {});
  static Tokenizer from_vocabulary(StoredVocabulary vocabulary);
  // Byte-level BPE: the most frequent pair is merged first, of equals the one whose ids are smaller. The same for any number of
  // threads.
  static Tokenizer train_bpe(const std::vector<std::string>& texts, const TrainBpeOptions& options = {});
  // As tokenizer.json; ValueError for a vocabulary without a file, or that has no such form.
  void save(const std::string& path) const;
  // tokenizer.json and what stood beside it (tokenizer_config.json, special_tokens_map.json, chat_template.jinja), of a GGUF
  // file's the same made from its keys, in a folder, which is made if need be.
  void save_pretrained(const std::string& folder) const;
  std::map<std::string, std::string> files() const;  // what that writes, by name
  // A tokenizer.json as GGUF files keep it, of `size` tokens or, at 0, of vocab_size(): what is beyond that is never made.
  // Byte-level BPE, and BPE that falls back to bytes; ValueError for others, for a way of cutting text that GGUF has no name
  // for, and where the tokenizer has more tokens than that.
  StoredVocabulary stored_vocabulary(int64_t size = 0) const;

  // Any bytes: those that are no UTF-8 come back from decode where the vocabulary has bytes.
  std::vector<int64_t> encode(std::string_view text, bool add_special_tokens = true) const;
  // ValueError where the frame alone is longer than max_length, or that of two texts is not known.
  Encoding encode_full(std::string_view text, std::optional<std::string_view> pair = {},
                       const EncodeOptions& options = {}) const;
  std::vector<std::vector<int64_t>> encode_batch(const std::vector<std::string>& texts, bool add_special_tokens = true) const;
  // Ids to go on from: those of encode, but a text that begins with the BOS itself, as chats do, gets no second one.
  std::vector<int64_t> encode_prompt(std::string_view text) const;
  // Ids above all tokens' say nothing; ValueError for one below 0. Bytes as the tokens have them: half a character stays half a
  // character.
  std::string decode(const std::vector<int64_t>& ids, bool skip_special_tokens = false) const;

  int64_t vocab_size() const;  // the largest id + 1, added tokens among them
  std::optional<int64_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int64_t id) const;
  bool is_special(int64_t id) const;
  std::optional<int64_t> bos_id() const;
  std::optional<int64_t> eos_id() const;

  bool has_chat_template() const;
  // `messages` is a JSON list of {"role": ..., "content": ...}. ValueError "chat template, line 3: ..." where the template says
  // so (raise_exception), is not supported, or takes more steps or text than it may.
  std::string apply_chat_template(std::string_view messages, const ChatOptions& options = {}) const;
  // The same as ids, with exactly one BOS at the beginning where the tokenizer begins texts with one.
  std::vector<int64_t> encode_chat(std::string_view messages, const ChatOptions& options = {}) const;

  friend class TokenStream;
};

// Text of tokens that come one at a time. What push() gives never ends within a character.
class TokenStream {
  Tokenizer tokenizer_;
  bool skip_special_tokens_;
  std::vector<int64_t> ids_;
  size_t shown_ = 0;  // bytes of ids_'s text that were given

 public:
  explicit TokenStream(Tokenizer tokenizer, bool skip_special_tokens = true)
      : tokenizer_(std::move(tokenizer)), skip_special_tokens_(skip_special_tokens) {}
  std::string push(int64_t id);
  std::string finish();  // what is left, half a character too
};

}  // namespace dyadic::inline v1
