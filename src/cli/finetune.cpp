// dyadic finetune: a language model trained further on chats, answers or texts.
#include "cli/training_options.h"
#include "cli/tuning.h"

namespace dyadic::inline v1::cli {
namespace {

Run setup_finetune(Options& options) {
  auto t = std::make_shared<Tuning>();
  declare_tuning(options, *t);
  add_ranks(options, t->o.shards, t->spread, t->wire);
  return [t](const Common& common) {
    return run_tuning(*t, common, [&](models::CausalLM& model, const Tokenizer& tokenizer, const tune::Data& data) {
      return tune::finetune(model, tokenizer, data, t->o);
    });
  };
}

}  // namespace

extern const Command finetune_command;
const Command finetune_command = {
    "finetune",
    "train a language model further: an adapter on weights of any format, or all weights",
    "dyadic finetune models/Qwen3-0.6B --data chat.jsonl --lora rank=16 --base nf4 --epochs 2 --out runs/chat --merge best",
    setup_finetune,
    {},
    true};

}  // namespace dyadic::inline v1::cli
