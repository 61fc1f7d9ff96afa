// dyadic generate: text from a trained model, token by token.
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "cli/command.h"
#include "cli/sampler.h"
#include "study/model_file.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr uint64_t kStream = 0x67656e;  // of the choices; element i is token i's

struct GenerateOptions {
  std::string model, prompt;
  int64_t tokens = 256;
  uint64_t seed = 0;
  Sampling sampling;
};

// What the model says about the token after `ids`, of which it sees the last block.
Tensor next_logits(models::Gpt& model, const std::vector<int64_t>& ids) {
  int64_t n = std::min(int64_t(ids.size()), model.config.block);
  Tensor x = from_data(ids.data() + ids.size() - size_t(n), {1, n}, i64);
  return model.forward(x)[0][n - 1].to(f32).contiguous();
}

// An empty prompt: the text begins as if after a line break, or after the first token of a vocabulary without one.
std::vector<int64_t> first_tokens(const study::Vocabulary& v, const std::string& prompt) {
  if (!prompt.empty()) return v.encode(prompt);
  try {
    return v.encode("\n");
  } catch (const ValueError&) { return {0}; }
}

int generate(const GenerateOptions& o, const Common& common) {
  install_interrupt_handler();
  NoGrad guard;
  study::TrainedModel trained = study::load_model(o.model);
  std::vector<int64_t> ids = first_tokens(trained.vocabulary, o.prompt);
  const size_t given = ids.size();
  if (!common.json) print(o.prompt);
  auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < o.tokens && !interrupted(); ++i) {
    Tensor logits = next_logits(*trained.model, ids);
    double uniform;
    random_kernel().uniform_f64(o.seed, kStream, uint64_t(i), 1, &uniform);
    // An embedding may have more rows than the vocabulary has tokens.
    ids.push_back(sample_token({logits.data<float>(), size_t(trained.vocabulary.size())}, o.sampling, uniform));
    if (!common.json) print(trained.vocabulary.decode({&ids.back(), 1}));
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (common.json) {
    std::vector<int64_t> fresh(ids.begin() + int64_t(given), ids.end());
    nlohmann::ordered_json j = {
        {"model", trained.path}, {"prompt", o.prompt}, {"text", trained.vocabulary.decode(fresh)},
        {"tokens", fresh},       {"seed", o.seed},     {"tokens_per_s", double(fresh.size()) / seconds}};
    print(j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    print("\n");
  }
  return interrupted() ? kInterrupted : kDone;
}

Run setup(Options& options) {
  auto o = std::make_shared<GenerateOptions>();
  Sampling& s = o->sampling;
  options.required("--model", o->model, "FILE|DIR", "a model.safetensors of dyadic train or study, or the folder that holds it")
      .value("--prompt", o->prompt, "TEXT", "what the text begins with (default: nothing)")
      .value("--tokens", o->tokens, "N", "tokens to add (default: 256)", at_least(0))
      .value("--temperature", s.temperature, "T",
             "below 1: likelier tokens, above: more surprise; 0: always the likeliest (default: 1)", between(0, 1e6))
      .value("--top-k", s.top_k, "K", "choose among the K likeliest tokens (default: all)", at_least(1))
      .value("--top-p", s.top_p, "P", "choose among the likeliest tokens that together have this probability (default: 1)",
             between(0, 1))
      .value("--seed", o->seed, "N", "of the choices: the same seed gives the same text (default: 0)");
  return [o](const Common& common) { return generate(*o, common); };
}

}  // namespace

extern const Command generate_command;
const Command generate_command = {
    "generate", "write text with a trained model",
    "dyadic generate --model runs/char --prompt \"The \" --tokens 200 --temperature 0.8 --top-k 40", setup};

}  // namespace dyadic::inline v1::cli
