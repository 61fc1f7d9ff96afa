// dyadic eval: how well a language model predicts a text, or answers questions.

#include "dyadic/eval.h"

#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/kv.h"
#include "dyadic/interrupt.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::cli {
namespace {

struct EvalOptions {
  std::string model, data, task, base, format, kv;
  int64_t window = 512, stride = 0;
};

// On the terminal a bar, made at the first step, when the number of steps is known.
struct Watch {
  const char* name;
  std::unique_ptr<Steps> steps = nullptr;
  static bool step(void* self, int64_t, int64_t all) {
    auto& w = *static_cast<Watch*>(self);
    if (!w.steps) w.steps = std::make_unique<Steps>(w.name, size_t(all));
    w.steps->step();  // ends it by an exception
    return true;
  }
};

models::Model load(const std::string& path, const EvalOptions& o) {
  models::Model m = models::load(path, {.dtype = o.format.empty() ? DType() : DType::parse(o.format)});
  if (!o.kv.empty()) m->kv = models::KvFormats::parse(o.kv);
  return m;
}

int eval_text(const EvalOptions& o, const Common& common) {
  std::string text = io::read_text(o.data);
  if (o.stride == 0 && text.ends_with('\n')) text.pop_back();  // as llama-perplexity reads its file
  const Tokenizer tokenizer = Tokenizer::load(o.model);
  const models::Model m = load(o.model, o);
  std::optional<models::Model> base;
  if (!o.base.empty()) base = models::load(o.base);
  Watch watch{"eval"};
  const models::Perplexity p = models::perplexity(
      *m, tokenizer, text,
      {.window = o.window, .stride = o.stride, .base = base ? &**base : nullptr, .progress = Watch::step, .context = &watch});
  watch.steps.reset();
  if (common.json) {
    Json j = {{"model", o.model},
              {"data", o.data},
              {"perplexity", number(p.perplexity)},
              {"perplexity_stderr", number(p.perplexity_stderr)},
              {"nll", number(p.nll)},
              {"nll_stderr", number(p.nll_stderr)},
              {"tokens", p.tokens},
              {"window", p.window},
              {"stride", p.stride}};
    if (p.divergence) {
      const models::Divergence& d = *p.divergence;
      j["base"] = o.base, j["kl_mean"] = number(d.kl_mean), j["kl_stderr"] = number(d.kl_stderr);
      j["kl_p99"] = number(d.kl_p99), j["nll_change"] = number(d.nll_change);
      j["nll_change_stderr"] = number(d.nll_change_stderr), j["same_top"] = number(d.same_top);
      j["same_top_stderr"] = number(d.same_top_stderr), j["rms_dp"] = number(d.rms_dp);
    }
    print(json_text(j));
    return kDone;
  }
  std::string out = fmt::format("perplexity     {:.4f} ± {:.4f}\nnll            {:.5f} ± {:.5f}\ntokens         {}\n",
                                p.perplexity, p.perplexity_stderr, p.nll, p.nll_stderr, p.tokens);
  out += fmt::format("window         {}{}\n", p.window, p.stride ? fmt::format(", stride {}", p.stride) : "");
  if (const auto& d = p.divergence)
    out += fmt::format(
        "against        {}\nperplexity     x {:.5f} ± {:.5f}\nKL mean        {:.6f} ± {:.6f}\nKL 99 %        {:.6f}\n"
        "same top       {:.2f} ± {:.2f} %\nrms dp         {:.3f} %\n",
        o.base, std::exp(d->nll_change), std::exp(d->nll_change) * d->nll_change_stderr, d->kl_mean, d->kl_stderr, d->kl_p99,
        100 * d->same_top, 100 * d->same_top_stderr, 100 * d->rms_dp);
  print(out);
  return kDone;
}

int eval_task(const EvalOptions& o, const Common& common) {
  const std::vector<models::Question> questions = models::read_questions(io::read_text(o.task), o.task);
  const Tokenizer tokenizer = Tokenizer::load(o.model);
  const models::Model m = load(o.model, o);
  Watch watch{"eval"};
  const models::TaskScore s = models::multiple_choice(*m, tokenizer, questions, Watch::step, &watch);
  watch.steps.reset();
  if (common.json)
    print(json_text({{"model", o.model},
                     {"task", o.task},
                     {"acc", s.acc},
                     {"acc_stderr", s.acc_stderr},
                     {"acc_norm", s.acc_norm},
                     {"acc_norm_stderr", s.acc_norm_stderr},
                     {"questions", s.questions},
                     {"log_probabilities", s.log_probabilities}}));
  else
    print(fmt::format("acc            {:.4f} ± {:.4f}\nacc_norm       {:.4f} ± {:.4f}\nquestions      {}\n", s.acc,
                      s.acc_stderr, s.acc_norm, s.acc_norm_stderr, s.questions));
  return kDone;
}

int eval(const EvalOptions& o, const Common& common) {
  if (o.data.empty() == o.task.empty())
    throw UsageError("eval: of what? --data FILE of text, or --task FILE.jsonl of questions");
  if (!o.task.empty() && !o.base.empty()) throw UsageError("eval: --base compares on a text: give --data");
  expect_model(o.model);
  install_interrupt_handler();
  try {
    return o.task.empty() ? eval_text(o, common) : eval_task(o, common);
  } catch (const Stopped&) { return kInterrupted; }
}

Run setup_eval(Options& options) {
  auto o = std::make_shared<EvalOptions>();
  options
      .required("model", o->model, "MODEL", "a language model: its folder (config.json, weights, tokenizer.json) or GGUF file")
      .value("--data", o->data, "FILE", "a text: how surprised the model is by it, by llama-perplexity's rule")
      .value("--window", o->window, "N", "tokens that are seen at once (default: 512)", at_least(4))
      .value("--stride", o->stride, "N",
             "windows begin so far apart, and every token is scored (default: they follow one another, and of each the second "
             "half is scored)",
             at_least(1))
      .value("--base", o->base, "MODEL", "another, of the same vocabulary: how far the model's predictions are from its")
      .value("--task", o->task, "FILE.jsonl",
             "questions: a line {\"context\": TEXT, \"choices\": [TEXT, ...], \"answer\": NUMBER} each")
      .value("--format", o->format, "FORMAT", "of the weights: bf16, q8_0, nf4 ... (default: as they are)",
             [](const std::string& text) { DType::parse(text); })
      .value("--kv", o->kv, "FORMAT", kKvHelp, check_kv);
  return [o](const Common& common) { return eval(*o, common); };
}

}  // namespace

extern const Command eval_command;
const Command eval_command = {"eval", "perplexity of a language model, its distance from another, or answers to questions",
                              "dyadic eval models/Qwen3-0.6B --data wiki.txt --format q4_K --base models/Qwen3-0.6B",
                              setup_eval};

}  // namespace dyadic::inline v1::cli
