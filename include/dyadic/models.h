// Language models as Hugging Face's folders hold them: a config.json, files of weights. Modules have the names of those
// weights.
//
//   auto m = dy::models::load("path/to/Qwen3-0.6B", {.dtype = dy::bf16});
//   dy::Tensor logits = m(ids);                               // i64 [B, T] -> [B, T, vocab]
//   dy::Tensor all = m.generate(ids, {.max_new_tokens = 64});  // [B, T + 64], the first T as they were
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/nn.h"
#include "dyadic/offload.h"
#include "dyadic/tensor_file.h"

namespace dyadic::inline v1 {
class Tokenizer;
}
namespace dyadic::inline v1::models {

// Formats in which keys and values are kept, each head's row of a token by itself. An undefined one: as the model computes
// them.
struct KvFormats {
  nn::ByName by_name = {};
  DType keys = {}, values = {};  // a scaled format, or a float of 8 bits or more
  // Keys, and queries with them, are rotated by a Hadamard matrix: what stands in few of their numbers is spread over all, and
  // scores stay. Unset: where the keys have scales, which their neighbours share.
  std::optional<bool> rotate_keys = {};

  static KvFormats parse(std::string_view text);  // "q8_0", or "q8_0:q4_0" for keys and values
  bool rotates() const;
  void check() const;  // ValueError for formats that keys and values cannot be kept in
  // ValueError where rows of `width` numbers are no whole blocks.
  static void check_width(const char* what, DType format, int64_t width);
};

// What is kept of the tokens that a model has seen, so that a forward computes the new ones alone: keys and values, in layers
// with a window as many as it still shows; in recurrent layers a state of one size. Not for training: nothing here is recorded.
class Cache {
 public:
  struct Recurrent {
    Tensor recent;  // [B, so many, channels]: what a short convolution still reaches
    Tensor memory;  // [B, heads, keys, values]
  };

 private:
  struct Held {
    Tensor keys, values;  // [B, heads, room, D], of which begin ... end are in use
    int64_t begin = 0, end = 0;
    Recurrent recurrent;
  };
  std::vector<Held> layers_;
  KvFormats kv_;
  int64_t reserve_, length_ = 0, expected_ = 0;

 public:
  // reserve: room for so many tokens at once; more is found when needed.
  explicit Cache(int64_t reserve = 0, const KvFormats& kv = {}) : kv_(kv), reserve_(reserve) { kv.check(); }
  int64_t length() const { return length_; }  // tokens seen
  const KvFormats& formats() const { return kv_; }
  int64_t nbytes() const;  // of what it has room for
  void clear() { layers_.clear(), length_ = expected_ = 0; }
  // So many tokens come in the end. Some models turn positions otherwise in long texts: of one that is given in pieces all
  // pieces are to be taken as parts of it.
  void expect(int64_t tokens) { expected_ = tokens; }
  int64_t expected() const { return expected_; }

  struct Seen {
    Tensor keys, values;   // [B, heads, S, D], in the formats they are kept in; views of the cache until the next append
    int64_t first = 0;     // the position of the first of them
    bool rotated = false;  // keys are, so queries must be
    Seen plain(DType dtype) const;  // the same in a plain dtype, keys as they were
  };
  // New keys and values of layer i, [B, heads, T, D], after what is kept of those before: all, or with a window above 0 as many
  // as the first new token sees.
  Seen append(size_t layer, const Tensor& keys, const Tensor& values, int64_t window);
  // The state of layer i, of a recurrent kind: undefined tensors at first, which the layer sets.
  Recurrent& recurrent(size_t layer, int64_t batch);
  void advance(int64_t tokens) { length_ += tokens; }  // once all layers have appended
};

class Streamer {  // is told of tokens as they are made
 public:
  virtual ~Streamer();
  virtual bool put(std::span<const int64_t> tokens) = 0;  // one for each row; false: that is enough
};

struct GenerateOptions {
  nn::ByName by_name = {};
  int64_t max_new_tokens = 20;
  // False: always the likeliest token. Else one drawn from what is left of the distribution after these, in this order.
  bool do_sample = false;
  double repetition_penalty = 1;  // also of the greedy choice: logits of tokens seen are divided (positive) or multiplied by it
  double temperature = 1;
  int64_t top_k = 0;                                      // the likeliest so many; 0: all
  double top_p = 1;                                       // the likeliest that together have this probability
  double min_p = 0;                                       // those with this share of the likeliest one's probability
  std::optional<std::vector<int64_t>> eos_token_id = {};  // unset: CausalLM::eos_token_ids(); empty: none
  std::optional<int64_t> pad_token_id = {};               // what follows a row's end; unset: the configuration's, or its end
  Tensor attention_mask = {};                             // [B, T], zeros first where a shorter row is padded on its left
  uint64_t seed = 0;                                      // the same seed makes the same choices, whatever else is drawn
  int64_t prompt_chunk = 512;                             // tokens of the prompt per forward
  std::vector<std::string> stop_strings = {};             // a row ends with the token that completes one; needs the tokenizer
  const Tokenizer* tokenizer = nullptr;
  // What it holds are the first tokens of ids, which are not read again; then of what is returned all but the last.
  Cache* cache = nullptr;
  std::optional<KvFormats> kv = {};  // of the cache that is made where none is given; unset: CausalLM::kv
  Streamer* streamer = nullptr;
};

class Adapter;

// More than ids in, or more than logits out.
struct ForwardOptions {
  nn::ByName by_name = {};
  Cache* cache = nullptr;  // holds what came before, and then these as well: nothing is recorded
  // With a cache: i64 [B], how many tokens each row begins with that are none, counted from the cache's first. Without: [B, T],
  // where each token's text begins (forward_packed).
  Tensor pad = {};
  Tensor embeddings = {};   // [B, T, width], as the embedding gives them, in the place of ids
  Tensor token_types = {};  // i64 [B, T], of an encoder that is told: to which of two texts a token belongs
  bool last_alone = false;  // logits of each row's last token, [B, 1, vocab]
  // Gets what enters the first layer and what each of them gives, the last one's behind the norm.
  std::vector<Tensor>* hidden_states = nullptr;
};

class CausalLM : public nn::Module {
 public:
  std::string config;                // config.json as it was read
  std::string generation_config;     // generation_config.json, or empty
  KvFormats kv;                      // of caches that generate() and perplexity() make
  std::shared_ptr<Adapter> adapter;  // of load_adapter and add_adapter (adapters.h); null: none
  explicit CausalLM(std::string config_json) : config(std::move(config_json)) {}

  using Module::operator();
  // The logits of rows that hold several texts one after another: starts i64 [B, T], the place in the row where each token's
  // text begins. No token sees another text, and positions count from the text's first. ValueError where a layer is recurrent,
  // and so sees all that came before.
  Tensor forward_packed(const Tensor& ids, const Tensor& starts);
  // The logits of tokens that follow those in the cache, which then has these as well. pad: i64 [B], how many tokens each row
  // begins with that are none, counted from the cache's first.
  Tensor operator()(const Tensor& ids, Cache& cache, const Tensor& pad = {});
  Tensor forward(const Tensor& ids) override { return head(hidden(ids, {})); }
  // ids may be undefined where embeddings are given.
  Tensor forward_with(const Tensor& ids, const ForwardOptions& options);
  // Reads tokens into the cache; the logits of what follows each row's last alone, [B, 1, vocab].
  Tensor read(const Tensor& ids, Cache& cache, const Tensor& pad = {});
  // What ends a text: as generation_config says, else config.
  std::vector<int64_t> eos_token_ids() const;
  virtual int64_t most_tokens() const { return 0; }  // a text has no more; 0: there is no such limit
  virtual int64_t vocab_size() const { return 0; }   // tokens that have an embedding; 0: not known
  // Rows for so many tokens in the embedding and the head: those beyond are cut off, each new one is the mean of the old ones.
  // The configuration says so too. ValueError for weights with scales, and models with more tables of tokens than these.
  void resize_token_embeddings(int64_t tokens);
  // Mean cross entropy of each token's successor, in nats. Labels of -100 are passed over. Where logits would take more than
  // 256 MiB, they are never whole: they are made in bands of tokens, and again in backward.
  Tensor loss(const Tensor& ids, const Tensor& labels);
  // The same summed, of labels [B, T] that say what follows each token, in f32 or in a model's f64. starts: of forward_packed.
  Tensor summed_loss(const Tensor& ids, const Tensor& labels, const Tensor& starts = {});
  // ids with what the model makes of them. Rows that are finished go on with pad_token_id; ends when all are, or the text is as
  // long as the model can read.
  Tensor generate(const Tensor& ids, const GenerateOptions& options = {});
  // config.json, generation_config.json where there is one, and model.safetensors, or several files and their index, in a
  // folder, which is made if need be. With an adapter that alone is saved, as transformers does. packing: how weights with
  // scales are written, in the words of config.json's quant_method: "gptq", "awq", "bitsandbytes", "compressed-tensors" or
  // "fp8", so that the tools of that name read them; the embedding and the head, which those leave alone, are then written
  // decoded. Empty: as they came where they still are what they were, else plane by plane. ValueError for weights that the
  // packing has no place for.
  void save_pretrained(const std::string& folder, uint64_t max_shard_size = 50'000'000'000, const std::string& packing = "");

 protected:
  // Texts longer than this are computed anew from their beginning; 0: there is no such length.
  virtual int64_t turning_point() const { return 0; }
  // What the head makes logits of, [B, T, width]; of each row's last token alone [B, 1, width].
  virtual Tensor hidden(const Tensor& ids, const ForwardOptions& options) = 0;
  virtual Tensor head(const Tensor& hidden) = 0;  // [..., width] -> [..., vocab]
  // The layers with a row for each token, which resize_token_embeddings changes.
  virtual std::vector<nn::Module*> tables_of_tokens() { return {}; }

 private:
  Tensor loss_of(const Tensor& hidden, const Tensor& labels, bool mean);
};

// A model that is held: what load gives.
class Model {
  std::shared_ptr<CausalLM> module_;

 public:
  Model(std::shared_ptr<CausalLM> module) : module_(std::move(module)) {}
  Tensor operator()(const Tensor& ids) const { return (*module_)(ids); }
  Tensor operator()(const Tensor& ids, Cache& cache) const { return (*module_)(ids, cache); }
  Tensor generate(const Tensor& ids, const GenerateOptions& options = {}) const { return module_->generate(ids, options); }
  CausalLM& operator*() const { return *module_; }
  CausalLM* operator->() const { return module_.get(); }
  const std::shared_ptr<CausalLM>& ptr() const { return module_; }
};

struct LoadOptions {
  nn::ByName by_name = {};
  // Any format. Empty: as the file has it. Floats of 16 bits and more: of all parameters. Narrower and scaled ones: of the
  // weights that products or lookups read (nn::quantizable); the others are float32.
  DType dtype = {};
  Device device = cpu;  // meta: nothing of the weights is read
  // A scaled format for the weights of linear layers alone, but of those whose path has one of the names in `skip`; dtype is
  // then that of the others. bitsandbytes' way.
  DType linear = {};
  std::vector<std::string> skip = {"lm_head"};
  // What stays on disk, frozen (offload.h); empty: nothing. Where the model's file has a weight as it is wanted it is read from
  // there; what is converted is written into a file in offload_folder first, which is needed only then.
  DeviceMap device_map = {};
  std::string offload_folder = {};
};

// The architecture that a config.json names, its weights uninitialized: ValueError where it is none of families().
std::shared_ptr<CausalLM> make(const std::string& config_json, nn::Options options = {});
std::vector<std::string> families();  // values of "model_type"
// Random weights for one that was made: matrices are normal, as wide as the configuration's initializer_range, biases 0.
void initialize(CausalLM& model);

// With the weights of a file by their names in Hugging Face's files, each read and converted in turn. ValueError naming what is
// missing, or has another shape. Tensors that the architecture has no place for (a vision tower, predictors of several tokens)
// are logged in a line and passed by.
std::shared_ptr<CausalLM> from_file(const std::string& config_json, const io::TensorFile& file,
                                    const LoadOptions& options = {});
// A folder with config.json and model.safetensors, or the shards that model.safetensors.index.json names; or a GGUF file, or a
// folder with one: its configuration is its own config.json where it carries one, else what its keys say, and its weights stay
// in the formats they have there.
Model load(const std::string& path, const LoadOptions& options = {});
std::string config_json(const std::string& path);  // of what load takes

}  // namespace dyadic::inline v1::models
