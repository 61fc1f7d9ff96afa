// dyadic generate: text from a trained model, token by token.
#include "cli/generate.h"

#include <memory>

#include "cli/files.h"
#include "cli/kv.h"
#include "cli/on_disk.h"
#include "dyadic/dtype.h"
#include "study/model_file.h"

namespace dyadic::inline v1::cli {

bool asks_more(const GenerateCommand& o) {
  return o.chat || !o.batch.empty() || o.min_p || o.repetition_penalty || !o.stop.empty() || !o.eos.empty() || !o.kv.empty() ||
         !o.format.empty();
}

namespace {

int generate(const GenerateCommand& o, const Common& common) {
  if (o.model.empty()) throw UsageError("generate: of which model? dyadic generate MODEL -p TEXT");
  if (!o.batch.empty() && (!o.prompt.empty() || o.chat))
    throw UsageError("generate: --batch has the prompts; leave out --prompt and --chat");
  if (!o.system.empty() && !o.chat) throw UsageError("generate: --system begins a chat; add --chat");
  const bool whole = is_language_model(o.model);  // with all that a model's folder has
  if (!whole && !study::is_trained(o.model)) expect_model(o.model, ", or the model.safetensors that dyadic train writes");
  return whole && (asks_more(o) || !study::is_trained(o.model)) ? generate_language_model(o, common)
                                                                : generate_built_in(o, common);
}

Run setup_generate(Options& options) {
  auto o = std::make_shared<GenerateCommand>();
  options
      .value(
          "--model,model", o->model, "MODEL",
          "a language model: its folder (config.json, weights, tokenizer.json) or GGUF file; or what dyadic train or study has "
          "written: model.safetensors, or the folder that holds it")
      .value("-p,--prompt", o->prompt, "TEXT", "what the text begins with; with --chat: the one message (default: nothing)")
      .flag("--chat", o->chat,
            "a conversation by the model's template: on a terminal, or else of standard input, where each line is a message")
      .value("--system", o->system, "TEXT", "of a chat: what the model is told first")
      .value("--batch", o->batch, "FILE",
             "a prompt a line; of .jsonl {\"prompt\": ...} or {\"messages\": [...]} a line; computed eight at a time")
      .value("--tokens", o->tokens, "N", "tokens to add, at most (default: 256)", at_least(0))
      .value("--temperature", o->temperature, "T",
             "below 1: likelier tokens, above: more surprise; 0: always the likeliest (default: the model's advice, else 1)",
             between(0, 1e6))
      .value("--top-k", o->top_k, "K", "choose among the K likeliest tokens (default: the model's advice, else all)",
             at_least(1))
      .value("--top-p", o->top_p, "P",
             "choose among the likeliest tokens that together have this probability (default: the model's advice, else 1)",
             between(0, 1))
      .value("--min-p", o->min_p, "P", "choose among tokens with this share of the likeliest one's probability", between(0, 1))
      .value("--repetition-penalty", o->repetition_penalty, "X", "above 1: tokens that were there are less likely",
             between(1e-6, 1e6))
      .value("--stop", o->stop, "TEXT", "the text ends before any of these")
      .value("--eos", o->eos, "TOKEN", "tokens that end it, by name or number (default: the model's; none: nothing does)")
      .value("--format", o->format, "FORMAT", "of the weights: bf16, q8_0, nf4 ... (default: as they are)",
             [](const std::string& text) { DType::parse(text); })
      .value("--kv", o->kv, "FORMAT", kKvHelp, check_kv)
      .value("--offload-folder", o->offload_folder, "DIR", kOffloadHelp)
      .value("--seed", o->seed, "N", "of the choices: the same seed gives the same text (default: 0)");
  return [o](const Common& common) { return generate(*o, common); };
}

}  // namespace

extern const Command generate_command;
const Command generate_command = {"generate", "write text with a language model, or chat with it",
                                  "dyadic generate models/Qwen3-0.6B -p \"The \" --tokens 200 --temperature 0.8 --top-k 40\n"
                                  "  dyadic generate models/Qwen3-0.6B --chat",
                                  setup_generate};

}  // namespace dyadic::inline v1::cli
