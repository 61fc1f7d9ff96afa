// A run whose loss has a teacher in it.
#include "dyadic/distill.h"

#include <filesystem>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/autograd.h"
#include "tune/answers.h"
#include "tune/distill_losses.h"
#include "tune/run.h"
#include "tune/teacher.h"

namespace dyadic::inline v1::tune {
namespace {

// Keeps a module's newest result.
class Kept : public nn::Hook {
 public:
  Tensor result;
  void after(nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& results) override { result = results[0]; }
};
class Watched {
  nn::Module& module_;
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();

 public:
  Watched(models::CausalLM& model, const std::string& path) : module_(of(model, path)) { module_.add_hook(kept_); }
  ~Watched() { module_.remove_hook(kept_.get()); }
  Watched(const Watched&) = delete;
  const Tensor& result(const std::string& path) const {
    DY_CHECK_AS(ValueError, kept_->result.defined() && kept_->result.dim() == 3,
                "distill: {} is not called for [B, T, width]: name a layer in it", path);
    return kept_->result;
  }
  void forget() { kept_->result = {}; }

 private:
  static nn::Module& of(models::CausalLM& model, const std::string& path) {
    for (auto& [name, m] : model.named_modules())
      if (name == path) return *m;
    throw ValueError(fmt::format("distill: {} has no module {}", model.kind(), path));
  }
};

struct Pair {
  std::string student_path, teacher_path;
  Watched student, teacher;
  Pair(models::CausalLM& s, models::CausalLM& t, const std::pair<std::string, std::string>& paths)
      : student_path(paths.first), teacher_path(paths.second), student(s, paths.first), teacher(t, paths.second) {}
};

// Which tokens of a batch each sees of its own sample.
Tensor seen_in(const data::Value& batch) {
  const int64_t T = batch["ids"].tensor().size(1);
  const Tensor keys = arange(int64_t(0), T, int64_t(1), i64), earlier = le(keys, unsqueeze(keys, 1));
  for (auto& [name, value] : batch.named())
    if (name == "starts") return logical_and(earlier, ge(keys, unsqueeze(value.tensor(), -1)));
  return earlier;
}

[[noreturn]] void refuse_vocabularies(int64_t teacher, int64_t student) {
  throw ValueError(fmt::format("distill: the teacher has a vocabulary of {}, and the student one of {}", teacher, student));
}

class Distillation : public Lesson {
  models::CausalLM& student_;
  models::CausalLM* teacher_;
  const DistillOptions& o_;
  std::optional<LogitCache> cache_;
  std::vector<std::unique_ptr<Pair>> hidden_, relations_;

 public:
  Distillation(models::CausalLM& student, models::CausalLM* teacher, const DistillOptions& o, const RowDataset& rows)
      : student_(student), teacher_(teacher), o_(o) {
    if (!o.cache.empty()) {
      if (teacher && !std::filesystem::exists(o.cache)) LogitCache::write(o.cache, *teacher, rows, o.top_k);
      cache_.emplace(o.cache, rows);
    }
    for (auto& paths : o.hidden) hidden_.push_back(std::make_unique<Pair>(student, *teacher, paths));
    for (auto& paths : o.relations) relations_.push_back(std::make_unique<Pair>(student, *teacher, paths));
  }

  Tensor loss(const data::Value& batch) override {
    const Tensor places = learned_places(batch), logits = learned_of(logits_of(student_, batch), places).to(f32);
    const Tensor labels = index_select(batch["labels"].tensor().reshape({-1}), 0, places);
    const Tensor answers = cross_entropy(logits, labels, "sum");
    if (!GradMode::enabled()) return answers;  // evaluation
    Tensor all = answers * (1 - o_.share) + sum(divergence(logits, said(batch, places))) * o_.share;
    for (auto& pair : hidden_) all = all + sum(learned_of(distance(*pair), places)) * o_.hidden_weight;
    if (relations_.empty()) return all;
    const Tensor mask = seen_in(batch);
    for (auto& pair : relations_) all = all + sum(learned_of(relation(*pair, mask), places)) * o_.relation_weight;
    return all;
  }

 private:
  // With features to be held to, the teacher runs even if its logits are in a file.
  Said said(const data::Value& batch, const Tensor& places) {
    Said s;
    if (!cache_ || !hidden_.empty() || !relations_.empty()) {
      const NoGrad guard;
      s.logits = learned_of(logits_of(*teacher_, batch), places).to(f32);
    }
    return cache_ ? cache_->said(batch) : s;
  }
  Tensor divergence(const Tensor& student, const Said& s) const {
    if (!s.classes.defined()) {
      if (student.size(1) != s.logits.size(1)) refuse_vocabularies(s.logits.size(1), student.size(1));
      return soft_divergence(student, s.logits, o_.temperature);
    }
    const double T = o_.temperature;
    const Tensor t = log_softmax(s.logits * (1 / T), -1), own = gather(log_softmax(student * (1 / T), -1), 1, s.classes);
    return sum(exp(t) * (t - own), {-1}) * (T * T);
  }
  static Tensor distance(const Pair& p) {
    const Tensor &s = p.student.result(p.student_path), &t = p.teacher.result(p.teacher_path);
    DY_CHECK_AS(ValueError, s.size(2) == t.size(2),
                "distill: hidden states of {} have {} numbers, and those of {} {}: relations compare across widths",
                p.student_path, s.size(2), p.teacher_path, t.size(2));
    return hidden_distance(s, t);
  }
  Tensor relation(const Pair& p, const Tensor& mask) const {
    const Tensor &s = p.student.result(p.student_path), &t = p.teacher.result(p.teacher_path);
    DY_CHECK_AS(ValueError, s.size(2) % o_.heads == 0 && t.size(2) % o_.heads == 0, "distill: {} and {} are not {} heads wide",
                p.student_path, p.teacher_path, o_.heads);
    return relation_divergence(s, t, o_.heads, mask);
  }
};

void check(const models::CausalLM& student, const models::CausalLM* teacher, const DistillOptions& o) {
  if (teacher && teacher->vocab_size() > 0 && student.vocab_size() > 0 && teacher->vocab_size() != student.vocab_size())
    refuse_vocabularies(teacher->vocab_size(), student.vocab_size());
  DY_CHECK_AS(ValueError, o.temperature > 0, "distill: temperature is {}, not above 0", o.temperature);
  DY_CHECK_AS(ValueError, o.share >= 0 && o.share <= 1, "distill: share is {}, not in [0, 1]", o.share);
  DY_CHECK_AS(ValueError, o.top_k >= 1 && o.heads >= 1, "distill: top_k is {}, heads {}; both are 1 at least", o.top_k,
              o.heads);
  const bool cached = !o.cache.empty() && std::filesystem::exists(o.cache);
  DY_CHECK_AS(ValueError, teacher || (cached && o.hidden.empty() && o.relations.empty()),
              "distill: a teacher is needed, unless its logits are in a cache and they are all that is learned from");
}

// Of which a resumed run may change none.
std::string settings_of(const DistillOptions& o) {
  return dump_json(nlohmann::json{{"temperature", o.temperature},
                                  {"share", o.share},
                                  {"hidden", o.hidden},
                                  {"hidden_weight", o.hidden_weight},
                                  {"relations", o.relations},
                                  {"relation_weight", o.relation_weight},
                                  {"heads", o.heads},
                                  {"top_k", o.cache.empty() ? 0 : o.top_k}});
}

}  // namespace

bool cache_logits(models::CausalLM& teacher, const Tokenizer& tokenizer, const Data& data, const DistillOptions& options,
                  const FinetuneOptions& run) {
  if (std::filesystem::exists(options.cache)) return false;
  LogitCache::write(options.cache, teacher, *training_rows(teacher, tokenizer, data, run), options.top_k);
  return true;
}

FinetuneReport distill(models::CausalLM& student, models::CausalLM* teacher, const Tokenizer& tokenizer, const Data& data,
                       const DistillOptions& options, const FinetuneOptions& run) {
  check(student, teacher, options);
  DY_CHECK_AS(ValueError, distributed::world().size() == 1 && run.shards == 0,
              "distill: it runs as one process, on batches that stay whole, not as {} and {} shards",
              distributed::world().size(), run.shards);
  if (teacher) teacher->eval();
  const MakeLesson lesson = [&](const RowDataset& rows) -> std::shared_ptr<Lesson> {
    return std::make_shared<Distillation>(student, teacher, options, rows);
  };
  return run_lesson(student, tokenizer, data, run, lesson, settings_of(options));
}

}  // namespace dyadic::inline v1::tune
