// What a precision study found: plain data, one struct per object of report.json, written by the trainer and read by the three
// reports, by the recommendation and by --resume. Nothing here knows a tensor. A figure that is not known (yet) is NaN or an
// empty optional and becomes null in report.json.
// Units as the names say: sizes in bytes, step_ms in milliseconds, other times in seconds, losses in nats per token or, of a
// model of one's own, in what its loss function gives. "Tokens" are the items that have a loss of their own: Measure::item.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dyadic::inline v1::study {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
using Count = std::optional<int64_t>;

struct Amount {     // bytes
  Count predicted;  // on the meta device, before the run
  Count measured;   // by the allocator, during it
};

// Each category's own peak; the categories peak at different moments, so their sum may exceed `peak`.
struct Bytes {
  Amount parameters, gradients, optimizer, activations, workspace, peak;
  Amount temporary, data;  // beyond the six: under "bytes_other"
};

struct CurvePoint {
  int64_t step = 0;              // steps done
  double train_loss = kUnknown;  // of the batch of that step (or the mean since the point before)
  double val_loss = kUnknown;    // where the validation text was evaluated
};

struct DtypeCalls {  // from the corridor's counters: how often an op ran in a compute dtype
  std::string op, dtype;
  int64_t calls = 0;
};

struct RoundingEvents {  // on the sampled steps, per op, module and dtype
  std::string op, module, dtype;
  int64_t overflows = 0, flushed = 0;
};

// A module's results beside wider ones, on the sampled steps.
struct ModuleRounding {
  std::string module;  // its path; what modules inside of it computed is theirs
  int64_t elements = 0, overflows = 0, flushed = 0;
  double squared = 0, squared_difference = 0;  // sums over elements: of the wider results, and of what these differ from them
  int64_t updates = 0, lost_updates = 0;       // nonzero updates of its own parameters' elements; those that changed nothing
  double error() const { return squared > 0 ? std::sqrt(squared_difference / squared) : kUnknown; }  // relative
};

struct FirstNaN {  // the first op and module that produced a NaN or an infinity
  std::string op, module;
  int64_t step = 0;
};

// A loss beside f32's on the same tokens, or a metric. Filled by compare() in statistics.h.
struct LossDelta {
  double delta = kUnknown;  // mean of loss - f32's loss (of a metric, of what is lost); negative: better than f32
  double se = kUnknown;     // its standard error: the largest of the three below
  std::string se_kind;      // "token", "window" or "seed"
  double upper = kUnknown;  // with 95 % confidence (one-sided) the true difference is below this
  double se_token = kUnknown, se_window = kUnknown, se_seed = kUnknown;
};

// running: interrupted; stopped: the loss was not finite; failed: it ended in an error
enum class Status : uint8_t { pending, running, done, stopped, failed };

// How a recipe trains, dtypes by their names.
struct RecipeFields {
  std::string parameters = "f32", compute;  // compute: empty: in that of the parameters
  std::string states = "f32", rounding = "nearest";
  bool scaler = false;
  std::vector<std::pair<std::string, std::string>> modules;  // by name pattern, in a dtype of their own
};

struct RecipeResult {
  std::string name;  // "bf16-adam8"
  std::string doc;   // one line: "autocast to bf16 over f32 weights, 8-bit AdamW"
  RecipeFields fields;
  Status status = Status::pending;
  std::string weights_sha256;  // empty: not known
  double val_loss = kUnknown;  // mean over seeds
  double val_loss_se = kUnknown;
  LossDelta vs_f32;
  std::vector<double> seed_val_losses;  // one per seed
  double metric = kUnknown;             // mean over seeds
  LossDelta metric_vs_f32;
  // The median over turns, short runs in which all recipes alternate; where training was too short for them (0), of its steps.
  int turns = 0;
  double step_spread = kUnknown;  // largest less smallest of the turns, as a share of step_ms
  double sampling = kUnknown;     // what the study did beside training and evaluating, as a share of the time of training
  double step_ms = kUnknown, tokens_per_s = kUnknown, flops_per_s = kUnknown, mfu = kUnknown;
  double flops_peak = kUnknown;  // what mfu divides by: the machine's peak in the dtype this recipe multiplies in
  Bytes bytes;
  Count resident_peak;             // what the process grew by in two steps after training, in pages of 4 KiB
  Count skipped_steps;             // by the loss scaler
  double lost_updates = kUnknown;  // share of the nonzero parameter updates that left the stored weight as it was, 0 .. 1
  Count overflows, flushed;        // on the sampled steps
  std::vector<int64_t> sampled_steps;
  std::vector<RoundingEvents> rounding;
  std::vector<ModuleRounding> modules;  // where that was asked for
  std::vector<DtypeCalls> dtype_calls;
  std::optional<FirstNaN> nan;
  std::string error;  // of one that failed, in one line
  int64_t steps = 0;  // done
  std::vector<CurvePoint> curve;
};

struct FormatResult {
  std::string name;  // "nf4(block=64,double)"
  Status status = Status::pending;
  std::string error;                  // of one that failed, in one line
  double bits_per_weight = kUnknown;  // over the tensors stored in the format, all scales counted
  Count bytes;                        // of the whole model, tied weights once
  double val_loss = kUnknown;
  LossDelta vs_f32;
  double metric = kUnknown;
  LossDelta metric_vs_f32;
  double kl = kUnknown;  // mean KL(f32 || format) per token, nats
  double kl_se = kUnknown;
  double top1_agreement = kUnknown;  // share of tokens where both put the same token first, 0 .. 1
  double tokens_per_s = kUnknown;
  Count workspace;  // peak bytes of decoded matrices while evaluating
};

// A module's part of what a format loses. Of the differences, what is lost is above zero.
struct ModuleLoss {
  std::string module;        // its path
  int64_t bytes = 0;         // of its weights in f32
  int64_t stored_bytes = 0;  // and in the format
  LossDelta alone;           // it alone is stored, beside f32
  LossDelta spared;          // all but it are stored, beside all of them
  bool kept = false;         // in more bits, by the mixed recommendation
};

// Where the loss of one format comes from, and the mixture that avoids it.
struct Layers {
  std::string format, keep;                          // what modules are stored in, and those that are kept in more bits
  std::vector<std::pair<std::string, Count>> tried;  // formats that were looked into, and the bytes of their mixtures
  std::vector<ModuleLoss> modules;                   // worst first
  Count bytes;              // of the whole model as mixed; none: no mixture is both near enough and smaller
  double value = kUnknown;  // its loss or metric
  LossDelta vs_f32;
};

struct Machine {
  std::string cpu, os, isa, compiler;
  int cores = 0, threads = 0;
  Count memory;                                              // bytes installed
  double flops_peak = kUnknown, flops_peak_bf16 = kUnknown;  // by the probe at start-up, per second; flops_peak is f32's
  double bytes_per_s_peak = kUnknown;
};

struct CorpusFile {
  std::string path;
  int64_t bytes = 0;
};
struct CorpusInfo {
  std::string source;            // "built-in" or the --data arguments, joined
  std::string tokens = "bytes";  // or "chars"
  int64_t bytes = 0, vocabulary = 0, train_tokens = 0, val_tokens = 0;
  std::string sha256;                    // of the bytes of all files, one after the other
  double unigram_nats = kUnknown;        // entropy of single bytes in the validation text
  double unigram_token_nats = kUnknown;  // entropy of single tokens there; the same for --tokens bytes
  std::vector<CorpusFile> files;
  std::vector<std::string> notes;  // files that were left out, and why
};

struct ModelInfo {
  std::string preset;  // or the name of a model of one's own
  std::string kind;    // the class of a model of one's own; empty: the built-in GPT
  int64_t layers = 0, heads = 0, width = 0, block = 0, batch = 0, vocabulary = 0;
  int64_t parameters = 0;            // tied weights once
  double flops_per_step = kUnknown;  // forward and backward, as the corridor counts
};

struct Measure {               // what the study is about
  std::string item = "token";  // what has a loss of its own: "token" or "sample"
  std::string unit = "nats";   // of the loss; may be empty
  std::string metric;          // judged instead of the loss; empty: there is none
  bool larger = false;         // is better
  bool root = false;           // of the mean
};

enum class Minimize : uint8_t { memory, time };

struct Options {  // what was asked, with every default made explicit
  std::vector<std::string> recipes, formats;
  int64_t steps = 0;
  std::optional<double> time_s;  // --time, if that set the steps
  int seeds = 1;
  uint64_t seed = 0;
  double tolerance = 0.01;  // relative to f32's validation loss
  Minimize minimize = Minimize::memory;
  double clip = kUnknown;  // largest norm of all gradients
  bool per_layer = false, shadow = false;
};

// What makes two runs the same study, by name: settings, and of data and losses what tells them apart.
using Identity = std::vector<std::pair<std::string, std::string>>;

struct Recommendation {
  std::string recipe, format;                                // empty (null): f32 itself has no finite loss
  std::vector<std::pair<std::string, std::string>> modules;  // that are not stored in the format but, by name, in this one
  std::string uniform;  // the best format for all of them: where no module differs, the format
  Count bytes;          // of the model as it is stored then
  std::string why;      // plain sentences with the numbers
};

struct StudyResult {
  std::string version;    // of dyadic
  std::string command;    // how it was called
  bool complete = false;  // false: interrupted, the report is of what was done so far
  double seconds = kUnknown;
  Machine machine;
  CorpusInfo corpus;
  ModelInfo model;
  Measure measure;
  std::string training;            // of a model of one's own, in words: "SGD, lr 0.1"
  std::vector<std::string> notes;  // what else a reader should know
  Options options;
  Identity identity;
  std::vector<RecipeResult> recipes;  // f32 first
  std::vector<FormatResult> formats;  // f32 first
  std::optional<Layers> layers;       // where that was asked for
  Recommendation recommendation;

  const RecipeResult* recipe(const std::string& name) const {
    for (const auto& r : recipes)
      if (r.name == name) return &r;
    return nullptr;
  }
  const FormatResult* format(const std::string& name) const {
    for (const auto& f : formats)
      if (f.name == name) return &f;
    return nullptr;
  }
};

const char* status_name(Status);      // "pending", "running", "done", "stopped", "failed"
const char* minimize_name(Minimize);  // "memory", "time"

}  // namespace dyadic::inline v1::study
