#include "study/memory_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "account/disk.h"
#include "account/machine.h"
#include "base/check.h"
#include "base/text.h"
#include "corridor/call.h"
#include "dyadic/data_parallel.h"
#include "plan/cost.h"
#include "plan/cut.h"
#include "plan/forward.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {
namespace {

using planning::Choice;
constexpr int kCuts = 10, kBetween = 3;
constexpr double kTypicalDisk = 1e9;  // bytes a second

// Where no file can be made, who then writes there says so.
double disk_rate(const std::string& folder, int64_t bytes) {
  try {
    return account::disk_rate(folder, bytes);
  } catch (const Error&) { return kTypicalDisk; }
}

// "61 calls again (linear 25, gelu 12, add 12 ...)": the three commonest.
std::string calls_text(const Choice& choice) {
  std::map<std::string, int> count;
  int calls = 0;
  for (size_t i = 0; i < choice.again.size(); ++i)
    if (choice.again[i]) ++count[op_name(choice.ops[i])], ++calls;
  std::vector<std::pair<int, std::string>> most;
  for (auto& [op, n] : count) most.emplace_back(-n, op);
  std::sort(most.begin(), most.end());
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(most.size(), 3); ++i)
    text += fmt::format("{}{} {}", i ? ", " : "", most[i].second, -most[i].first);
  return fmt::format("{} calls again ({}{})", calls, text, most.size() > 3 ? " ..." : "");
}

// The first calls as in b, the others as in a: what is made again early in forward is read late in backward, when others have
// let go of their memory.
Choice mixed(const Choice& a, const Choice& b, size_t from) {
  Choice c = a;
  std::copy(b.again.begin(), b.again.begin() + int64_t(from), c.again.begin());
  return c;
}

// Dry runs of one recipe.
class DryRuns {
  Subject& subject_;
  const MemoryStats before_ = memory_stats(meta);
  Recipe recipe_;
  const bool on_disk_;
  const int64_t steps_;
  std::unique_ptr<Trainer> trainer_;

 public:
  DryRuns(Subject& subject, Recipe recipe, const Plan& plan)
      : subject_(subject), recipe_(std::move(recipe)), on_disk_(plan.on_disk), steps_(plan.steps) {
    trainer_ = std::make_unique<Trainer>(subject, recipe_, plan, meta);
    trainer_->step();  // makes the optimizer's states
  }
  planning::Recording record() { return trainer_->record(); }
  PlanCandidate run(std::shared_ptr<const Choice> choice, int64_t accumulate) {
    trainer_->use(choice, accumulate);
    reset_peak_memory_stats(meta);
    PlanCandidate c;
    {
      planning::Stopwatch watch;
      trainer_->step();
      c.seconds = watch.seconds();
    }
    if (const data::Value last = subject_.short_blank(steps_); last.kind() != data::Value::Kind::none && accumulate == 1)
      trainer_->step(last);
    fill_bytes(c.bytes, memory_stats(meta), before_, &Amount::predicted);
    if (choice) c.again = std::count(choice->again.begin(), choice->again.end(), true);
    c.accumulate = accumulate;
    c.states = recipe_.states;
    c.on_disk = on_disk_;
    if (choice) c.activations_on_disk = choice->stowed_bytes;
    c.moved = 2 * c.activations_on_disk + (on_disk_ ? moved() : 0);
    c.choice = std::move(choice);
    return c;
  }

 private:
  // Bytes that a step reads from and writes to disk: parameters in forward, in backward and in the update, which takes the
  // states and leaves both changed.
  int64_t moved() {
    int64_t parameters = 0, states = 0;
    for (const optim::ParamGroup& g : trainer_->optimizer().groups())
      for (auto& [name, p] : g.params) parameters += p.nbytes();
    for (auto& [name, t] : trainer_->optimizer().state_dict()) states += t.nbytes();
    return 2 * parameters + 2 * (parameters + states);
  }
};

using Choices = std::vector<std::shared_ptr<const Choice>>;  // null: nothing is made again

// The cheapest cuts; `fine`: and what lies between two of them.
Choices choices(const planning::Recording& recording, bool fine) {
  Choices all{nullptr};
  const std::vector<planning::Cut> cuts = planning::cheapest_at_all_prices(recording, kCuts);
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Choice &a = cuts[i].choice, &b = cuts[i + 1].choice;
    for (int k = 1; k < kBetween && fine; ++k)
      all.push_back(std::make_shared<Choice>(mixed(a, b, b.again.size() * size_t(k) / kBetween)));
    if (b.any()) all.push_back(std::make_shared<Choice>(b));
  }
  return all;
}

class Planner {
  Subject& subject_;
  const Recipe& recipe_;
  const Plan& plan_;
  const Allowed allowed_;
  std::vector<PlanCandidate> all_;
  std::shared_ptr<const Choice> smallest_, stowed_;  // of the recipe as it is: in memory; with activations on disk

 public:
  Planner(Subject& subject, const Recipe& recipe, const Plan& plan, Allowed allowed)
      : subject_(subject), recipe_(recipe), plan_(plan), allowed_(allowed) {}

  std::vector<PlanCandidate> candidates() {
    add(recipe_, allowed_.accumulation);
    if (may_use_disk()) add_on_disk();
    if (Recipe r = recipe_; dynamic8.format()->def->bits < r.states.format()->def->bits) {
      r.states = dynamic8;
      add(r, allowed_.states && allowed_.accumulation);
    }
    return best();
  }

 private:
  bool may_use_disk() const { return !plan_.offload_folder.empty() && plan_.device == cpu && !plan_.shards; }
  enum Change { kPieces = 1, kStates = 2 };
  int changes(const PlanCandidate& c) const {
    return (c.accumulate > 1 ? kPieces : 0) | (c.states != recipe_.states ? kStates : 0);
  }
  bool allowed(int change) const {
    return (!(change & kPieces) || allowed_.accumulation) && (!(change & kStates) || allowed_.states);
  }

  // Numbers of equal pieces that a batch can be cut into.
  std::vector<int64_t> pieces() const {
    std::vector<int64_t> all;
    const int64_t n = distributed::sample_count(subject_.blank());
    for (int64_t k = 2; k <= n; k *= 2)
      if (n % k == 0) all.push_back(k);
    return all;
  }

  // What is only offered is looked at in its fastest and in its smallest form.
  void add(const Recipe& r, bool pieces_allowed) {
    DryRuns dry(subject_, r, plan_);
    const bool given = r.states == recipe_.states;
    const planning::Recording recording = dry.record();
    Choices again = choices(recording, given);
    const Choices coarse = given ? choices(recording, false) : again;
    if (!given && !allowed_.states) again = {nullptr, smallest_};
    int64_t least = INT64_MAX;
    for (const auto& choice : again) {
      keep(dry.run(choice, 1));
      if (given && all_.back().peak() < least) least = all_.back().peak(), smallest_ = choice;
    }
    if (given && may_use_disk()) {
      // What costs less than a byte's way to a typical disk and back is made again; or nothing is.
      for (const double price : {2 / kTypicalDisk, 0.0}) {
        const planning::Cut cut = planning::cheapest(recording, price);
        for (const double share : {0.5, 1.0}) {
          stowed_ = std::make_shared<Choice>(planning::stowed(recording, cut, share));
          keep(dry.run(stowed_, 1));
        }
      }
    }
    for (int64_t k : pieces())
      for (const auto& choice : pieces_allowed ? coarse : Choices{nullptr, smallest_}) keep(dry.run(choice, k));
  }
  void add_on_disk() {
    Plan plan = plan_;
    plan.on_disk = true;
    DryRuns dry(subject_, recipe_, plan);
    std::vector<int64_t> cuts = allowed_.accumulation ? pieces() : std::vector<int64_t>();
    cuts.insert(cuts.begin(), 1);
    Choices ways{nullptr, stowed_};
    if (smallest_) ways.push_back(smallest_);
    for (int64_t k : cuts)
      for (const auto& choice : ways) keep(dry.run(choice, k));
  }

  void keep(PlanCandidate c) {
    const int change = changes(c);
    c.offload_folder = plan_.offload_folder;
    c.exact = !change;
    c.allowed = allowed(change);
    std::vector<std::string> parts;
    if (change & kPieces) parts.push_back(fmt::format("{} pieces", c.accumulate));
    if (change & kStates) parts.push_back(c.states.name() + " states");
    if (c.on_disk) parts.push_back("parameters and states on disk");
    if (c.again) parts.push_back(calls_text(*c.choice));
    if (c.activations_on_disk) parts.push_back(human_bytes(c.activations_on_disk) + " of activations on disk");
    c.name = parts.empty() ? "as it is" : fmt::format("{}", fmt::join(parts, ", "));
    all_.push_back(std::move(c));
  }

  // What nothing beats in both that changes no more, and needs a disk no more.
  std::vector<PlanCandidate> best() {
    int64_t moved = 0;
    for (const PlanCandidate& c : all_) moved = std::max(moved, c.moved);
    const double rate = moved ? disk_rate(plan_.offload_folder, moved / 2) : 1;
    for (PlanCandidate& c : all_) c.seconds += double(c.moved) / rate;
    std::stable_sort(all_.begin(), all_.end(), [&](const PlanCandidate& a, const PlanCandidate& b) {
      return std::tuple(a.seconds, a.peak(), changes(a)) < std::tuple(b.seconds, b.peak(), changes(b));
    });
    std::vector<PlanCandidate> kept;
    constexpr int kDisk = 4, kAll = 8;
    int64_t least[kAll];  // so far, of those that change no more than this
    std::fill_n(least, kAll, INT64_MAX);
    for (PlanCandidate& c : all_) {
      const int change = changes(c) | (c.moved ? kDisk : 0);
      if (c.peak() >= least[change]) continue;
      for (int more = 0; more < kAll; ++more)
        if ((more & change) == change) least[more] = std::min(least[more], c.peak());
      kept.push_back(std::move(c));
    }
    return kept;
  }
};

}  // namespace

Allowed Allowed::parse(const std::vector<std::string>& names) {
  Allowed a;
  for (const std::string& name : names) {
    DY_CHECK_AS(ValueError, name == "accumulation" || name == "states",
                "plan: \"{}\" is nothing that can be allowed: it is accumulation or states", name);
    (name == "states" ? a.states : a.accumulation) = true;
  }
  return a;
}

MemoryPlan plan_training(Subject& subject, const Recipe& recipe, const Plan& plan, int64_t limit, Allowed allowed) {
  account::peaks();
  const GeneratorState random = generator_state();
  MemoryPlan p;
  p.limit = limit;
  p.states = recipe.states;
  p.candidates = Planner(subject, recipe, plan, allowed).candidates();
  set_generator_state(random);
  for (size_t i = 0; i < p.candidates.size(); ++i) {
    PlanCandidate& c = p.candidates[i];
    c.fits = !limit || c.peak() <= limit;
    if (p.chosen_index < 0 && c.fits && c.allowed) p.chosen_index = int(i);
  }
  return p;
}

Plan planned(Plan plan, const PlanCandidate& c) {
  plan.again = c.choice;
  plan.accumulate = c.accumulate;
  plan.on_disk = c.on_disk;
  return plan;
}

}  // namespace dyadic::inline v1::study
