// Fine-tuning of language models: all weights, or an adapter on weights of any format.
//
//   auto m = dy::models::load("path/to/Qwen3-0.6B", {.linear = dy::nf4});
//   auto t = dy::Tokenizer::load("path/to/Qwen3-0.6B");
//   auto report = dy::tune::finetune(*m, t, {dy::tune::read_data("chat.jsonl")},
//                                    {.lora = dy::models::LoraConfig{.r = 16, .lora_alpha = 32}, .out = "runs/chat"});
//
// The same data, options and seed give the same bits, for any number of threads, killed and resumed or not.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyadic/adapters.h"
#include "dyadic/data_parallel.h"
#include "dyadic/tokenizer.h"

namespace dyadic::inline v1::tune {

// Tokens, and which of them are learned: the loss is the mean of -log p over these, given all tokens before each.
struct Sample {
  std::vector<int64_t> ids;
  std::vector<bool> learned;  // of ids; the first, which nothing comes before, never is
};

enum class TooLong { cut, drop, refuse };  // what becomes of a chat or an answer of more tokens than `context`
TooLong parse_too_long(std::string_view word);

struct SampleOptions {
  nn::ByName by_name = {};
  int64_t context = 512;
  TooLong too_long = TooLong::cut;  // its end goes; it is dropped if nothing that is learned is left
};
struct Samples {
  std::vector<Sample> all;
  int64_t cut = 0, dropped = 0;  // samples that were too long
  int64_t split = 0;             // chats whose template shows earlier answers otherwise: each answer became a sample
  int64_t tokens() const;
  int64_t learned() const;
};
// A JSON object per line, one of
//   {"messages": [{"role": "user", "content": ...}, {"role": "assistant", "content": ...}, ...]}, perhaps with "tools": as the
//     tokenizer's chat template writes it. Learned is what the assistant says, with the token that ends it, and nothing else:
//     what the template writes beyond the text that it writes to ask for that answer.
//   {"prompt": TEXT, "completion": TEXT}: the completion is learned, and the tokenizer's EOS after it
//   {"text": TEXT}: all of it is learned, and the EOS; a longer one becomes several samples of `context` tokens
// ValueError "<name>: line 3: ..." for another line, a chat in which no assistant says anything, one that the template refuses,
// a chat where the tokenizer has no template; and where there is nothing to learn.
Samples read_samples(std::string_view jsonl, const std::string& name, const Tokenizer& tokenizer,
                     const SampleOptions& options = {});

struct Data {
  std::string jsonl, name;  // the name is for messages
};
Data read_data(const std::string& path);  // a file; one whose name does not end in .jsonl or .json is one {"text": ...}

// "rank=16,alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora,dora": alpha is twice the rank unless it is given, the targets
// are all-linear. ValueError for another word.
models::LoraConfig parse_lora(std::string_view text);

// What an adapter's additions are added to. `best`: that of the three after which the loss over probe samples is smallest.
enum class Merge { none, best, dequantized, original, requantized };
Merge parse_merge(std::string_view word);
const char* merge_name(Merge m);

struct Step {
  int64_t step, steps;
  double loss;  // of this step, in nats per learned token
  double lr;
  double tokens_per_s;              // of this step, learned or not
  std::optional<double> eval_loss;  // where the model was evaluated after this step
};

struct FinetuneOptions {
  nn::ByName by_name = {};
  std::optional<models::LoraConfig> lora = {};  // none: all weights are trained, or the adapter that the model has
  int64_t context = 512;                        // tokens of a row
  TooLong too_long = TooLong::cut;
  // Several samples in a row, of which none sees another (CausalLM::forward_packed). Else a row each, padded on its right.
  bool packing = true;
  std::optional<int64_t> steps = {};  // of the optimizer; else as many as `epochs` take
  double epochs = 1;
  int64_t batch = 4, accumulate = 1;  // rows at once; batches whose gradients make one step
  std::optional<double> lr = {};      // at its largest; 2e-4 of an adapter, 2e-5 of all weights
  double warmup = 0.03;               // share of the steps in which it rises; then a cosine to a tenth
  double weight_decay = 0, clip = 1;  // clip: largest norm of all gradients
  std::string optimizer = "AdamW";
  DType state = {};    // of the optimizer's states: dynamic8 ...; empty: float32
  DType compute = {};  // autocast: bf16 or f16; empty: as the weights are
  std::optional<Data> eval = {};
  double eval_split = 0;         // else this share of the samples, drawn by the seed, is held back
  int64_t eval_every = 0;        // steps; 0: before the first and after the last
  int64_t checkpoint_every = 0;  // steps; 0: only when it is interrupted
  bool keep_zeros = false;       // weights that are zero stay so, in merging too: of a pruned model (prune::Masks)
  // Bytes that all tensors of a step may take; 0: no limit. To fit, backward makes calls of forward again, to the same bits;
  // OutOfMemoryError that names the least before anything is trained.
  int64_t memory_limit = 0;
  uint64_t seed = 0;
  // On several processes (dyadic/data_parallel.h): the rows of a step, batch x accumulate, are cut into so many shards, each of
  // which runs at once: the same bits on any number of ranks. 0: 8 of them on several ranks, `accumulate` where that is more,
  // at most as many as there are rows; alone none. Files are the first rank's.
  int64_t shards = 0;
  distributed::Spread spread = distributed::Spread::none;  // frozen weights in their format too
  DType wire = {};                                         // of gradients of shards on their way
  bool measure = false;                                    // FinetuneReport::measured; resets the ledger's peaks
  // A folder for the adapter in PEFT's files or the whole model, history.csv, checkpoints (removed at the end) and merged/.
  // Empty: nothing is written. ValueError where a run's files are there already, unless `resume`, which goes on with that run.
  std::string out = {};
  bool resume = false;
  Merge merge = Merge::none;
  std::string model_path =
      {};                 // the folder that the model came from: its tokenizer is copied, "original" weights are read there
  bool progress = false;  // a bar or lines on standard error
  bool (*on_step)(void* caller, const Step& step) = nullptr;  // after each; false: stop, with a checkpoint
  void* caller = nullptr;
};

struct MemoryUse {  // bytes at each one's peak
  int64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, peak = 0;
};
struct MergeChoice {
  Merge into = Merge::none;
  double error = 0;   // mean Kullback-Leibler divergence from what was trained, in nats, over the probe's tokens
  double loss = 0;    // over the probe's learned tokens
  int64_t bytes = 0;  // of the merged model
  bool chosen = false;
};
struct FinetuneReport {
  bool finished = false;  // false: interrupted, with a checkpoint if there is a folder
  int64_t steps = 0, samples = 0, rows = 0, eval_samples = 0;
  int64_t tokens = 0, learned = 0;  // of the training samples
  int64_t cut = 0, dropped = 0, split = 0;
  int64_t trained = 0;    // parameters
  double train_loss = 0;  // of the last step
  std::optional<double> eval_loss_before, eval_loss;
  double seconds = 0;
  MemoryUse predicted, measured;          // of this rank
  int64_t shards = 0, sent_per_step = 0;  // sent: bytes to other ranks, at most
  int64_t repeated_calls = 0;             // of forward, that backward makes again in each step to fit into memory_limit
  std::vector<MergeChoice> merges;
};

// What a step will take at most, by running it without memory.
MemoryUse predict(models::CausalLM& model, const FinetuneOptions& options);

// Changes the model: it has an adapter afterwards, or other weights. ValueError before any work for data or options that do not
// fit it: weights of a format that takes no gradients, without `lora`; tokens that it has no place for.
FinetuneReport finetune(models::CausalLM& model, const Tokenizer& tokenizer, const Data& data,
                        const FinetuneOptions& options = {});

}  // namespace dyadic::inline v1::tune
