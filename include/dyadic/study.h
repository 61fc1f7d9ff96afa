// The precision study of a model of one's own: trained under every recipe, stored in every format, with what each costs and
// loses.
//
//   auto result = dy::study::study([] { return std::make_shared<Net>(); }, loader, [](dy::nn::Module& model, const Value&
//   batch) {
//     return dy::cross_entropy(model(batch[0]), batch[1], "none");
//   }, {.metric = dy::study::accuracy(), .steps = 500});
//   std::puts(result.text().c_str());
//
// dyadic study is the same with a built-in model that reads text. docs/study.md has what the figures mean.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dyadic/data.h"
#include "dyadic/interrupt.h"
#include "dyadic/nn.h"
#include "dyadic/optim.h"
#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

// A way to train one model.
struct Recipe {
  std::string name = {}, doc = {};   // unnamed: called by what differs from f32; of two that differ no name is the same
  DType parameters = f32;            // what weights are stored in: a float of at least 16 bits
  DType compute = {};                // autocast's low precision; none: compute in the parameters' dtype
  bool scaler = false;               // dynamic loss scaling
  std::string rounding = "nearest";  // of the parameter update; or "stochastic"
  DType states = f32;                // of the optimizer
  // Modules by name whose weights are stored, and which compute, in a dtype of their own: {{"lm_head", f32}, {"blocks.*.norm",
  // f32}}. * is any text; what is inside of such a module belongs to it. The last that fits counts.
  std::vector<std::pair<std::string, DType>> modules = {};
};
const std::vector<Recipe>& recipes();         // the built-in ones, f32 first
const Recipe& recipe(std::string_view name);  // ValueError listing the known ones

// Called once for each run, when the default generator has been seeded: the same weights for every recipe. A function that
// takes nn::Options (f32, and meta in a dry run) allocates nothing there; one without arguments makes its model in memory
// first.
class MakeModel {
  data::Callback<std::shared_ptr<nn::Module>(nn::Options)> make_;

 public:
  template <class F>
    requires std::is_invocable_r_v<std::shared_ptr<nn::Module>, F&, nn::Options>
  MakeModel(F make) : make_(std::move(make)) {}
  template <class F>
    requires std::is_invocable_r_v<std::shared_ptr<nn::Module>, F&>
  MakeModel(F make) : make_([make = std::move(make)](nn::Options) mutable { return make(); }) {}
  std::shared_ptr<nn::Module> operator()(nn::Options options) const { return make_(options); }
};
// A floating number for each sample [N], or for each token of each sample [N, ...], to be made small. Training takes their
// mean.
using Loss = data::Callback<Tensor(nn::Module&, const data::Value&)>;

// What models are judged by beside the loss: the mean of a number per sample, or the root of it.
struct Metric {
  std::string name = {};
  Loss function = {};
  bool larger_is_better = false, root = false;
};
// Share of samples whose largest output is at the target. Batches are (inputs, targets): [N, classes] against i64 [N].
Metric accuracy();
// Root of the mean squared error. Batches are (inputs, targets) of one shape.
Metric rmse();

// Where batches come from. Every run begins at the first one and sees the same.
class Source;  // study/source.h
class Batches {
  std::shared_ptr<Source> source_;

 public:
  Batches() = default;
  Batches(data::DataLoader& loader);          // borrowed; epoch after epoch
  Batches(std::vector<data::Value> batches);  // over and over
  explicit Batches(data::Callback<data::Value(int64_t)> batch_of_step);
  explicit Batches(std::shared_ptr<Source> source) : source_(std::move(source)) {}
  template <class F>
    requires std::is_invocable_r_v<data::Value, F&, int64_t>
  Batches(F batch_of_step) : Batches(data::Callback<data::Value(int64_t)>(std::move(batch_of_step))) {}
  explicit operator bool() const { return source_ != nullptr; }
  const std::shared_ptr<Source>& source() const { return source_; }
};

struct StudyOptions {
  nn::ByName by_name = {};
  // What is judged. Without batches of its own a tenth is held back: the last samples of a loader's dataset, the last batches
  // of a list.
  Batches evaluation = {};
  Metric metric = {};       // none: the loss
  double tolerance = 0.01;  // what may be lost of f32's loss or metric, as a share of it
  Minimize minimize = Minimize::memory;
  // How it is trained.
  std::optional<int64_t> steps = {};      // 1000
  std::optional<double> time_s = {};      // instead: so many that all recipes take about this long
  std::string optimizer = "AdamW";        // one of optim::optimizer_defs()
  optim::Options optimizer_options = {};  // by their names: {{"lr", 0.1}, {"momentum", 0.9}}
  std::string schedule = {};              // one of optim::scheduler_defs(); none: a warm-up, then a cosine to a tenth
  optim::Options schedule_options = {};
  double clip = 1;  // largest norm of all gradients; longer ones are shortened to it
  int seeds = 1;    // each recipe is trained this often, from different weights
  uint64_t seed = 0;
  // What is compared.
  std::vector<Recipe> recipes = study::recipes();  // f32, the reference, always runs
  std::vector<std::string> formats = {};           // empty: all that fit the model's weights
  bool per_layer = false;  // where a format's loss comes from, module by module, and the mixture that avoids it
  bool shadow = false;  // which modules round, overflow, flush and lose updates: 16 sampled steps beside wider results, not 3
  // Where the report goes.
  std::string name = {};  // of the model; empty: its class
  std::string out = {};   // a folder; empty: the first free of study-<name>, study-<name>-2 ...
  bool resume = false;    // go on with the study in that folder, to the same bits
  bool progress = true;   // a bar or lines on standard error
  // Where it runs.
  Device device = cpu;       // or a cuda one: where models are trained and judged
  int64_t memory_limit = 0;  // bytes that tensors may take, which training is planned into; 0: that of set_memory_limit
};

// All that a study found.
struct Study {
  StudyResult result;
  std::string folder;  // of report.html, report.json and model.safetensors, the weights that f32 trained; may be empty
  bool interrupted = false;
  std::string text(int width = 100, bool color = false) const;  // tables
  std::string html() const;                                     // the page of report.html
  std::string json() const;                                     // report.json
};

// Everything that can be refused is refused before training starts: ValueError naming the option. An error under one recipe, or
// of one format, is that row's, and the others go on; one in f32, the reference, is thrown. Ctrl-C, where the program has asked
// for it (install_interrupt_handler), ends with the report so far.
Study study(const MakeModel& make_model, const Batches& batches, const Loss& loss, const StudyOptions& options = {});

// No training: a trained module with its weights stored in every format, judged by evaluate(model): numbers, one for each
// sample, which are compared in pairs, or a single one. The module is as it was afterwards.
using Evaluate = data::Callback<Tensor(nn::Module&)>;
struct FormatsOptions {
  nn::ByName by_name = {};
  std::vector<std::string> formats = {};  // empty: all that fit the model's weights
  std::string metric = {};                // what the numbers are; empty: a loss
  bool larger_is_better = false;          // of a metric
  double tolerance = 0.01;                // what may be lost, as a share of f32's
  std::string name = {}, out = {};        // of the model; a folder for report.html and report.json: empty: none is written
};
Study formats(nn::Module& model, const Evaluate& evaluate, const FormatsOptions& options = {});

// No training either: a language model as dyadic::models::load reads it, from a folder of Hugging Face's form or a GGUF file,
// its weights in f32 and in every format, judged by the loss of each token of a text.
struct LanguageModelOptions {
  nn::ByName by_name = {};
  std::vector<std::string> data = {};     // text files and folders; empty: the text built into the library
  std::vector<std::string> formats = {};  // empty: all that fit the model's weights
  std::vector<std::string> methods = {};  // of quantization: each stores the formats that it serves too; not for all formats
  int64_t window = 256;                   // tokens that are seen at once
  int64_t samples = 64;                   // windows that are judged at most, from the end of the text
  int64_t calibration = 64;               // windows from before those that methods learn from at most
  double tolerance = 0.01;                // what may be lost, as a share of f32's loss
  Minimize minimize = Minimize::memory;
  bool per_layer = false;           // as in StudyOptions
  std::string name = {}, out = {};  // of the model, empty: its file's; a folder, empty: the first free of study-<name> ...
  bool resume = false;              // go on with the study in that folder
  bool progress = true;
  std::string command = {};  // for the report: how it was called
};
Study language_model(const std::string& path, const LanguageModelOptions& options = {});

// No run at all: what training on such batches would take, from a dry run without memory.
struct Prediction {
  std::string recipe;
  Bytes bytes;                       // predicted: each category's peak
  double flops_per_step = kUnknown;  // forward, backward and optimizer
  bool fits = false;                 // the peak, in this machine's memory
};
struct PredictOptions {
  nn::ByName by_name = {};
  Loss loss = {};  // none: the mean of what the model makes of the batch, or of its first part
  std::vector<Recipe> recipes = study::recipes();
  std::string optimizer = "AdamW";
  optim::Options optimizer_options = {};
};
// Errors are those of the model on meta: what values decide cannot be predicted.
std::vector<Prediction> predict(const MakeModel& make_model, const data::Value& batch, const PredictOptions& options = {});
std::string text(const std::vector<Prediction>& predictions, int width = 100, bool color = false);  // a table

}  // namespace dyadic::inline v1::study
