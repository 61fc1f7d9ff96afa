// Quantization: which codes the weights of a model get. Formats are dtypes; a method chooses their codes and scales, and brings
// no tensor or layer of its own: a quantized Linear is a Linear whose weight has that dtype, and is saved, loaded and run as
// such.
//
//   dy::quant::quantize(model, {.weights = "i4(group=128)"});                       // round to nearest
//   dy::quant::Batches data(batches);                                              // what a method learns from
//   auto report = dy::quant::quantize(model, {.weights = "q4_0", .method = "gptq", .calibration = &data});
//   dy::quant::quantize(model, {.weights = "i4(row)", .trainable = true}); ...train... dy::quant::freeze(model);
//   Tensor w = dy::quant::gptq(weight, inputs, dy::DType::parse("i4(group=32)"));  // one matrix, without a model
//
// A method is a record (src/quant/methods/*.cpp): signature with its options' defaults, documentation, source, what it needs.
// The functions at the end are made from the records (tools/generate).
#pragma once
#include "dyadic/optim.h"

namespace dyadic::inline v1::models {
class CausalLM;
}
namespace dyadic::inline v1::quant {

using optim::Option;
using optim::OptionDef;
using optim::Options;

// What a matrix [out, in] multiplies: sums over rows x [in] of its inputs, as many as are added.
class Inputs {
  Tensor products_, magnitudes_, largest_;
  int64_t rows_ = 0;

 public:
  Inputs() = default;
  explicit Inputs(const Tensor& x) { add(x); }  // [..., in]
  // Of which the sums of squares [in] alone are known, over so many rows: columns that vary each by itself.
  static Inputs of_squares(const Tensor& squares, int64_t rows);
  void add(const Tensor& x);  // ValueError where it has NaN or infinities, or another width
  int64_t rows() const { return rows_; }
  const Tensor& products() const { return products_; }  // f32 [in, in], the sum of x x^T
  Tensor mean_magnitude() const;                        // f32 [in], the mean of |x|
  const Tensor& largest() const { return largest_; }    // f32 [in], the largest |x|
  Inputs divided_by(const Tensor& scale) const;         // of x / scale
};

// What a method makes of a matrix.
struct Result {
  Tensor weight;         // of the format
  std::string fallback;  // why it is not the method's but what rounding to nearest gives; empty where it is
};
struct Scaled {
  Tensor weight, input_scale;  // for x / input_scale, f32 [in]
};

struct Task {  // of a method: one matrix
  std::string name;
  Tensor weight;         // f32 [out, in]
  const Inputs* inputs;  // null: nothing is known of them
  DType format;
  const Options& options;  // the method's, complete
};
struct Method {
  const char* sig;     // "gptq(float damping=0.01, ...)": name and options
  const char* doc;     // what it does, in a few lines
  const char* source;  // where it comes from
  bool needs_inputs = false;
  // Empty where the method serves the format, else why not.
  std::string (*refuses)(DType format);
  Result (*run)(const Task& task);
  // Where a method also scales the inputs: f32 [in]. `run` then sees the weight times it, and inputs divided by it.
  Tensor (*input_scale)(const Task& task) = nullptr;
  std::string name() const { return std::string(sig).substr(0, std::string_view(sig).find('(')); }
};
const std::vector<const Method*>& methods();
const Method& method(std::string_view name);  // ValueError with the nearest name
const std::vector<OptionDef>& option_defs(const Method& m);
std::vector<DType> formats_served(const Method& m);  // of registered_dtypes()
// `given` with the defaults of what it lacks; ValueError for what is no option.
Options complete(const Method& m, const Options& given);

// One matrix by a method: weight [out, in], inputs [..., in] or undefined where the method needs none. ValueError where method
// and format do not go together, or inputs are missing, of another width or not finite.
Result quantize_matrix(const Method& m, const Tensor& weight, const Tensor& inputs, DType format, const Options& options = {});
Scaled quantize_scaled(const Method& m, const Tensor& weight, const Tensor& inputs, DType format, const Options& options = {});

// The relative error of x W^T: |x W^T - x Q^T| / |x W^T| over all rows of the inputs; without any, |W - Q| / |W|.
double output_error(const Tensor& weight, const Tensor& quantized, const Inputs* inputs);

// Runs a model over data, as often as it is asked to.
class Calibration {
 public:
  virtual ~Calibration();
  virtual void run(nn::Module& model) = 0;  // over all of it, unrecorded
  // The model's results for the first few of the data, for comparisons.
  virtual Tensor sample(nn::Module& model) = 0;
  // Whether results are logits, as those of a model that reads integers.
  virtual bool gives_logits() const = 0;
  // How far results are from what they were: of logits the mean Kullback-Leibler divergence in nats, else the squared error's
  // share of the squares.
  double distance(const Tensor& before, const Tensor& after) const;
  // Hooks stand around a module until they are taken off.
  virtual void watch(nn::Module& m, std::shared_ptr<nn::Hook> hook);
  virtual void unwatch(nn::Module& m, const nn::Hook* hook);
};
class Batches : public Calibration {  // of a model that is called with one tensor
  std::vector<Tensor> batches_;

 public:
  explicit Batches(std::vector<Tensor> batches);  // ValueError where there is none
  void run(nn::Module& model) override;
  Tensor sample(nn::Module& model) override;
  int64_t size() const { return int64_t(batches_.size()); }
  bool gives_logits() const override { return batches_[0].dtype().is_integer(); }
};

// Inputs as a layer with rounded inputs sees them: x in `format` and back, in x's dtype. With a threshold, features (of the
// last dimension) that reach it somewhere in x are left as they are and the others rounded without them: LLM.int8's
// decomposition (Dettmers, Lewis, Belkada, Zettlemoyer 2022, arXiv:2208.07339, section 3), which keeps outliers in 16 bits.
Tensor round_inputs(const Tensor& x, DType format, double threshold = 0);
// x in a scaled format and back, in its dtype; its gradient is as if it were x (straight-through; Bengio, Leonard, Courville
// 2013, arXiv:1308.3432).
Tensor fake_quantize(const Tensor& x, DType format);
// Rounds a module's inputs from now on, before each forward. What gives its hook back takes it off.
std::shared_ptr<nn::Hook> round_inputs_of(nn::Module& m, DType format, double threshold = 0);

// Puts a language model's residual stream into a randomized Hadamard basis, and values within heads into a Hadamard basis, by
// its weights alone: norms' factors go into what reads them, and results stay what they were but for rounding. Outliers of a
// few channels are spread over all, which serves any format and method afterwards (Ashkboos et al. 2024, "QuaRot",
// arXiv:2404.00456). For decoders of norms before attention and gated layers, whose head is not their embedding: Llama's,
// Mistral's, Qwen's ...; ValueError for others, and for weights that are quantized.
void rotate(nn::Module& model, uint64_t seed = 0);

struct LayerReport {
  std::string name;
  DType format;
  double error = 0, error_rtn = 0;  // output_error() over the calibration data, of what was chosen and of rounding to nearest
  double seconds = 0;
  std::string fallback;  // why the method did not choose these codes; empty where it did
  std::string note;      // what of the method was left out
};

// What is finished of a run, kept so that one that was interrupted goes on. Weights are finished a stage at a time, in an order
// that model, options and data decide; a stage is called by its first weight.
class Journal {
 public:
  virtual ~Journal();
  // False where the stage is not finished.
  virtual bool read(const std::string& stage, nn::NamedTensors& parameters, std::vector<LayerReport>& layers) = 0;
  virtual void write(const std::string& stage, const nn::NamedTensors& parameters, const std::vector<LayerReport>& layers) = 0;
};
// In files of a folder. `key` says which run it is: what another left is an Error. resume: what is there counts; else it is
// removed.
class FolderJournal : public Journal {
  std::string folder_, key_;
  std::string path_of(const std::string& stage) const;

 public:
  FolderJournal(std::string folder, std::string key, bool resume);
  bool read(const std::string& stage, nn::NamedTensors& parameters, std::vector<LayerReport>& layers) override;
  void write(const std::string& stage, const nn::NamedTensors& parameters, const std::vector<LayerReport>& layers) override;
  void remove();  // the folder, once the result is where it belongs
};

// An importance matrix: of each weight, by its name in the model, what its columns have multiplied.
struct Importance {
  struct Entry {
    Tensor squares;   // f32 [in], summed
    double rows = 0;  // so many inputs
  };
  std::map<std::string, Entry> entries;
  std::vector<std::string> datasets;  // what a file says of its data: names, pieces and their tokens
  int64_t chunks = 0, chunk_size = 0;
};
Importance measure_importance(nn::Module& model, Calibration& data);  // of its linear layers, in one run over the data
// The GGUF files of llama.cpp's imatrix tools. ValueError for models that GGUF has no names for, and "<path>: ..." for files
// that are none, or another model's. What has no place in such a file is left out.
void save_importance(const std::string& path, const Importance& importance, const models::CausalLM& m);
Importance load_importance(const std::string& path, models::CausalLM& m);

struct QuantizeOptions {
  nn::ByName by_name = {};
  DType weights = {};  // a scaled format, of all that `map` does not name
  // Where defined, of the inputs of linear layers that are quantized: rounded anew in each forward (round_inputs), which is no
  // part of what is saved. i8(row) has a scale for each token, i8(tensor) one for all.
  DType activations = {};
  double threshold = 0;  // of outliers among them; 6 is LLM.int8's
  // Formats by patterns of names, with * and ?; the first that fits counts. An undefined one: it stays as it is.
  std::vector<std::pair<std::string, DType>> map = {};
  std::string method = "rtn";
  Options options = {};  // of the method
  Calibration* calibration = nullptr;
  const Importance* importance = nullptr;  // for imatrix: what it would learn from calibration
  // Patterns of parameters' names, with * and ?. Of those that products and lookups read (nn::quantizable) the ones that an
  // `include` fits (none: all) and no `exclude`.
  std::vector<std::string> include = {}, exclude = {};
  void (*progress)(void* context, size_t done, size_t total, const std::string& name) = nullptr;  // before each weight
  void* context = nullptr;
  Journal* journal = nullptr;
  // Nothing is stored yet: weights stay what they are and are trained, and each forward of their layer sees them (and its
  // inputs, of every layer but embeddings, where activations are given) rounded as they will be, while gradients pass the
  // rounding by. The layer has a child "quantizer" with the scales of inputs. What reads a weight without calling its layer
  // sees it as it is.
  bool trainable = false;
  // Scales of integer formats are parameters: quantizer.weight_scale, and quantizer.input_scale of i8(tensor) inputs (Esser et
  // al. 2020, arXiv:1902.08153).
  bool learned_scales = false;
  bool rotate = false;  // the model first: rotate()
};
struct Report {
  std::vector<LayerReport> layers;
  int64_t bytes_before = 0, bytes_after = 0;  // of the model's parameters and buffers; trainable: after freeze() of the weights
};
// Changes a model's weights in place. ValueError before anything is changed: nothing fits the patterns, the method does not
// serve the format, it needs calibration and there is none.
Report quantize(nn::Module& model, const QuantizeOptions& options);

// Between quantize() with trainable and freeze(): static scales for inputs whose format has one scale for all, i8(tensor) or
// i8(tensor,zero), from ranges that are observed while the model runs over data in evaluation. Before it, and of rows, each
// input has its own scale.
struct CalibrateOptions {
  nn::ByName by_name = {};
  // "minmax": of all; "moving_average": of batches; or what keeps most of the values seen (histograms of 4096 bins):
  // "percentile" of magnitudes, "mse": the least squared error, "entropy": the least Kullback-Leibler divergence (Migacz 2017).
  std::string observer = "minmax";
  double momentum = 0.1;      // of moving_average: what a batch counts
  double percentile = 99.99;  // that are kept
};
std::vector<std::string> observers();  // their names
struct RangeReport {
  std::string name;  // of the layer
  DType format;
  int64_t batches = 0;  // that reached it; of none: it has no static scale
  double low = 0, high = 0, scale = 0;
  int64_t zero = 0;
};
// ValueError where no layer takes a static scale, for NaN among the inputs, and for an unknown observer.
std::vector<RangeReport> calibrate(nn::Module& model, Calibration& data, const CalibrateOptions& options = {});
// Stores what quantize() with trainable has prepared: weights have their formats from now on and take no gradient; inputs are
// rounded on. ValueError where there is nothing of that kind.
Report freeze(nn::Module& model);

// Mixed bits under a budget: a format for each weight, so that all parameters and buffers take at most so many bytes and the
// model's results, as far as rounding one weight at a time to nearest tells, move least.
struct BudgetOptions {
  nn::ByName by_name = {};
  int64_t bytes = 0;
  std::vector<DType> formats = {};     // to choose from
  Calibration* calibration = nullptr;  // none: the weights' own relative squared errors are what moves
  std::vector<std::string> include = {}, exclude = {};
  std::vector<std::pair<std::string, DType>> map = {};  // formats that are given, as in QuantizeOptions; they count
  void (*progress)(void* context, size_t done, size_t total, const std::string& name) = nullptr;  // before each weight
  void* context = nullptr;
};
struct BudgetPoint {
  int64_t bytes;    // of the whole model
  double distance;  // the sum over its weights
};
struct BudgetPlan {
  std::vector<std::pair<std::string, DType>> map;  // for QuantizeOptions: what was given, then what was chosen
  std::vector<BudgetPoint> curve;                  // from the smallest to the one chosen
};
// ValueError where the formats do not reach down to `bytes`.
BudgetPlan fit_budget(nn::Module& model, const BudgetOptions& options);

// What the model's parameters and buffers will take. Changes nothing, and complains of what quantize() complains of.
int64_t predicted_bytes(nn::Module& model, const QuantizeOptions& options);

}  // namespace dyadic::inline v1::quant

#include "dyadic/quant_methods.inc"
