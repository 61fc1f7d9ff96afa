// How well a language model predicts text: perplexity, its distance from another model, and questions with choices.
//
//   auto m = dy::models::load("path/to/Qwen3-0.6B");
//   auto t = dy::Tokenizer::load("path/to/Qwen3-0.6B");
//   auto p = dy::models::perplexity(*m, t, text);  // p.perplexity +- p.perplexity_stderr
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/models.h"
#include "dyadic/tokenizer.h"

namespace dyadic::inline v1::models {

struct PerplexityOptions {
  nn::ByName by_name = {};
  int64_t window = 512;
  // 0: llama-perplexity's rule. The text is cut into windows of `window` tokens, what is left over is passed by; `bos` takes
  // the place of each one's first token; tokens window / 2 + 1 ... window - 1 of each are scored. Of fewer than two windows it
  // says little: ValueError. Else windows begin `stride` tokens apart, and each token but the first is scored once, in the
  // first window that has it.
  int64_t stride = 0;
  std::optional<int64_t> bos = {};   // nothing: the first token stays
  std::optional<KvFormats> kv = {};  // of the keys and values that the model keeps (not its base); unset: CausalLM::kv
  CausalLM* base = nullptr;          // what the model is compared with, token by token; of the same vocabulary
  bool (*progress)(void* context, int64_t done, int64_t windows) = nullptr;  // before each window; false: that is enough
  void* context = nullptr;
};

struct Divergence {           // of a model from its base, over the scored tokens
  double kl_mean, kl_stderr;  // Kullback-Leibler of the whole distribution, in nats
  double kl_p99;              // 99 of 100 tokens have less
  double nll_change;          // nll less the base's: the logarithm of the perplexities' ratio
  double nll_change_stderr;   // of the tokens' differences, whose surprises come and go together
  double same_top;            // how often both find the same token likeliest
  double same_top_stderr;
  double rms_dp;  // of the difference of the probabilities that both give to the token that comes
};
struct Perplexity {
  double perplexity, perplexity_stderr;  // exp(nll), and that times nll_stderr
  double nll, nll_stderr;                // mean of -log p, in nats; sqrt(variance / (tokens - 1))
  int64_t tokens;                        // scored
  int64_t window, stride;
  std::optional<Divergence> divergence;
};
Perplexity perplexity(CausalLM& m, const std::vector<int64_t>& ids, const PerplexityOptions& options = {});
// Of a text, with the tokenizer's BOS where it begins texts with one.
Perplexity perplexity(CausalLM& m, const Tokenizer& tokenizer, std::string_view text, PerplexityOptions options = {});

struct Question {
  std::string context;
  std::vector<std::string> choices;
  int64_t answer = 0;  // the right one's number
};
// A line {"context": TEXT, "choices": [TEXT, ...], "answer": NUMBER} each; ValueError "<name>: line 3: ...".
std::vector<Question> read_questions(std::string_view jsonl, const std::string& name);

struct TaskScore {
  double acc, acc_stderr;            // how often the likeliest choice is right
  double acc_norm, acc_norm_stderr;  // the same of log-probabilities divided by the choice's characters
  int64_t questions;
  std::vector<std::vector<double>> log_probabilities;  // of each question's choices
};
// A choice follows its context after a blank, unless either has one there; what it is scored by is the sum of its tokens'
// log-probabilities.
TaskScore multiple_choice(CausalLM& m, const Tokenizer& tokenizer, const std::vector<Question>& questions,
                          bool (*progress)(void* context, int64_t done, int64_t questions) = nullptr, void* context = nullptr);

}  // namespace dyadic::inline v1::models
