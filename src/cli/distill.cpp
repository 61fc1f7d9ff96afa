// dyadic distill: a language model learns from a larger one.
#include "dyadic/distill.h"

#include <filesystem>
#include <optional>

#include "base/check.h"
#include "cli/tuning.h"

namespace dyadic::inline v1::cli {
namespace {

struct DistillCommand {
  Tuning run;
  std::string teacher, teacher_format;
  std::vector<std::string> hidden, relations;
  tune::DistillOptions o;
};

std::pair<std::string, std::string> parse_pair(const std::string& text) {
  const size_t at = text.find('=');
  DY_CHECK_AS(ValueError, at != text.npos && at > 0 && at + 1 < text.size(), "{} is no STUDENT=TEACHER", text);
  return {text.substr(0, at), text.substr(at + 1)};
}

int distill(DistillCommand& c, const Common& common) {
  for (const std::string& text : c.hidden) c.o.hidden.push_back(parse_pair(text));
  for (const std::string& text : c.relations) c.o.relations.push_back(parse_pair(text));
  const bool features = !c.o.hidden.empty() || !c.o.relations.empty();
  const bool cached = !c.o.cache.empty() && std::filesystem::exists(c.o.cache);
  if (c.teacher.empty() && (features || !cached))
    throw UsageError("distill: from which model? Give --teacher, or a --cache that has its logits");
  return run_tuning(c.run, common, [&](models::CausalLM& student, const Tokenizer& tokenizer, const tune::Data& data) {
    std::optional<models::Model> teacher;
    if (features || !cached) teacher = models::load(c.teacher, stored_in(c.teacher_format));
    // Where its logits are all that is needed, its memory is free while the student learns.
    if (teacher && !features && !c.o.cache.empty()) {
      tune::cache_logits(**teacher, tokenizer, data, c.o, c.run.o);
      teacher.reset();
    }
    return tune::distill(student, teacher ? &**teacher : nullptr, tokenizer, data, c.o, c.run.o);
  });
}

Run setup_distill(Options& options) {
  auto c = std::make_shared<DistillCommand>();
  declare_tuning(options, c->run);
  options.value("--teacher", c->teacher, "MODEL", "that it learns from, of the same vocabulary")
      .value("--teacher-format", c->teacher_format, "FORMAT",
             "of the teacher's weights: nf4, i8(row), bf16 ... (default: as they are)",
             [](const std::string& text) { DType::parse(text); })
      .value("--temperature", c->o.temperature, "X", "both distributions are softened by (default: 2)", between(1e-3, 1e3))
      .value("--share", c->o.share, "X", "of the teacher's logits in the loss; the rest is the data's answers (default: 0.5)",
             between(0, 1))
      .value("--hidden", c->hidden, "STUDENT=TEACHER ...", "modules of equal width whose results are held to each other",
             [](const std::string& text) { parse_pair(text); })
      .value("--relations", c->relations, "STUDENT=TEACHER ...",
             "queries, keys or values (model.layers.1.self_attn.q_proj) whose relations are, of any width",
             [](const std::string& text) { parse_pair(text); })
      .value("--heads", c->o.heads, "N", "that relations are cut into (default: 1)", at_least(1))
      .value("--hidden-weight", c->o.hidden_weight, "X", "(default: 1)", between(0, 1e6))
      .value("--relation-weight", c->o.relation_weight, "X", "(default: 1)", between(0, 1e6))
      .value("--cache", c->o.cache, "FILE", "of the teacher's logits: made once, and then the teacher is not loaded")
      .value("--top-k", c->o.top_k, "N", "logits of each token that the cache keeps, the largest (default: 128)", at_least(1));
  return [c](const Common& common) { return distill(*c, common); };
}

}  // namespace

extern const Command distill_command;
const Command distill_command = {"distill", "a language model learns from a larger one",
                                 "dyadic distill models/small --teacher models/large --teacher-format nf4 --data chat.jsonl "
                                 "--cache logits.safetensors --out runs/small",
                                 setup_distill};

}  // namespace dyadic::inline v1::cli
