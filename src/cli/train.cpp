// dyadic train: one model under one recipe, with checkpoints, to a model.safetensors.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/model_file.h"
#include "study/evaluate.h"
#include "study/progress.h"

namespace dyadic::inline v1::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct TrainOptions {
  std::string preset = "char", recipe = "f32", tokens = "bytes", out;
  std::vector<std::string> data;
  int64_t steps = 1000, checkpoint_every = 0;
  uint64_t seed = 0;
  bool resume = false;
};

class Training {
  const TrainOptions& o_;
  const models::Preset& preset_;
  const study::Recipe& recipe_;
  study::Corpus corpus_;
  study::TrainSetup setup_;
  std::unique_ptr<study::Trainer> trainer_;
  study::Bytes bytes_;
  std::vector<double> times_;  // seconds per step, of this process
  double train_loss_ = study::kUnknown, val_loss_ = study::kUnknown;
  bool finished_ = false;  // by an earlier process

  std::string model_path() const { return (fs::path(o_.out) / "model.safetensors").native(); }
  std::string checkpoint_path() const { return (fs::path(o_.out) / "checkpoint.safetensors").native(); }

 public:
  explicit Training(const TrainOptions& o) : o_(o), preset_(models::preset(o.preset)), recipe_(study::recipe(o.recipe)) {
    corpus_ = study::Corpus::load(o.data, study::parse_token_kind(o.tokens));
    setup_ = {preset_.config, preset_.batch, o.steps, preset_.lr, o.seed};
    setup_.model.vocab = corpus_.vocabulary().size();
    if (preset_.name == "gpt2s") setup_.model.vocab = std::max(setup_.model.vocab, preset_.config.vocab);
    corpus_.require(setup_.model.block, setup_.batch);
    check_folder();
  }

  int run(const Common& common) {
    bytes_ = study::predict(setup_, recipe_);
    MemoryStats before = memory_stats();
    trainer_ = std::make_unique<study::Trainer>(setup_, recipe_);
    finished_ = o_.resume && take_over();
    reset_peak_memory_stats();
    bool whole = finished_ || train();
    if (!finished_) study::fill_bytes(bytes_, memory_stats(), before, &study::Amount::measured);
    if (whole && !finished_) save_model();
    if (whole) {
      study::Evaluation e = study::evaluate(trainer_->model(), corpus_, setup_.batch, recipe_.compute);
      if (!interrupted()) val_loss_ = e.mean();
    }
    print(common.json ? document().dump(1) + "\n" : text());
    if (!interrupted()) return kDone;
    if (!whole)
      fmt::print(stderr, "interrupted after step {}: the checkpoint is {}; go on with the same command and --resume\n",
                 trainer_->steps_done(), checkpoint_path());
    return kInterrupted;
  }

 private:
  // What makes two runs the same.
  std::string fingerprint() const {
    const models::GptConfig& c = setup_.model;
    return fmt::format(
        "preset {}, recipe {}, steps {}, seed {}, tokens {}, corpus {}, vocabulary {}, layers {}, heads {}, width {}, block "
        "{}, "
        "batch {}, lr {}",
        o_.preset, o_.recipe, o_.steps, o_.seed, o_.tokens, corpus_.info().sha256, c.vocab, c.layers, c.heads, c.width, c.block,
        setup_.batch, setup_.lr);
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
    std::error_code error;
    fs::create_directories(o_.out, error);
    const fs::path probe = fs::path(o_.out) / ".writable";
    std::ofstream out(probe);
    out << "x";
    out.close();
    DY_CHECK_AS(ValueError, !error && out, "train: the folder {} cannot be written{}{}; pass another --out", o_.out,
                error ? ": " : "", error ? error.message() : "");
    fs::remove(probe, error);
    for (const std::string& file : {model_path(), checkpoint_path()})
      DY_CHECK_AS(ValueError, o_.resume || !fs::exists(file),
                  "train: {} is there already; pass --resume to go on with that run, or another --out", file);
  }

  // From the checkpoint, if there is one. True: the model is trained already.
  bool take_over() {
    if (fs::exists(checkpoint_path())) {
      trainer_->load(checkpoint_path(), fingerprint());
      return false;
    }
    if (!fs::exists(model_path())) return false;
    io::SafeTensors model = io::load_safetensors(model_path());
    if (model.metadata["run"] != fingerprint()) {
      auto [there, here] = difference(model.metadata["run"], fingerprint());
      fail<ValueError>(
          "train: {} is of another run: there {}; here {}; repeat the options it was begun with, or pass another --out",
          model_path(), there.empty() ? "nothing is said" : there, here);
    }
    trainer_->model().load_state_dict(model.tensors);
    train_loss_ = std::strtod(model.metadata["train_loss"].c_str(), nullptr);
    return true;
  }

  // False: interrupted, with a checkpoint.
  bool train() {
    study::Batches batches(corpus_, setup_.model.block, setup_.batch, setup_.seed);
    study::Progress progress;
    progress.plan(setup_.steps - trainer_->steps_done());
    progress.begin(recipe_.name, setup_.steps, trainer_->steps_done());
    while (trainer_->steps_done() < setup_.steps) {
      if (interrupted()) {
        trainer_->save(checkpoint_path(), fingerprint());
        return false;
      }
      double begin = now();
      train_loss_ = trainer_->step(batches);
      if (auto& nan = trainer_->nan())
        fail("train: the loss is not finite at step {}: the first NaN or infinity came from {} in {}; try another recipe",
             nan->step, nan->op.empty() ? "an unknown op" : nan->op, nan->module.empty() ? "the model" : nan->module);
      times_.push_back(now() - begin);
      int64_t done = trainer_->steps_done();
      progress.step(done, train_loss_, double(tokens()) / times_.back());
      // Not after the last step: the model itself follows.
      if (o_.checkpoint_every && done % o_.checkpoint_every == 0 && done < setup_.steps)
        trainer_->save(checkpoint_path(), fingerprint());
    }
    return true;
  }

  void save_model() {
    io::Metadata metadata = model_metadata(setup_.model, preset_.name, corpus_.vocabulary());
    metadata["run"] = fingerprint();
    metadata["train_loss"] = fmt::format("{}", train_loss_);
    io::save_safetensors(model_path(), trainer_->model().state_dict(), metadata);
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

  Json document() const {
    auto amount = [](const study::Amount& a) {
      auto number = [](const study::Count& c) { return c ? Json(*c) : Json(nullptr); };
      return Json{{"predicted", number(a.predicted)}, {"measured", number(a.measured)}};
    };
    return {{"steps", steps_done()},
            {"train_loss", train_loss_},
            {"val_loss", val_loss_},
            {"ms_per_step", step_seconds() * 1e3},
            {"tokens_per_s", double(tokens()) / step_seconds()},
            {"bytes",
             {{"parameters", amount(bytes_.parameters)},
              {"gradients", amount(bytes_.gradients)},
              {"optimizer", amount(bytes_.optimizer)},
              {"activations", amount(bytes_.activations)},
              {"workspace", amount(bytes_.workspace)},
              {"peak", amount(bytes_.peak)}}},
            {"weights_sha256", trainer_->weights_sha256()},
            {"model", fs::exists(model_path()) ? Json(model_path()) : Json(nullptr)}};
  }

  std::string text() const {
    auto number = [](double x, const char* unit) { return x == x ? fmt::format("{:.4g}{}", x, unit) : std::string("unknown"); };
    std::string out = fmt::format("{} steps, training loss {}, validation loss {}, {} per step, {} tokens/s", steps_done(),
                                  number(train_loss_, ""), number(val_loss_, " nats per token"),
                                  number(step_seconds() * 1e3, " ms"), number(double(tokens()) / step_seconds(), ""));
    if (bytes_.peak.measured) out += fmt::format(", {} at the peak", human_bytes(*bytes_.peak.measured));
    return out + "\n" + (fs::exists(model_path()) ? model_path() + "\n" : "");
  }
};

int train(const TrainOptions& o, const Common& common) {
  install_interrupt_handler();
  return Training(o).run(common);
}

Run setup(Options& options) {
  auto o = std::make_shared<TrainOptions>();
  options
      .value("--preset", o->preset, "P", "size of the model: nano, char, baby, gpt2s (default: char)",
             [](const std::string& text) { models::preset(text); })
      .value("--recipe", o->recipe, "R", "precision it trains in: f32, bf16, f16, pure-bf16 ... (default: f32)",
             [](const std::string& text) { study::recipe(text); })
      .value("--data", o->data, "FILE|DIR", "text files and folders (default: a text built into the program)")
      .value("--tokens", o->tokens, "KIND", "what a token is: bytes or chars (default: bytes)",
             [](const std::string& text) { study::parse_token_kind(text); })
      .value("--steps", o->steps, "N", "training steps (default: 1000)", at_least(1))
      .value("--seed", o->seed, "N", "of the initial weights and the batches (default: 0)")
      .required("--out", o->out, "DIR", "folder of model.safetensors and the checkpoint")
      .value("--checkpoint-every", o->checkpoint_every, "N", "write a checkpoint after every N steps (Ctrl-C always does)",
             at_least(1))
      .flag("--resume", o->resume, "go on from the checkpoint in --out, to the same bits as an unbroken run");
  return [o](const Common& common) { return train(*o, common); };
}

}  // namespace

extern const Command train_command;
const Command train_command = {"train", "train one model under one recipe",
                               "dyadic train --preset char --recipe bf16 --data notes/ --steps 2000 --out runs/notes", setup};

}  // namespace dyadic::inline v1::cli
