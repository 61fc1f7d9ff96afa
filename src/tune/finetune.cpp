// A run from data to files.
#include "dyadic/finetune.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/check.h"
#include "base/json.h"
#include "base/sha256.h"
#include "dyadic/model_files.h"
#include "dyadic/offload.h"
#include "dyadic/prune.h"
#include "dyadic/version.h"
#include "models/vocabulary.h"
#include "tune/answers.h"
#include "tune/fit.h"
#include "tune/merge.h"
#include "tune/run.h"

namespace dyadic::inline v1::tune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void check(models::CausalLM& model, const FinetuneOptions& o) {
  const auto positive = [](const char* name, double v) {
    DY_CHECK_AS(ValueError, v > 0, "finetune: {} is {}, not above 0", name, v);
  };
  positive("batch", double(o.batch)), positive("accumulate", double(o.accumulate));
  positive("epochs", o.epochs), positive("steps", double(o.steps.value_or(1))), positive("lr", o.lr.value_or(1)),
      positive("clip", o.clip);
  DY_CHECK_AS(ValueError, o.eval_split >= 0 && o.eval_split < 1, "finetune: eval_split is {}, not in [0, 1)", o.eval_split);
  DY_CHECK_AS(ValueError, o.warmup >= 0 && o.warmup < 1, "finetune: warmup is {}, not in [0, 1)", o.warmup);
  DY_CHECK_AS(ValueError, model.most_tokens() == 0 || o.context <= model.most_tokens(),
              "finetune: context is {}, and the model reads {} tokens", o.context, model.most_tokens());
  DY_CHECK_AS(ValueError, o.merge == Merge::none || !o.out.empty(),
              "finetune: merge writes a model: give out, a folder for it");
  DY_CHECK_AS(ValueError, !o.resume || !o.out.empty(), "finetune: resume goes on with what out, a folder, holds: give it");
  if (o.keep_zeros)
    DY_CHECK_AS(ValueError, prune::Masks(model).size() > 0,
                "finetune: keep_zeros is for a pruned model, and no float weight of this one is zero: prune it first");
  if (o.spread == distributed::Spread::parameters) {
    DY_CHECK_AS(ValueError, !o.keep_zeros, "finetune: keep_zeros looks at all weights: do not spread parameters");
    for (auto& [name, p] : model.named_parameters())
      DY_CHECK_AS(ValueError, !is_offloaded(p), "finetune: {} is on disk, and not spread: take no memory limit, or spread less",
                  name);
  }
  if (o.lora || model.adapter) return;
  DY_CHECK_AS(ValueError, o.merge == Merge::none, "finetune: merge is for an adapter: give lora");
  for (auto& [name, p] : model.named_parameters())
    DY_CHECK_AS(ValueError, !p.dtype().is_blocked() && p.dtype().itemsize() >= 2,
                "finetune: {} is {}, which takes no gradients: give lora, or load the model in float32 or bfloat16", name,
                p.dtype().name());
}

// What the run is called by in its folder.
std::string final_file(const FinetuneOptions& o) {
  return o.out + (o.lora ? "/adapter_model.safetensors" : "/model.safetensors");
}

void check_folder(const FinetuneOptions& o) {
  if (o.out.empty()) return;
  const bool done = fs::exists(final_file(o)), begun = fs::exists(o.out + "/checkpoints");
  DY_CHECK_AS(ValueError, o.resume || !(done || begun), "finetune: {} holds a run already: resume it, or take another folder",
              o.out);
  DY_CHECK_AS(ValueError, !done || begun, "finetune: the run in {} is finished: take another folder", o.out);
}

// Samples drawn by the seed, out of `all`.
Samples held_back(Samples& all, double share, uint64_t seed) {
  Samples held;
  const int64_t n = int64_t(all.all.size()), count = std::llround(share * double(n));
  if (count == 0) return held;
  DY_CHECK_AS(ValueError, count < n, "finetune: eval_split {} of {} samples leaves none to train on", share, n);
  Generator generator(seed);
  const Tensor order = randperm(n, generator, i64);
  std::vector<bool> is_held(size_t(n), false);
  for (int64_t i = 0; i < count; ++i) is_held[size_t(order.data<int64_t>()[i])] = true;
  std::vector<Sample> kept;
  for (size_t i = 0; i < all.all.size(); ++i) (is_held[i] ? held.all : kept).push_back(std::move(all.all[i]));
  all.all = std::move(kept);
  return held;
}

class Run {
  models::CausalLM& model_;
  const Tokenizer& tokenizer_;
  const Data& data_;
  const FinetuneOptions& o_;
  distributed::Group& group_ = distributed::world();
  StepOptions step_;
  Samples training_, evaluation_;
  FinetuneReport r_;

 public:
  Run(models::CausalLM& model, const Tokenizer& tokenizer, const Data& data, const FinetuneOptions& o)
      : model_(model), tokenizer_(tokenizer), data_(data), o_(o), step_(step_options(o)) {
    check(model, o);
    group_.on_first([&] { check_folder(o); });
    training_ = read(data);
    r_.cut = training_.cut, r_.dropped = training_.dropped, r_.split = training_.split;
    if (o.eval)
      evaluation_ = read(*o.eval);
    else
      evaluation_ = held_back(training_, o.eval_split, o.seed);
    r_.samples = int64_t(training_.all.size()), r_.eval_samples = int64_t(evaluation_.all.size());
    r_.tokens = training_.tokens(), r_.learned = training_.learned();
  }

  std::shared_ptr<RowDataset> training() const { return rows(training_); }

  FinetuneReport run(const MakeLesson& make_lesson, const std::string& settings) {
    const Fit fitting = fit(model_, o_);
    r_.predicted = fitting.use;
    if (fitting.again) r_.repeated_calls = std::count(fitting.again->again.begin(), fitting.again->again.end(), true);
    if (o_.lora) {
      Generator noise(o_.seed);
      const GeneratorScope scope(noise);
      models::LoraConfig lora = *o_.lora;
      if (lora.base_model_name_or_path.empty()) lora.base_model_name_or_path = o_.model_path;
      models::add_adapter(model_, lora);
    }
    for (auto& [name, p] : model_.named_parameters())
      if (p.requires_grad()) r_.trained += p.numel();
    const auto training = rows(training_), evaluation = rows(evaluation_);
    r_.rows = training->size(), r_.shards = step_.shards;
    DY_CHECK_AS(ValueError, r_.rows >= step_.shards,
                "finetune: the data makes {} rows, fewer than the {} shards of a step: take fewer shards or more data", r_.rows,
                step_.shards);
    const std::shared_ptr<Lesson> lesson = make_lesson(*training);
    const LoopOptions loop = loop_options(settings, fitting);
    group_.require_equal("the program", DYADIC_VERSION);
    group_.require_equal("the run", fmt::format("{}, spread {}, state {}", settings_in_a_line(loop.config),
                                                distributed::spread_name(o_.spread), o_.state ? o_.state.name() : "none"));
    const LoopResult result = run_loop(model_, *lesson, sources(training, step_.shards), sources(evaluation, 0), loop);
    r_.finished = result.finished, r_.steps = result.steps, r_.train_loss = result.loss, r_.seconds = result.seconds;
    r_.eval_loss_before = result.eval_before, r_.eval_loss = result.eval_after;
    r_.measured = result.measured, r_.sent_per_step = result.sent;
    if (r_.finished && !o_.out.empty()) group_.on_first([&] { save(); });
    return std::move(r_);
  }

 private:
  Samples read(const Data& data) {
    Samples s = read_samples(data.jsonl, data.name, tokenizer_, {.context = o_.context, .too_long = o_.too_long});
    for (const Sample& one : s.all) models::check_ids("finetune", model_, tokenizer_, one.ids);
    return s;
  }
  std::shared_ptr<RowDataset> rows(const Samples& samples) const {
    return std::make_shared<RowDataset>(rows_of(samples.all, o_.context, o_.packing), o_.packing);
  }
  static Rows sources(const std::shared_ptr<RowDataset>& rows, int64_t least) {
    if (rows->size() == 0) return {};
    return {rows, [rows, least](std::vector<data::Value> samples) { return rows->collate(samples, least); }};
  }
  // As ranks are told where they differ.
  static std::string settings_in_a_line(const std::string& config) {
    std::string line;
    const json settings = parse_json(config);
    for (auto& [name, value] : settings.items())
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", name, dump_json(value));
    return line;
  }
  int64_t steps() const {
    const int64_t batches = (r_.rows + o_.batch - 1) / o_.batch, an_epoch = (batches + o_.accumulate - 1) / o_.accumulate;
    return o_.steps.value_or(std::max<int64_t>(std::llround(o_.epochs * double(an_epoch)), 1));
  }
  LoopOptions loop_options(const std::string& settings, const Fit& fitting) const {
    const int64_t pieces = step_.shards ? 1 : o_.accumulate;
    LoopOptions l{.step = step_,
                  .steps = steps(),
                  .batch = o_.batch * o_.accumulate / pieces,
                  .accumulate = pieces,
                  .eval_every = o_.eval_every};
    l.step.lr = o_.lr.value_or(model_.adapter ? 2e-4 : 2e-5), l.step.again = fitting.again;
    l.checkpoint_every = o_.checkpoint_every, l.warmup = o_.warmup, l.seed = o_.seed;
    l.name = "finetune", l.folder = o_.out, l.resume = o_.resume, l.progress = o_.progress,
    l.keep_zeros = o_.keep_zeros && !model_.adapter;
    l.on_step = o_.on_step, l.caller = o_.caller, l.measure = o_.measure;
    json config{{"data", sha256_hex(data_.jsonl)},
                {"eval", o_.eval ? sha256_hex(o_.eval->jsonl) : ""},
                {"eval_split", o_.eval_split},
                {"model", sha256_hex(model_.config)},
                {"base", formats()},
                {"adapter", model_.adapter ? parse_json(model_.adapter->config) : json()},
                {"context", o_.context},
                {"packing", o_.packing},
                {"steps", l.steps},
                {"batch", o_.batch},
                {"accumulate", o_.accumulate},
                {"lr", l.step.lr},
                {"warmup", o_.warmup},
                {"weight_decay", o_.weight_decay},
                {"clip", o_.clip},
                {"keep_zeros", o_.keep_zeros},
                {"settings", parse_json(settings)},
                {"optimizer", o_.optimizer},
                {"compute", o_.compute ? o_.compute.name() : ""},
                {"seed", o_.seed}};
    if (step_.shards) config["shards"] = step_.shards;
    if (step_.wire) config["wire"] = step_.wire.name();
    l.config = dump_json(config);
    return l;
  }
  // Of the matrices, in their order, each once.
  std::string formats() const {
    std::string all;
    for (auto& [name, p] : model_.named_parameters())
      if (p.dim() >= 2 && name.find(".lora_") == name.npos && all.find(p.dtype().name()) == all.npos)
        all += (all.empty() ? "" : " ") + p.dtype().name();
    return all;
  }
  void save() {
    model_.save_pretrained(o_.out);
    if (!o_.model_path.empty()) models::copy_tokenizer(o_.model_path, o_.out);
    remove_checkpoints(o_.out);
    if (o_.merge == Merge::none) return;
    r_.merges = merge({model_, o_.out, o_.model_path, o_.merge, probe(), o_.keep_zeros});
    const std::string folder = o_.out + "/merged";
    model_.save_pretrained(folder);
    if (!o_.model_path.empty()) models::copy_tokenizer(o_.model_path, folder);
  }
  // A few samples, held back ones if there are any, a row each.
  std::vector<data::Value> probe() const {
    constexpr size_t kSamples = 8;
    const std::vector<Sample>& from = evaluation_.all.empty() ? training_.all : evaluation_.all;
    const std::vector<Sample> few(from.begin(), from.begin() + std::ptrdiff_t(std::min(from.size(), kSamples)));
    std::vector<data::Value> batches;
    for (const Row& row : rows_of(few, o_.context, false)) batches.push_back(batch_of({&row}, false));
    return batches;
  }
};

}  // namespace

FinetuneReport run_lesson(models::CausalLM& model, const Tokenizer& tokenizer, const Data& data, const FinetuneOptions& options,
                          const MakeLesson& make_lesson, const std::string& settings) try {
  return Run(model, tokenizer, data, options).run(make_lesson, settings);
} catch (const train::DifferentRun& e) {
  throw ValueError(
      fmt::format("finetune: {} holds another run: {}; give the options that it was begun with, or take another folder",
                  options.out, e.differences.empty() ? e.what() : e.differences[0].str()));
}

std::shared_ptr<RowDataset> training_rows(models::CausalLM& model, const Tokenizer& tokenizer, const Data& data,
                                          const FinetuneOptions& options) {
  return Run(model, tokenizer, data, options).training();
}

FinetuneReport finetune(models::CausalLM& model, const Tokenizer& tokenizer, const Data& data, const FinetuneOptions& options) {
  return run_lesson(model, tokenizer, data, options,
                    [&](const RowDataset&) -> std::shared_ptr<Lesson> { return std::make_shared<Answers>(model); });
}

}  // namespace dyadic::inline v1::tune
