#include "study/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "device/limit.h"
#include "dyadic/distributed.h"
#include "dyadic/interrupt.h"
#include "dyadic/io.h"
#include "dyadic/version.h"
#include "study/conclude.h"
#include "study/identity.h"
#include "study/layers.h"
#include "study/measure.h"
#include "study/memory_plan.h"
#include "study/recipe_apply.h"
#include "study/recipe_run.h"
#include "study/recommend.h"
#include "study/report_json.h"
#include "study/request.h"
#include "study/result_files.h"
#include "study/save_report.h"
#include "study/statistics.h"
#include "study/step_times.h"
#include "study/stored.h"
#include "study/words.h"

namespace dyadic::inline v1::study {
namespace {

namespace fs = std::filesystem;

class StudyWork {
  distributed::Group& group_ = distributed::world();
  Subject& subject_;
  const StudyRequest& q_;
  train::Progress& progress_;
  Plan plan_;
  std::vector<Recipe> recipes_;
  std::map<std::string, PlanCandidate> fitted_;  // into the memory limit, by recipe; none without a limit
  Study o_;
  std::vector<Evaluation> f32_losses_;  // per seed
  double started_ = seconds_now(), earlier_ = 0;

  StudyResult& s() { return o_.result; }
  std::string path(const std::string& name) const { return o_.folder + "/" + name; }
  std::string checkpoint(const std::string& recipe, int seed) const {
    return path("checkpoints/" + recipe + "-seed" + std::to_string(seed) + ".safetensors");
  }
  // What a rank has found of a recipe, as a report: one that all read, and that stays when another rank dies.
  std::string results_file(const std::string& recipe) const { return path("checkpoints/" + recipe + ".report.json"); }
  bool first() const { return group_.rank() == 0; }
  std::string losses_file(const std::string& recipe, int seed) const {
    return path("checkpoints/" + recipe + "-seed" + std::to_string(seed) + ".losses.safetensors");
  }

 public:
  StudyWork(Subject& subject, const StudyRequest& q, train::Progress& progress)
      : subject_(subject), q_(q), progress_(progress), plan_(q.plan) {}

  // On several ranks each trains some of the recipes; the first does the rest, which others wait for.
  Study run() {
    if (group_.size() > 1)
      prepare_ranks();
    else
      prepare();
    bool whole = train_shares() && (!first() || (train_all() && store_all()));
    s().complete = whole;
    o_.interrupted = !whole;
    if (first()) write_report();
    group_.barrier();
    return std::move(o_);
  }

 private:
  std::string option(const char* name) const { return study::option(q_, name); }

  const Recipe& chosen(const std::string& name) const {
    return *std::find_if(recipes_.begin(), recipes_.end(), [&](const Recipe& r) { return r.name == name; });
  }

  Identity identity() {
    Identity all = subject_.identity(s());
    add_options(all, s().options, recipes_);
    if (plan_.device != cpu) all.emplace_back("device", plan_.device.name());
    return all;
  }
  std::string fingerprint() { return joined(s().identity); }

  // Under a limit: how each recipe fits into it, to the same bits. OutOfMemoryError that names the least where one does not.
  void fit() {
    const int64_t limit = memory_limit() - memory_stats().total;
    if (!memory_limit()) return;
    Plan plan = plan_;
    plan.steps = q_.steps.value_or(plan.steps);
    plan.offload_folder = q_.out.empty() ? "." : q_.out;  // there, or in a folder of it
    for (const Recipe& r : recipes_) try {
        fitted_[r.name] = plan_training(subject_, r, plan, limit, {}).chosen();
      } catch (const OutOfMemoryError& e) { fail<OutOfMemoryError>("study: {} does not fit: {}", r.name, e.what()); }
  }
  // Of a run of the recipe.
  Plan plan_of(const std::string& recipe) const {
    const auto fitted = fitted_.find(recipe);
    if (fitted == fitted_.end()) return plan_;
    Plan plan = planned(plan_, fitted->second);
    plan.offload_folder = path("checkpoints");
    return plan;
  }

  void prepare() {
    recipes_ = chosen_recipes(q_);
    check_request(q_);
    fit();
    auto formats = weight_formats(*subject_.make(recipe("f32"), meta), q_.formats, subject_.all_stored());
    for (const Recipe& r : recipes_) subject_.optimizer(*subject_.make(r, meta), r, plan_);  // refuses what cannot be trained
    o_.folder = q_.out.empty() ? run_folder("study", q_.name, q_.resume) : q_.out;
    make_folder();
    s().version = DYADIC_VERSION;
    s().command = q_.command;
    subject_.describe(s());
    for (const Recipe& r : recipes_) s().options.recipes.push_back(r.name);
    s().options.formats = std::move(formats);
    s().options.seeds = q_.seeds;
    s().options.seed = plan_.seed;
    s().options.tolerance = q_.tolerance;
    s().options.minimize = q_.minimize;
    s().options.time_s = q_.time_s;
    s().options.clip = plan_.clip;
    s().options.per_layer = q_.per_layer, s().options.shadow = q_.shadow;
    {
      const WithoutLimit measuring;
      s().machine = this_machine();
      empty_cache();
    }
    s().options.steps = q_.steps.value_or(plan_.steps);
    bool resumed = q_.resume && fs::exists(path("report.json"));
    if (resumed) take_over();
    if (!resumed && q_.time_s) s().options.steps = steps_for(*q_.time_s);
    plan_.steps = s().options.steps;
    s().identity = identity();
    if (resumed) return;
    for (const auto& [recipe, way] : fitted_)
      if (way.choice || way.on_disk)
        s().notes.push_back(fmt::format("To fit into {}, {} trained with {}: its times are those of that way.",
                                        human_bytes(memory_limit()), recipe, way.name));
    for (const Recipe& chosen : recipes_) {
      RecipeResult r;
      r.name = chosen.name;
      r.doc = chosen.doc;
      r.fields = fields_of(chosen);
      s().recipes.push_back(std::move(r));
    }
    for (const std::string& name : s().options.formats) {
      FormatResult f;
      f.name = name;
      s().formats.push_back(std::move(f));
    }
  }

  void prepare_ranks() {
    constexpr double kForever = 1e9;  // seconds: recipes differ in what they take
    distributed::set_timeout(kForever);
    group_.on_first([&] { prepare(); });
    o_.folder = group_.broadcast(o_.folder);
    const std::string begun = group_.broadcast(first() ? report_json(s()) : "");
    if (!first()) {
      recipes_ = chosen_recipes(q_);
      fit();
      s() = parse_report(begun);
      plan_.steps = s().options.steps;
    }
    group_.require_equal("the program", DYADIC_VERSION);
    subject_.describe(s());
    s().identity = identity();
    group_.require_equal("the study", fingerprint());
  }

  void make_folder() {
    bool used = fs::exists(path("report.json"));
    DY_CHECK_AS(ValueError, q_.resume || !used, "study: {} already holds a report; pass {} to go on with it, or another {}",
                o_.folder, option("resume"), option("out"));
    std::error_code error;
    if (q_.resume) {
      DY_CHECK_AS(ValueError, fs::exists(o_.folder),
                  "study: {0}: there is no study in {1}: there is no such folder; leave {0} out to begin one", option("resume"),
                  o_.folder);
      if (!used && (!fs::exists(path("checkpoints")) || fs::is_empty(path("checkpoints"), error)))
        warn(fmt::format("study: {}: {} has no report and no checkpoint yet; the study begins anew", option("resume"),
                         o_.folder));
    }
    check_writable(o_.folder, option("out"));
    fs::create_directories(path("checkpoints"));
  }

  // An earlier run's results, if it was the same study.
  void take_over() {
    std::ifstream in(path("report.json"));
    StudyResult old = parse_report(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!q_.steps) s().options.steps = old.options.steps;
    s().options.time_s = old.options.time_s;
    const std::string differs = difference(old.identity, identity());
    DY_CHECK_AS(ValueError, differs.empty(),
                "study: {} holds another study: {}; repeat the options it was begun with, or pass another {}", o_.folder,
                differs, option("out"));
    StudyResult now = std::move(s());
    s() = std::move(old);
    s().machine = now.machine;
    s().version = now.version;
    s().options.tolerance = now.options.tolerance;
    s().options.minimize = now.options.minimize;
    s().options.per_layer = now.options.per_layer;
    take_results(s(), [this](const std::string& recipe) { return results_file(recipe); });
    earlier_ = std::isfinite(s().seconds) ? s().seconds : 0;
  }

  // One step count for all recipes that fills about `seconds`, from a few steps of each.
  int64_t steps_for(double seconds) {
    double step_s = 0;
    for (const Recipe& r : recipes_) {
      Plan probe = plan_of(r.name);
      probe.steps = 1000;
      Trainer t(subject_, r, probe);
      double best = 1e30;
      for (int i = 0; i < 5; ++i) {
        double begin = seconds_now();
        t.step();
        best = std::min(best, seconds_now() - begin);
      }
      step_s += best * q_.seeds;
    }
    // A tenth goes to the start, the sampled steps and reports, a twentieth of the steps to their times; evaluating costs about
    // a third of a step per batch of text.
    double evaluation = double(subject_.evaluation_steps()) * step_s / 3 * 2;
    double rest = seconds * 0.9 - evaluation - (seconds_now() - started_);
    return std::max<int64_t>(int64_t(rest / (step_s * 1.2)), 20);
  }

  void write_report() {
    s().seconds = earlier_ + seconds_now() - started_;
    s().recommendation = recommend(s());
    save_report(s(), o_.folder);
  }

  // This rank's recipes, of several ranks; false where any was interrupted.
  bool train_shares() {
    if (group_.size() == 1) return true;
    bool whole = true;
    int64_t steps = 0;
    std::vector<RecipeResult*> own;
    for (size_t i = 0; i < s().recipes.size(); ++i)
      if (int64_t(i) % group_.size() == group_.rank() && s().recipes[i].status != Status::done) own.push_back(&s().recipes[i]);
    for (const RecipeResult* r : own) steps += r->status == Status::stopped ? 0 : plan_.steps * q_.seeds;
    progress_.plan(steps);
    for (RecipeResult* r : own) {
      if (!r->bytes.peak.predicted) predict(*r);
      whole = whole && train_seeds(*r);
    }
    for (const std::string& theirs : group_.all_gather(whole ? "whole" : "interrupted")) whole = whole && theirs == "whole";
    if (first()) take_results(s(), [this](const std::string& recipe) { return results_file(recipe); });
    return whole;
  }

  bool train_all() {
    int64_t total = 0;
    for (RecipeResult& r : s().recipes)
      if (r.status != Status::done && r.status != Status::stopped) total += plan_.steps * q_.seeds;
    if (group_.size() == 1) progress_.plan(total);
    for (RecipeResult& r : s().recipes) {
      if (r.bytes.peak.predicted) continue;
      predict(r);
    }
    for (RecipeResult& r : s().recipes)
      if ((r.status != Status::failed || group_.size() == 1) && !train(r)) return false;
    if (!is_text(s())) note_memory(s(), subject_.other_memory());
    subject_.add_notes(s());
    const auto plans = [&](const std::string& recipe) { return plan_of(recipe); };
    if (!time_in_turns(subject_, recipes_, plans, s(), progress_)) return false;
    write_report();
    return true;
  }

  // A model of one's own may ask for values, which a dry run has not.
  void predict(RecipeResult& r) try {
    r.bytes = study::predict(subject_, chosen(r.name), plan_of(r.name)).bytes;
  } catch (const std::exception& e) {
    if (is_text(s())) throw;
    const std::string note = fmt::format("The memory of training could not be predicted: {}", in_one_line(e.what()));
    if (s().notes.empty() || s().notes.back() != note) s().notes.push_back(note);
  }

  // All seeds of a recipe; false: interrupted.
  bool train(RecipeResult& r) {
    std::vector<Evaluation> losses;
    if (!train_seeds(r, &losses)) return false;
    if (r.status != Status::stopped && r.status != Status::failed) {
      conclude(r, losses, f32_losses_, s().measure, subject_.window());
      if (const double flops = flops_of_step(r); std::isfinite(flops)) s().model.flops_per_step = flops;
    }
    write_report();
    return true;
  }
  bool train_seeds(RecipeResult& r, std::vector<Evaluation>* all = nullptr) {
    const Recipe& recipe_ = chosen(r.name);
    bool bf16_arithmetic = recipe_.compute == bf16 || recipe_.parameters == bf16;
    r.flops_peak = bf16_arithmetic ? s().machine.flops_peak_bf16 : s().machine.flops_peak;
    std::vector<Evaluation> losses;
    if (r.status == Status::stopped) return true;
    for (int k = 0; k < q_.seeds; ++k) {
      std::string file = losses_file(r.name, k);
      if (fs::exists(file)) {
        losses.push_back(
            load_losses(file, !s().measure.metric.empty(), f32_losses_.empty() ? 0 : f32_losses_[0].losses.size()));
        continue;
      }
      Plan plan = plan_of(r.name);
      plan.seed += uint64_t(k);
      RecipeRun run{
          subject_,  recipe_, plan,     checkpoint(r.name, k), fingerprint() + fmt::format(", recipe {}, run {}", r.name, k),
          progress_, k == 0,  q_.shadow};
      run.saved = [this](const RecipeResult& r) { group_.size() > 1 ? save_results(r) : write_report(); };
      bool whole = true;
      if (const std::string error = error_of(r.name, [&] { whole = run.run(r); }); !error.empty()) {
        run.failed(r, error);
        progress_.end(fmt::format("{}: {}", r.name, r.error));
        save_results(r);
        return true;
      }
      if (!whole) return false;
      if (r.status == Status::stopped) {
        progress_.end(fmt::format("{}: stopped at step {}: {} in {} gave the first NaN or infinity", r.name, r.nan->step,
                                  r.nan->op, r.nan->module));
        save_results(r);
        return true;
      }
      if (r.name == "f32" && k == 0) subject_.save(run.trainer->model(), o_.folder, {});
      losses.push_back(run.losses);
      save_results(r);
      save_losses(file, run.losses);
      std::error_code ignored;
      fs::remove(checkpoint(r.name, k), ignored);
      progress_.end(fmt::format("{:<14} validation loss {:.4f}{}", r.name, run.losses.mean(),
                                q_.seeds > 1 ? fmt::format(" (seed {})", k + 1) : ""));
    }
    if (all) *all = std::move(losses);
    return true;
  }

  void save_results(const RecipeResult& r) {
    if (group_.size() > 1) study::save_results(results_file(r.name), s());
  }

  bool store_all() {
    if (f32_losses_.empty()) return true;  // f32 itself has no finite loss: nothing to compare with
    bool pending =
        std::any_of(s().formats.begin(), s().formats.end(), [](const FormatResult& f) { return f.status != Status::done; });
    if (!pending && (!q_.per_layer || s().layers)) return true;
    const Placed placed(subject_, recipe("f32"), plan_of("f32"), plan_.device);
    nn::Module* const model = placed.model.get();
    subject_.load(*model, o_.folder);
    int64_t done = 0;
    progress_.plan(0);
    progress_.begin("formats", int64_t(s().formats.size()));
    const int64_t size = memory_limit() ? 0 : 4;  // 4: quicker; 0: a sample at a time, as logits are there several times
    const Reference reference = evaluate_reference(subject_, *model, size, s().measure);
    if (interrupted()) return false;
    for (FormatResult& f : s().formats) {
      if (f.status != Status::done) {
        f = judged_or_failed(f.name, [&] { return evaluate_format(reference, DType::parse(f.name)); });
        if (f.status == Status::running) return false;
        if (f.name == "f32")
          f.vs_f32 = no_difference(), f.metric_vs_f32 = std::isfinite(f.metric) ? no_difference() : LossDelta();
      }
      progress_.step(++done, f.val_loss);
      write_report();
    }
    progress_.end();
    if (!q_.per_layer) return true;
    s().recommendation = recommend(s());
    add_layers(reference, s(), progress_);
    return !interrupted();
  }
};

}  // namespace

Study run_study(Subject& subject, const StudyRequest& request, train::Progress& progress) {
  return StudyWork(subject, request, progress).run();
}

}  // namespace dyadic::inline v1::study
