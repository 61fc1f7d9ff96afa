// dyadic generate with the text models of dyadic train and dyadic study.
#include <chrono>

#include "base/random.h"
#include "cli/generate.h"
#include "cli/json.h"
#include "cli/sampler.h"
#include "dyadic/interrupt.h"
#include "study/model_file.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr uint64_t kStream = 0x67656e;  // of the choices; element i is token i's

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

}  // namespace

int generate_built_in(const GenerateCommand& o, const Common& common) {
  install_interrupt_handler();
  NoGrad guard;
  study::TrainedModel trained = study::load_model(o.model);
  if (asks_more(o))
    throw UsageError("generate: of " + trained.path +
                     " alone --prompt, --tokens, --temperature, --top-k, --top-p and --seed can be said; name its folder, with "
                     "config.json and tokenizer.json");
  const Sampling sampling{o.temperature.value_or(1), o.top_k.value_or(0), o.top_p.value_or(1)};
  std::vector<int64_t> ids = first_tokens(trained.vocabulary, o.prompt);
  const size_t given = ids.size();
  if (!common.json) print(o.prompt);
  auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < o.tokens && !interrupted(); ++i) {
    Tensor logits = next_logits(*trained.model, ids);
    double uniform;
    random_kernel().uniform_f64(o.seed, kStream, uint64_t(i), 1, &uniform);
    // An embedding may have more rows than the vocabulary has tokens.
    ids.push_back(sample_token({logits.data<float>(), size_t(trained.vocabulary.size())}, sampling, uniform));
    if (!common.json) print(trained.vocabulary.decode({&ids.back(), 1}));
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (common.json) {
    std::vector<int64_t> fresh(ids.begin() + int64_t(given), ids.end());
    Json j = {{"model", trained.path},
              {"prompt", o.prompt},
              {"text", trained.vocabulary.decode(fresh)},
              {"tokens", fresh},
              {"finish_reason", interrupted() ? "interrupted" : "length"},
              {"seed", o.seed},
              {"tokens_per_s", double(fresh.size()) / seconds}};
    print(json_text(j));
  } else {
    print("\n");
  }
  return interrupted() ? kInterrupted : kDone;
}

}  // namespace dyadic::inline v1::cli
