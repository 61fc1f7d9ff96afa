#include "tune/loop.h"

#include <cmath>
#include <filesystem>

#include "base/check.h"
#include "base/clock.h"
#include "dyadic/autograd.h"
#include "dyadic/interrupt.h"
#include "dyadic/progress.h"
#include "dyadic/prune.h"
#include "train/parted.h"
#include "train/parts.h"

namespace dyadic::inline v1::tune {
namespace {

namespace fs = std::filesystem;

std::string checkpoints_in(const std::string& folder) { return folder + "/checkpoints"; }

// What is trained, without what it stands on.
class TrainedPart : public train::Part {
  const nn::NamedTensors& trained_;

 public:
  explicit TrainedPart(const nn::NamedTensors& trained) : trained_(trained) {}
  train::State state() override {
    train::State s;
    for (auto& [name, p] : trained_) s.tensors.emplace_back(name, p.detach());
    return s;
  }
  void load(const train::State& saved) override {
    const NoGrad guard;
    const std::map<std::string, Tensor> there(saved.tensors.begin(), saved.tensors.end());
    for (auto& [name, p] : trained_)
      if (const auto t = there.find(name); t != there.end()) p.detach().copy_(t->second);
  }
};

int64_t tokens_of(const train::Window& window) {
  int64_t n = 0;
  for (auto& [share, batch] : window) n += batch[size_t(0)].tensor().numel();
  return n;
}

class Loop {
  const LoopOptions& o_;
  Generator noise_, order_;  // what the model draws; in which order rows come
  GeneratorScope scope_;
  Stepper stepper_;
  data::DataLoader training_;
  std::unique_ptr<data::DataLoader> evaluation_;
  std::unique_ptr<train::Checkpoint> checkpoint_;
  std::unique_ptr<train::History> history_;
  train::Progress progress_;
  optim::WarmupCosine rate_;
  LoopResult r_;
  std::optional<double> before_;
  std::optional<prune::Masks> masks_;

 public:
  Loop(nn::Module& model, Lesson& lesson, const Rows& training, const Rows& evaluation, const LoopOptions& o)
      : o_(o),
        noise_(o.seed),
        order_(o.seed ^ 0x0dde5),
        scope_(noise_),
        stepper_(model, lesson, o.step),
        training_(training.dataset, {.batch_size = o.batch,
                                     .shuffle = true,
                                     .collate_fn = training.collate,
                                     .generator = std::shared_ptr<Generator>(std::shared_ptr<void>(), &order_)}),
        progress_(o.progress ? train::Progress::of_ranks() : train::Progress::silent()),
        rate_{o.step.lr, o.step.lr / 10, std::max<int64_t>(std::llround(o.warmup * double(o.steps)), 1), o.steps} {
    if (evaluation.dataset)
      evaluation_ = std::make_unique<data::DataLoader>(
          evaluation.dataset, data::DataLoaderOptions{.batch_size = o.batch, .collate_fn = evaluation.collate});
    if (o.keep_zeros) masks_.emplace(model);
    model.train();
    if (!o.folder.empty()) open_folder();
  }

  LoopResult run() {
    const double begin = seconds_now();
    if (!checkpoint_ || !resumed()) r_.eval_before = evaluated();
    progress_.plan(o_.steps - r_.steps), progress_.begin(o_.name, o_.steps, r_.steps);
    while (r_.steps < o_.steps) {
      const auto epoch = training_.iter();
      if (!through(*epoch)) {
        save();
        break;
      }
    }
    r_.finished = r_.steps >= o_.steps;
    r_.seconds = seconds_now() - begin;
    progress_.end();
    if (parallel()) parallel()->unspread();
    return r_;
  }

 private:
  static inline const train::Modules kByOwnNames;  // the optimizer's
  distributed::DataParallel* parallel() const { return stepper_.parallel(); }
  // Its history is the first rank's.
  void open_folder() {
    const bool first = !parallel() || parallel()->group().rank() == 0;
    if (first) fs::create_directories(o_.folder);
    history_ = std::make_unique<train::History>(train::HistoryOptions{.csv = first ? o_.folder + "/history.csv" : ""});
    checkpoint_ = std::make_unique<train::Checkpoint>(checkpoints_in(o_.folder), train::CheckpointOptions{.keep = 2});
    auto trained = std::make_unique<TrainedPart>(stepper_.trained());
    if (parallel())
      train::add_trained(*checkpoint_,
                         {"trained", std::move(trained), train::optimizer_part(stepper_.optimizer(), kByOwnNames), ""},
                         *parallel(), stepper_.model());
    else
      checkpoint_->add("trained", std::move(trained)).add("optimizer", stepper_.optimizer());
    checkpoint_->add("data", training_).add("history", *history_);
    checkpoint_->add("train_loss", r_.loss).add("eval_before", before());
    checkpoint_->config(o_.config);
  }
  double& before() { return before_.emplace(NAN); }
  bool resumed() {
    if (!o_.resume) return false;
    const auto saved = checkpoint_->resume();
    if (parallel())
      parallel()->group().require_equal("the step that they go on from", fmt::format("{}", saved ? saved->step : 0));
    if (!saved) return false;
    r_.steps = saved->step;
    if (std::isfinite(*before_)) r_.eval_before = before_;
    return true;
  }
  std::optional<double> evaluated() {
    if (!evaluation_) return {};
    const std::optional<double> loss = stepper_.mean_loss(*evaluation_);
    if (loss && before_ && r_.steps == 0) *before_ = *loss;
    return loss;
  }
  // Until the epoch, or the run, ends; false: interrupted.
  bool through(data::Epoch& epoch) {
    while (r_.steps < o_.steps) {
      if (stops(interrupted())) return false;
      const auto window = train::next_window(epoch, o_.accumulate);
      if (!window) return true;
      if (!one(*window)) return false;
    }
    return true;
  }
  // Of several ranks all stop after the same step: the one that follows the wish.
  bool stops(bool wish) {
    if (!parallel()) return wish;
    if (wish) parallel()->ask();
    return parallel()->asked();
  }
  double step(const train::Window& window) {
    if (o_.measure) reset_peak_memory_stats();
    const int64_t sent = parallel() ? parallel()->group().bytes_sent() : 0;
    const double loss = stepper_.step(window);
    if (parallel()) r_.sent = std::max(r_.sent, parallel()->group().bytes_sent() - sent);
    if (!o_.measure) return loss;
    const MemoryUse now = peaks_since({}, cpu);
    for (auto kind :
         {&MemoryUse::parameters, &MemoryUse::gradients, &MemoryUse::optimizer, &MemoryUse::activations, &MemoryUse::peak})
      r_.measured.*kind = std::max(r_.measured.*kind, now.*kind);
    return loss;
  }
  bool one(const train::Window& window) {
    const double begin = seconds_now();
    const double lr = rate_(r_.steps);
    stepper_.optimizer().set_lr(lr);
    r_.loss = step(window);
    if (masks_) masks_->apply();
    ++r_.steps;
    Step s{r_.steps, o_.steps, r_.loss, lr, double(tokens_of(window)) / (seconds_now() - begin), {}};
    if (r_.steps == o_.steps || (o_.eval_every && r_.steps % o_.eval_every == 0)) s.eval_loss = r_.eval_after = evaluated();
    log(s);
    if (o_.on_step && !o_.on_step(o_.caller, s) && stops(true)) return r_.steps >= o_.steps;
    if (o_.checkpoint_every && r_.steps % o_.checkpoint_every == 0 && r_.steps < o_.steps) save();
    return true;
  }
  void log(const Step& s) {
    progress_.step(s.step, s.loss, s.tokens_per_s);
    if (s.eval_loss) progress_.note(fmt::format("step {}: loss {:.4f}, evaluation loss {:.4f}", s.step, s.loss, *s.eval_loss));
    if (!history_) return;
    train::Metrics m{{"loss", s.loss}, {"lr", s.lr}};
    if (s.eval_loss) m["eval_loss"] = *s.eval_loss;
    history_->log(s.step, m);
  }
  void save() {
    if (!checkpoint_ || r_.steps >= o_.steps) return;
    if (parallel())
      train::save_in_folder(*checkpoint_, r_.steps, parallel()->group(), parallel()->spread() != distributed::Spread::none);
    else
      checkpoint_->save(r_.steps);
  }
};

}  // namespace

LoopResult run_loop(nn::Module& model, Lesson& lesson, const Rows& training, const Rows& evaluation,
                    const LoopOptions& options) {
  const LoopResult r = Loop(model, lesson, training, evaluation, options).run();
  model.eval();
  return r;
}

void remove_checkpoints(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(checkpoints_in(folder), ignored);
}

}  // namespace dyadic::inline v1::tune
