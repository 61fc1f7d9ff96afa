#include "study/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "account/machine.h"
#include "base/check.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "dyadic/finfo.h"
#include "dyadic/io.h"
#include "dyadic/version.h"
#include "formats/format.h"
#include "io/atomic_file.h"
#include "study/model_file.h"
#include "study/preset.h"
#include "study/recipe_run.h"
#include "study/recommend.h"
#include "study/report_html.h"
#include "study/report_json.h"
#include "study/statistics.h"

namespace dyadic::inline v1::study {
namespace {

namespace fs = std::filesystem;
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void write_file(const std::string& path, const std::string& text) {
  io::AtomicFile file("study", path);
  file.write(text.data(), text.size());
  file.commit();
}

Machine machine() {
  account::MachineInfo m = account::machine_info();
  account::Peaks p = account::measure_peaks();
  empty_cache();
  Machine r;
  r.cpu = m.cpu, r.os = m.os, r.isa = m.isa, r.compiler = m.compiler;
  r.cores = m.cores, r.threads = m.threads;
  if (m.memory) r.memory = m.memory;
  r.flops_peak = p.flops_f32, r.flops_peak_bf16 = p.flops_bf16, r.bytes_per_s_peak = p.bytes_per_s;
  return r;
}

std::vector<std::string> chosen_recipes(const StudyRequest& q) {
  std::vector<std::string> names{"f32"};  // always, as the reference
  if (q.recipes.empty())
    for (const Recipe& r : recipes()) names.push_back(r.name);
  for (const std::string& name : q.recipes) names.push_back(recipe(name).name);
  std::vector<std::string> once;
  for (const std::string& n : names)
    if (std::find(once.begin(), once.end(), n) == once.end()) once.push_back(n);
  return once;
}

// Whether the model's weights are whole blocks of d, and one of them at least gains from it.
bool rows_fit(const models::Gpt& model, DType d) {
  for (auto& [name, t] : model.named_parameters())
    if (t.dim() >= 2 && t.size(-1) % d.format()->row_step()) return false;
  return !nn::quantizable(model, d).empty();
}

// Weight formats: the floats of at most 32 bits that have negative numbers, and every scaled one that this model's weights can
// be encoded in, but the optimizer states' codebooks. What was asked for by name is refused if they cannot.
std::vector<std::string> chosen_formats(const StudyRequest& q, const models::Gpt& model) {
  std::vector<std::string> names{"f32"};
  if (q.formats.empty())
    for (DType d : registered_dtypes())
      if ((d.is_floating_point() && d.bits() < 32 && finfo(d).min < 0) ||
          (d.is_scaled() && d != dynamic8 && d != udynamic8 && d.format()->can_encode() && rows_fit(model, d)))
        names.push_back(d.name());
  for (const std::string& text : q.formats) {
    DType d = DType::parse(text);
    DY_CHECK_AS(ValueError, d.is_scaled() || (d.is_floating_point() && d.bits() <= 32),
                "unknown weight format \"{}\": weights are stored in floats of at most 32 bits or scaled formats; dyadic "
                "formats lists them",
                text);
    check_encodes(*d.format());
    for (auto& [name, t] : model.named_parameters())
      if (t.dim() >= 2 && d.is_scaled()) d.format()->def->planes(*d.format(), {t.numel() / t.size(-1), t.size(-1)});
    DY_CHECK_AS(ValueError, !d.is_scaled() || !nn::quantizable(model, d).empty(),
                "{}: no weight of this model has rows of its blocks' {} elements; choose smaller blocks or a wider model",
                d.name(), d.format()->params.block);
    names.push_back(d.name());
  }
  std::vector<std::string> once;
  for (const std::string& n : names)
    if (std::find(once.begin(), once.end(), n) == once.end()) once.push_back(n);
  return once;
}

class Study {
  const StudyRequest& q_;
  train::Progress& progress_;
  Corpus corpus_;
  TrainSetup setup_;
  StudyOutcome o_;
  std::vector<std::vector<float>> f32_losses_;  // per seed
  std::unique_ptr<models::Gpt> f32_model_;
  double started_ = now(), earlier_ = 0;

  StudyResult& s() { return o_.result; }
  std::string path(const std::string& name) const { return o_.folder + "/" + name; }
  std::string checkpoint(const std::string& recipe, int seed) const {
    return path("checkpoints/" + recipe + "-seed" + std::to_string(seed) + ".safetensors");
  }
  std::string losses_file(const std::string& recipe, int seed) const {
    return path("checkpoints/" + recipe + "-seed" + std::to_string(seed) + ".losses.safetensors");
  }

 public:
  Study(const StudyRequest& q, train::Progress& progress) : q_(q), progress_(progress) {}

  StudyOutcome run() {
    prepare();
    bool whole = train_all() && store_all();
    s().complete = whole;
    o_.interrupted = !whole;
    write_report();
    return std::move(o_);
  }

 private:
  // What makes two runs the same study.
  std::string fingerprint() {
    const ModelInfo& m = s().model;
    return fmt::format(
        "preset {}, layers {}, heads {}, width {}, block {}, batch {}, vocabulary {}, tokens {}, corpus {}, steps {}, seeds "
        "{}, seed {}",
        m.preset, m.layers, m.heads, m.width, m.block, m.batch, m.vocabulary, s().corpus.tokens, s().corpus.sha256,
        s().options.steps, s().options.seeds, s().options.seed);
  }

  void prepare() {
    const Preset& preset = study::preset(q_.preset);
    auto recipe_names = chosen_recipes(q_);
    DY_CHECK_AS(ValueError, q_.seeds >= 1 && q_.seeds <= 100, "study: --seeds is {}; from 1 to 100", q_.seeds);
    DY_CHECK_AS(ValueError, q_.tolerance >= 0 && std::isfinite(q_.tolerance),
                "study: --tolerance is {}; a share such as 1% or 0.01", q_.tolerance);
    DY_CHECK_AS(ValueError, !q_.steps || *q_.steps >= 1, "study: --steps is {}; at least 1", q_.steps.value_or(0));
    corpus_ = Corpus::load(q_.data, q_.tokens.value_or(preset.tokens));
    setup_ = preset.setup;
    setup_.model.vocab = std::max(setup_.model.vocab, corpus_.vocabulary().size());
    setup_.seed = q_.seed;
    corpus_.require(setup_.model.block, setup_.batch);
    models::Gpt shape(setup_.model, {f32, meta});
    auto format_names = chosen_formats(q_, shape);
    o_.folder = q_.out.empty() ? run_folder("study-" + q_.preset, q_.resume) : q_.out;
    make_folder();
    s().version = DYADIC_VERSION;
    s().command = q_.command;
    s().corpus = corpus_.info();
    s().model = {preset.name,        setup_.model.layers,    setup_.model.heads,
                 setup_.model.width, setup_.model.block,     setup_.batch,
                 setup_.model.vocab, shape.num_parameters(), kUnknown};
    s().options.recipes = recipe_names;
    s().options.formats = format_names;
    s().options.seeds = q_.seeds;
    s().options.seed = q_.seed;
    s().options.tolerance = q_.tolerance;
    s().options.minimize = q_.minimize;
    s().options.time_s = q_.time_s;
    s().machine = machine();
    s().options.steps = q_.steps.value_or(setup_.steps);
    bool resumed = q_.resume && fs::exists(path("report.json"));
    if (resumed) take_over();
    if (!resumed && q_.time_s) s().options.steps = steps_for(*q_.time_s);
    setup_.steps = s().options.steps;
    if (resumed) return;
    for (const std::string& name : recipe_names) {
      RecipeResult r;
      r.name = name;
      r.doc = recipe(name).doc;
      s().recipes.push_back(std::move(r));
    }
    for (const std::string& name : format_names) {
      FormatResult f;
      f.name = name;
      s().formats.push_back(std::move(f));
    }
  }

  void make_folder() {
    bool used = fs::exists(path("report.json"));
    DY_CHECK_AS(ValueError, q_.resume || !used,
                "study: {} already holds a report; pass --resume to go on with it, or another --out", o_.folder);
    std::error_code error;
    if (q_.resume) {
      DY_CHECK_AS(ValueError, fs::exists(o_.folder),
                  "study: --resume: there is no study in {}: there is no such folder; leave --resume out to begin one",
                  o_.folder);
      if (!used && (!fs::exists(path("checkpoints")) || fs::is_empty(path("checkpoints"), error)))
        warn(fmt::format("study: --resume: {} has no report and no checkpoint yet; the study begins anew", o_.folder));
    }
    fs::create_directories(path("checkpoints"), error);
    std::string probe = path(".writable");
    std::ofstream out(probe);
    out << "x";
    out.close();
    DY_CHECK(!error && out, "study: the folder {} cannot be written; pass another --out", o_.folder);
    fs::remove(probe, error);
  }

  // An earlier run's results, if it was the same study.
  void take_over() {
    std::ifstream in(path("report.json"));
    StudyResult old = parse_report(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!q_.steps) s().options.steps = old.options.steps;
    s().options.time_s = old.options.time_s;
    std::string mine = fingerprint();
    StudyResult now = std::move(s());
    s() = std::move(old);
    std::string theirs = fingerprint();
    DY_CHECK_AS(ValueError, mine == theirs, "study: {} holds another study: there {}; here {}; pass another --out", o_.folder,
                theirs, mine);
    DY_CHECK_AS(
        ValueError, now.options.recipes == s().options.recipes && now.options.formats == s().options.formats,
        "study: {} holds a study of other recipes or formats; repeat the options it was begun with, or pass another --out",
        o_.folder);
    s().machine = now.machine;
    s().version = now.version;
    s().options.tolerance = now.options.tolerance;
    s().options.minimize = now.options.minimize;
    earlier_ = std::isfinite(s().seconds) ? s().seconds : 0;
  }

  // One step count for all recipes that fills about `seconds`, from a few steps of each.
  int64_t steps_for(double seconds) {
    double step_s = 0;
    TrainSetup probe = setup_;
    probe.steps = 1000;
    Batches batches(corpus_, setup_.model.block, setup_.batch, setup_.seed);
    for (const std::string& name : s().options.recipes) {
      Trainer t(probe, recipe(name));
      double best = 1e30;
      for (int i = 0; i < 5; ++i) {
        double begin = now();
        t.step(batches);
        best = std::min(best, now() - begin);
      }
      step_s += best * q_.seeds;
    }
    // A tenth goes to the start, the sampled steps and reports; evaluating costs about a third of a step per batch of text.
    double evaluation = double(corpus_.val_size()) / double(setup_.batch * setup_.model.block) * step_s / 3 * 2;
    double rest = seconds * 0.9 - evaluation - (now() - started_);
    return std::max<int64_t>(int64_t(rest / (step_s * 1.15)), 20);
  }

  void write_report() {
    s().seconds = earlier_ + now() - started_;
    s().recommendation = recommend(s());
    write_file(path("report.json"), report_json(s()));
    write_file(path("report.html"), report_html(s()));
  }

  std::vector<float> load_losses(const std::string& file) {
    io::SafeTensors f = io::load_safetensors(file);
    const Tensor& t = f.tensors.at(0).second;
    DY_CHECK(t.dtype() == f32 && t.numel() == corpus_.val_size() - 1, "{}: not this study's losses; delete it and resume again",
             file);
    const float* p = t.data<float>();
    return {p, p + t.numel()};
  }

  bool train_all() {
    int64_t total = 0;
    for (RecipeResult& r : s().recipes)
      if (r.status == Status::pending || r.status == Status::running) total += setup_.steps * q_.seeds;
    progress_.plan(total);
    for (RecipeResult& r : s().recipes) {
      if (r.bytes.peak.predicted) continue;
      r.bytes = predict(setup_, recipe(r.name));
    }
    for (RecipeResult& r : s().recipes)
      if (!train(r)) return false;
    return true;
  }

  // All seeds of a recipe; false: interrupted.
  bool train(RecipeResult& r) {
    const Recipe& recipe_ = recipe(r.name);
    bool bf16_arithmetic = recipe_.compute == bf16 || recipe_.parameters == bf16;
    r.flops_peak = bf16_arithmetic ? s().machine.flops_peak_bf16 : s().machine.flops_peak;
    std::vector<std::vector<float>> losses;
    if (r.status == Status::stopped) return true;
    for (int k = 0; k < q_.seeds; ++k) {
      std::string file = losses_file(r.name, k);
      if (fs::exists(file)) {
        losses.push_back(load_losses(file));
        continue;
      }
      TrainSetup setup = setup_;
      setup.seed += uint64_t(k);
      RecipeRun run{
          recipe_,   setup, corpus_, checkpoint(r.name, k), fingerprint() + fmt::format(", recipe {}, run {}", r.name, k),
          progress_, k == 0};
      if (!run.run(r)) return false;
      if (r.status == Status::stopped) {
        progress_.end(fmt::format("{}: stopped at step {}: {} in {} gave the first NaN or infinity", r.name, r.nan->step,
                                  r.nan->op, r.nan->module));
        write_report();
        return true;
      }
      if (r.name == "f32" && k == 0)
        io::save_safetensors(path("model.safetensors"), run.trainer->model().state_dict(),
                             model_metadata(setup_.model, q_.preset, corpus_.vocabulary()));
      losses.push_back(run.losses.losses);
      io::save_safetensors(file, {{"losses", from_data(losses.back().data(), {int64_t(losses.back().size())}, f32)}});
      std::error_code ignored;
      fs::remove(checkpoint(r.name, k), ignored);
      progress_.end(fmt::format("{:<14} validation loss {:.4f}{}", r.name, run.losses.mean(),
                                q_.seeds > 1 ? fmt::format(" (seed {})", k + 1) : ""));
    }
    finish(r, losses);
    write_report();
    return true;
  }

  void finish(RecipeResult& r, const std::vector<std::vector<float>>& losses) {
    std::vector<double> means;
    for (auto& l : losses) {
      double sum = 0;
      for (float x : l) sum += double(x);
      means.push_back(sum / double(l.size()));
    }
    r.seed_val_losses = means;
    r.val_loss = mean_se(means).mean;
    std::vector<double> first(losses[0].begin(), losses[0].end());
    r.val_loss_se = losses.size() > 1 ? mean_se(means).se : mean_se_clustered(first, setup_.model.block).se;
    if (r.name == "f32") {
      f32_losses_ = losses;
      r.vs_f32 = no_difference();
    } else if (!f32_losses_.empty()) {
      std::vector<PairedLosses> pairs;
      for (size_t k = 0; k < losses.size(); ++k) pairs.push_back({f32_losses_[k], losses[k]});
      r.vs_f32 = compare(pairs, setup_.model.block);
    }
    r.status = Status::done;
    if (std::isfinite(r.flops_per_s)) s().model.flops_per_step = r.flops_per_s * r.step_ms / 1e3;
  }

  bool store_all() {
    if (f32_losses_.empty()) return true;  // f32 itself has no finite loss: nothing to compare with
    bool pending =
        std::any_of(s().formats.begin(), s().formats.end(), [](const FormatResult& f) { return f.status != Status::done; });
    if (!pending) return true;
    models::Gpt model(setup_.model, {f32, cpu});
    model.load_state_dict(io::load_safetensors(path("model.safetensors")).tensors);
    int64_t done = 0;
    progress_.plan(0);
    progress_.begin("formats", int64_t(s().formats.size()));
    const int64_t batch = 4 * setup_.batch;  // quicker; what memory this takes is compared with no prediction
    const Reference reference = evaluate_reference(model, corpus_, batch);
    if (interrupted()) return false;
    for (FormatResult& f : s().formats) {
      if (f.status != Status::done) {
        f = evaluate_format(reference, DType::parse(f.name), corpus_, batch);
        if (f.status != Status::done) return false;
        if (f.name == "f32") f.vs_f32 = no_difference();
      }
      progress_.step(++done, f.val_loss);
      write_report();
    }
    progress_.end();
    return true;
  }
};

}  // namespace

std::string run_folder(const std::string& base, bool resume) {
  std::string name = base;
  for (int i = 2; !resume && fs::exists(name); ++i) name = base + "-" + std::to_string(i);
  return name;
}

StudyOutcome run_study(const StudyRequest& request, train::Progress& progress) { return Study(request, progress).run(); }

}  // namespace dyadic::inline v1::study
