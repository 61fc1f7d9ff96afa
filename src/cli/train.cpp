// dyadic train: one model under one recipe, with checkpoints, to a model.safetensors. Settings come from the command line, then
// from --config, then from the preset.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/training_options.h"
#include "device/limit.h"
#include "dyadic/data_parallel.h"
#include "dyadic/interrupt.h"
#include "dyadic/progress.h"
#include "dyadic/version.h"
#include "study/evaluate.h"
#include "study/memory_plan.h"
#include "study/model_file.h"
#include "study/run.h"
#include "study/trainer.h"
#include "study/words.h"
#include "train/parted.h"

namespace dyadic::inline v1::cli {
namespace {

namespace fs = std::filesystem;

struct TrainOptions {
  std::string preset = "char", recipe = "f32", state, tokens = "bytes", out, time, spread = "none", wire, device = "cpu";
  std::vector<std::string> data, allow;
  study::TrainSetup setup;
  int64_t checkpoint_every = 0;
  bool resume = false;
};

class Training {
  distributed::Group& group_ = distributed::world();
  const TrainOptions& o_;
  study::Recipe recipe_;
  study::Corpus corpus_;
  study::TrainSetup setup_;
  study::Plan plan_;
  std::unique_ptr<study::TextSubject> subject_;
  std::unique_ptr<study::Trainer> trainer_;
  study::Bytes bytes_;
  double started_ = seconds_now();
  std::vector<double> times_;   // seconds per step, of this process
  int64_t sent_ = 0;            // bytes to other ranks, in steps
  int64_t sent_predicted_ = 0;  // in each
  double train_loss_ = study::kUnknown, val_loss_ = study::kUnknown;
  bool finished_ = false;  // by an earlier process
  bool late_ = false;      // --time is up

  bool first() const { return group_.rank() == 0; }
  std::string model_path() const { return (fs::path(o_.out) / "model.safetensors").native(); }
  std::string checkpoint_path() const { return (fs::path(o_.out) / "checkpoint.safetensors").native(); }

 public:
  explicit Training(const TrainOptions& o) : o_(o), recipe_(study::recipe(o.recipe)), setup_(o.setup) {
    if (!o.state.empty()) recipe_.states = DType::parse(o.state);
    corpus_ = study::Corpus::load(o.data, study::parse_token_kind(o.tokens));
    setup_.model.vocab = std::max(setup_.model.vocab, corpus_.vocabulary().size());
    corpus_.require(setup_.model.block, setup_.batch);
    setup_.spread = distributed::parse_spread(o.spread);
    setup_.device = o.device;
    if (!o.wire.empty()) setup_.wire = DType::parse(o.wire);
    if (!setup_.shards && (group_.size() > 1 || setup_.wire)) setup_.shards = std::min(distributed::kUsualShards, setup_.batch);
    DY_CHECK_AS(ValueError, setup_.shards <= setup_.batch, "train: --shards: a batch of {} has fewer samples than {} shards",
                setup_.batch, setup_.shards);
    subject_ = std::make_unique<study::TextSubject>(setup_, corpus_, o_.preset);
    plan_ = setup_.plan();
    plan_.offload_folder = o_.out;
    if (memory_limit() && !plan_.shards) fit(memory_limit());
    group_.require_equal("the program", DYADIC_VERSION);
    group_.require_equal("the run", fmt::format("{}, spread {}", fingerprint(), o.spread));
    group_.on_first([&] { check_folder(); });
  }

  int run(const Common& common) try { return run_all(common); } catch (const OutOfMemoryError& e) {
    if (memory_limit()) throw;
    const int64_t had = memory_stats(setup_.device).total_peak;  // there was so much
    trainer_.reset();
    fail<OutOfMemoryError>("{}; {}", e.what(), would_fit(had, common.line));
  }

 private:
  int run_all(const Common& common) {
    const int64_t sent = group_.bytes_sent();
    bytes_ = study::predict(*subject_, recipe_, plan_).bytes;
    sent_predicted_ = (group_.bytes_sent() - sent) / 2;  // it makes two steps
    MemoryStats before = memory_stats(setup_.device);
    trainer_ = std::make_unique<study::Trainer>(*subject_, recipe_, plan_);
    finished_ = o_.resume && take_over();
    reset_peak_memory_stats(setup_.device);
    bool whole = finished_ || train();
    if (!finished_) study::fill_bytes(bytes_, memory_stats(setup_.device), before, &study::Amount::measured);
    std::optional<distributed::Gathered> all;  // for the file, and for what is said of the model
    if (distributed::DataParallel* parallel = trainer_->parallel()) all.emplace(*parallel);
    if (whole && !finished_) group_.on_first([&] { save_model(); });
    if (whole && first()) {
      // In the weights' own dtype, whatever the recipe computes in, so that losses of recipes compare.
      trainer_->optimizer().zero_grad();
      study::Evaluation e = study::evaluate(*subject_, trainer_->model(), memory_limit() ? 1 : 4);
      if (!interrupted()) val_loss_ = e.mean();
    }
    group_.barrier();  // whoever is done waits here without using a processor
    if (first()) print(common.json ? json_text(document()) : text());
    if (!interrupted() && whole) return kDone;
    if (!whole && first())
      fmt::print(stderr, "{} after step {}: the checkpoint is {}; go on with the same command and --resume{}\n",
                 late_ ? "time is up" : "interrupted", trainer_->steps_done(), train::saved_at(checkpoint_path()),
                 fs::path(o_.out).filename() == "train-" + o_.preset ? "" : " --out " + o_.out);
    return kInterrupted;
  }

  std::string would_fit(int64_t limit, const std::string& command) {
    const MemoryPlan p = study::plan_training(*subject_, recipe_, plan_, limit, study::Allowed::parse(o_.allow));
    if (!p.fits())
      return fmt::format("the least that it can be trained in is {} bytes: take a smaller batch or model", p.least());
    return fmt::format("it fits into that: {} --memory-limit {}", command, limit);
  }

  // Before anything is allocated: what the limit takes, or an error that says what would fit.
  void fit(int64_t limit) {
    const MemoryPlan p =
        study::plan_training(*subject_, recipe_, plan_, limit - memory_stats().total, study::Allowed::parse(o_.allow));
    const PlanCandidate& c = p.chosen();
    if (c.choice || c.on_disk || !c.exact)
      fmt::print(stderr, "to fit into {}: {} ({} at the peak, predicted)\n", human_bytes(limit), c.name, human_bytes(c.peak()));
    plan_ = study::planned(plan_, c);
    recipe_.states = c.states;
  }

  // What makes two runs the same.
  std::string fingerprint() const {
    std::string text =
        fmt::format("preset {}, recipe {}, state {}, seed {}, tokens {}, corpus {}, vocabulary {}", o_.preset, o_.recipe,
                    recipe_.states.name(), setup_.seed, o_.tokens, corpus_.info().sha256, setup_.model.vocab);
    if (setup_.shards) text += fmt::format(", shards {}", setup_.shards);
    if (setup_.device.is_cuda()) text += ", device cuda";
    if (setup_.wire) text += fmt::format(", wire {}", setup_.wire.name());
    study::TrainSetup setup = setup_;
    for (const study::Setting& s : study::settings(setup)) text += fmt::format(", {} {}", s.name, s.text());
    if (plan_.accumulate > 1) text += fmt::format(", pieces {}", plan_.accumulate);
    return text;
  }

  // The first thing in which two fingerprints differ.
  static std::pair<std::string, std::string> difference(std::string there, std::string here) {
    auto cut = [](std::string& rest) {
      std::string item = rest.substr(0, rest.find(", "));
      rest.erase(0, item.size() + 2);
      return item;
    };
    while (true) {
      std::string a = cut(there), b = cut(here);
      if (a != b || there.empty() || here.empty()) return {a, b};
    }
  }

  void check_folder() {
    if (o_.resume) {
      DY_CHECK_AS(ValueError, fs::exists(o_.out),
                  "train: --resume: there is no run in {}: there is no such folder; leave --resume out to begin one", o_.out);
      if (!fs::exists(model_path()) && train::saved_at(checkpoint_path()).empty())
        warn(fmt::format("train: --resume: {} has no checkpoint yet; the run begins anew", o_.out));
    }
    std::error_code error;
    fs::create_directories(o_.out, error);
    const fs::path probe = fs::path(o_.out) / ".writable";
    std::ofstream out(probe);
    out << "x";
    out.close();
    DY_CHECK_AS(ValueError, !error && out, "train: the folder {} cannot be written{}{}; pass another --out", o_.out,
                error ? ": " : "", error ? error.message() : "");
    fs::remove(probe, error);
    for (const std::string& file : {fs::exists(model_path()) ? model_path() : "", train::saved_at(checkpoint_path())})
      DY_CHECK_AS(ValueError, o_.resume || file.empty(),
                  "train: {} is there already; pass --resume to go on with that run, or another --out", file);
  }

  // From the checkpoint, if there is one. True: the model is trained already.
  bool take_over() {
    if (const std::string saved = train::saved_at(checkpoint_path()); !saved.empty()) {
      trainer_->load(saved, fingerprint());
      return false;
    }
    if (!fs::exists(model_path())) return false;
    const std::shared_ptr<io::TensorFile> model = io::open(model_path());
    io::Metadata metadata = study::texts_of(*model);
    if (metadata["run"] != fingerprint()) {
      auto [there, here] = difference(metadata["run"], fingerprint());
      fail<ValueError>(
          "train: {} is of another run: there {}; here {}; repeat the options it was begun with, or pass another --out",
          model_path(), there.empty() ? "nothing is said" : there, here);
    }
    trainer_->model().load_state_dict(study::weights_of(trainer_->model(), *model));
    train_loss_ = std::strtod(metadata["train_loss"].c_str(), nullptr);
    return true;
  }

  // False: interrupted, with a checkpoint.
  bool train() {
    train::Progress progress(train::Progress::of_ranks());
    progress.plan(setup_.steps - trainer_->steps_done());
    progress.begin(recipe_.name, setup_.steps, trainer_->steps_done());
    const double end = o_.time.empty() ? HUGE_VAL : started_ + duration(o_.time);
    const int64_t sent = group_.bytes_sent();
    while (trainer_->steps_done() < setup_.steps) {
      if (stops(end)) {
        save_checkpoint();
        return false;
      }
      double begin = seconds_now();
      train_loss_ = trainer_->step();
      if (auto& nan = trainer_->nan())
        fail("train: the loss is not finite at step {}: the first NaN or infinity came from {} in {}; try another recipe",
             nan->step, nan->op.empty() ? "an unknown op" : nan->op, nan->module.empty() ? "the model" : nan->module);
      times_.push_back(seconds_now() - begin);
      int64_t done = trainer_->steps_done();
      progress.step(done, train_loss_, double(tokens()) / times_.back());
      // Not after the last step: the model itself follows.
      if (o_.checkpoint_every && done % o_.checkpoint_every == 0 && done < setup_.steps) save_checkpoint();
      sent_ = group_.bytes_sent() - sent;
    }
    return true;
  }

  // Ctrl-C, or the end of --time. Of several ranks all stop after the same step: the one that follows the wish.
  bool stops(double end) {
    late_ = seconds_now() >= end;
    const bool wish = interrupted() || late_;
    distributed::DataParallel* parallel = trainer_->parallel();
    if (!parallel) return wish;
    if (wish) parallel->ask();
    return parallel->asked();
  }

  void save_checkpoint() { trainer_->save(checkpoint_path(), fingerprint()); }

  void save_model() {
    subject_->save(trainer_->model(), o_.out, {{"run", fingerprint()}, {"train_loss", fmt::format("{}", train_loss_)}});
  }

  int64_t tokens() const { return setup_.batch * setup_.model.block; }
  double step_seconds() const {  // the median; the first two steps warm up
    std::vector<double> t = times_;
    if (t.size() > 4) t.erase(t.begin(), t.begin() + 2);
    if (t.empty()) return study::kUnknown;
    std::nth_element(t.begin(), t.begin() + int64_t(t.size() / 2), t.end());
    return t[t.size() / 2];
  }
  int64_t steps_done() const { return finished_ ? setup_.steps : trainer_->steps_done(); }

  // As --config reads it: the same run again.
  Json config() const {
    Json j = {{"preset", o_.preset}, {"recipe", o_.recipe}, {"state", recipe_.states.name()},
              {"data", o_.data},     {"tokens", o_.tokens}, {"seed", setup_.seed}};
    if (setup_.shards) j["shards"] = setup_.shards;
    if (setup_.device.is_cuda()) j["device"] = o_.device;
    if (setup_.wire) j["wire"] = o_.wire;
    study::TrainSetup setup = setup_;
    for (const study::Setting& s : study::settings(setup))
      if (s.text() != "default") j[s.name] = parse_json<Json>(s.text());
    return j;
  }

  Json document() const {
    auto amount = [](const study::Amount& a) {
      auto number = [](const study::Count& c) { return c ? Json(*c) : Json(nullptr); };
      return Json{{"predicted", number(a.predicted)}, {"measured", number(a.measured)}};
    };
    return {{"steps", steps_done()},
            {"train_loss", train_loss_},
            {"val_loss", val_loss_},
            {"seconds", seconds_now() - started_},
            {"ms_per_step", step_seconds() * 1e3},
            {"ranks", group_.size()},
            {"shards", setup_.shards},
            {"bytes_sent_per_step", times_.empty() ? Json(nullptr) : Json(sent_ / int64_t(times_.size()))},
            {"bytes_sent_per_step_predicted", sent_predicted_},
            {"tokens_per_s", double(tokens()) / step_seconds()},
            {"bytes",
             {{"parameters", amount(bytes_.parameters)},
              {"gradients", amount(bytes_.gradients)},
              {"optimizer", amount(bytes_.optimizer)},
              {"activations", amount(bytes_.activations)},
              {"workspace", amount(bytes_.workspace)},
              {"peak", amount(bytes_.peak)}}},
            {"lost_updates", finished_ ? Json(nullptr) : Json(trainer_->optimizer().updates().share())},
            {"skipped_steps", trainer_->scaler().skipped()},
            {"loss_scale", trainer_->scaler().get_scale()},
            {"config", config()},
            {"weights_sha256", trainer_->weights_sha256()},
            {"model", fs::exists(model_path()) ? Json(model_path()) : Json(nullptr)}};
  }

  std::string text() const {
    auto number = [](double x, const char* unit) { return x == x ? fmt::format("{:.4g}{}", x, unit) : std::string("unknown"); };
    std::string out = fmt::format("{} steps, training loss {}, validation loss {}, {} per step, {} tokens/s", steps_done(),
                                  number(train_loss_, ""), number(val_loss_, " nats per token"),
                                  number(step_seconds() * 1e3, " ms"), number(double(tokens()) / step_seconds(), ""));
    if (bytes_.peak.measured) out += fmt::format(", {} at the peak", human_bytes(*bytes_.peak.measured));
    if (!finished_) out += fmt::format(", {:.2g} % of updates lost to rounding", 100 * trainer_->optimizer().updates().share());
    if (recipe_.scaler) out += fmt::format(", {} steps skipped by the loss scaler", trainer_->scaler().skipped());
    return out + "\n" + (fs::exists(model_path()) ? model_path() + "\n" : "");
  }
};

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(fmt::format("train: --config {}: cannot be read: {}", path, std::strerror(errno)));
  return {std::istreambuf_iterator<char>(in), {}};
}

// What the command line left out comes from --config, then from the preset.
int train(TrainOptions& o, Options& options, const std::string& config, const Common& common) {
  install_interrupt_handler();
  if (!config.empty()) options.take("train: --config " + config, read_text(config));
  options.take("train: preset " + o.preset, study::preset(o.preset).document);
  if (o.out.empty()) o.out = distributed::world().broadcast(study::run_folder("train", o.preset, o.resume));
  return Training(o).run(common);
}

Run setup_train(Options& options) {
  struct Given {
    TrainOptions o;
    std::string config;
    Options options;
  };
  auto g = std::make_shared<Given>(Given{{}, {}, options});
  TrainOptions& o = g->o;
  o.setup.model.vocab = 0;
  Options& list = g->options;
  list.value("--preset", o.preset, "P", "model and training: nano, char, baby, gpt2s, nanogpt-cpu (default: char)",
             [](const std::string& text) { study::preset(text); })
      .value("--recipe", o.recipe, "R", "precision it trains in: f32, bf16, f16, pure-bf16 ... (default: f32)",
             [](const std::string& text) { study::recipe(text); })
      .value("--state", o.state, "F", "what the optimizer's states are kept in (default: the recipe's)",
             [](const std::string& text) { DType::parse(text); })
      .value("--device", o.device, "D", "where it is trained: cpu, cuda or cuda:1 (default: cpu)",
             [](const std::string& text) { Device::parse(text); })
      .value("--data", o.data, "FILE|DIR", "text files and folders (default: a text built into the program)")
      .value("--tokens", o.tokens, "KIND", "what a token is: bytes or chars (default: the preset's, else bytes)",
             [](const std::string& text) { study::parse_token_kind(text); });
  add_ranks(list, o.setup.shards, o.spread, o.wire);
  list.value("--seed", o.setup.seed, "N", "of the initial weights and the batches (default: 0)")
      .value("--out", o.out, "DIR",
             "folder of model.safetensors and the checkpoint (default: train-PRESET, or the next free number)")
      .value("--checkpoint-every", o.checkpoint_every, "N", "write a checkpoint after every N steps (Ctrl-C always does)",
             at_least(1))
      .value("--allow", o.allow, "WHAT", kAllowDoc, check_allowed)
      .value("--time", o.time, "T", "stop after this time, with a checkpoint: 90s, 2m, 1h",
             [](const std::string& text) { duration(text); });
  for (const study::Setting& s : study::settings(o.setup)) add_setting(list, s);
  options
      .value("--config", g->config, "FILE",
             "JSON or TOML of these options, e.g. {\"preset\": \"baby\", \"steps\": 500} or lines such as steps = 500")
      .flag("--resume", o.resume, "go on from the checkpoint in --out, to the same bits as an unbroken run");
  return [g](const Common& common) { return train(g->o, g->options, g->config, common); };
}

}  // namespace

extern const Command train_command;
const Command train_command = {"train",
                               "train one model under one recipe",
                               "dyadic train --preset nanogpt-cpu --recipe bf16 --data notes/ --steps 2000 --out runs/notes",
                               setup_train,
                               {},
                               true};

}  // namespace dyadic::inline v1::cli
