// Pruning: which weights of a model become zero.
//
//   dy::prune::prune(model, {.sparsity = dy::prune::parse_sparsity("2:4"), .method = "sparsegpt", .calibration = &data});
//   dy::prune::Masks masks(model);                                  // what is zero now
//   ... optimizer.step(); masks.apply();                            // stays zero
//   Tensor w = dy::prune::prune_matrix(dy::prune::method("wanda"), weight, inputs, dy::prune::parse_sparsity("0.5"));
//
// Zeros are numbers like others: they take no less memory or time here, on disk neither. What they are for: rows that are zero
// can be taken out, files that are compressed are smaller, and other programs have kernels for 2:4.
#pragma once
#include "dyadic/quant.h"

namespace dyadic::inline v1::prune {

struct Sparsity {
  double share = 0.5;         // of the weights that become zero, rounded to a number of weights
  int64_t zeros = 0, of = 0;  // 2:4: two of each four neighbours in a row; of 0: wherever the scope allows
};
Sparsity parse_sparsity(std::string_view text);  // "0.5", "50%", "2:4"; ValueError

// Among which weights those with the smallest scores are looked for: of a matrix, of each of its rows, of all matrices of the
// model; or whole rows by their norm (outputs of a linear layer, channels of a convolution), with the elements of the bias.
enum class Scope { matrix, row, global, whole_rows };
Scope parse_scope(std::string_view word);  // matrix, row, global, rows

struct Task {  // of a method: one matrix
  std::string name;
  Tensor weight;                // f32 [out, in]
  const quant::Inputs* inputs;  // null: nothing is known of them
  Sparsity sparsity;
  Scope scope;
};
struct Method {
  const char *name, *doc, *source;
  bool needs_inputs;
  Scope scope;  // unless another is asked for
  // f32 [out, in]: those with the smallest become zero.
  Tensor (*scores)(const Tensor& weight, const quant::Inputs* inputs);
  // The pruned weight; null: the weights that stay are as they were.
  Tensor (*run)(const Task& task) = nullptr;
};
const std::vector<const Method*>& methods();
const Method& method(std::string_view name);  // ValueError with the nearest name

// bool, as scores: which stay. ValueError where rows are no multiple of Sparsity::of.
Tensor mask_of(const Tensor& scores, const Sparsity& sparsity, Scope scope, const std::string& name = "weight");

// One matrix: weight [out, in], inputs [..., in] or undefined where the method needs none.
Tensor prune_matrix(const Method& m, const Tensor& weight, const Tensor& inputs, const Sparsity& sparsity,
                    std::optional<Scope> scope = {});

struct PruneOptions {
  nn::ByName by_name = {};
  Sparsity sparsity = {};
  std::string method = "magnitude";
  std::optional<Scope> scope = {};  // the method's
  quant::Calibration* calibration = nullptr;
  // Patterns of parameters' names, with * and ?: of weights of linear layers and convolutions those that an `include` fits
  // (none: all) and no `exclude`.
  std::vector<std::string> include = {}, exclude = {"lm_head.*"};
  void (*progress)(void* context, size_t done, size_t total, const std::string& name) = nullptr;  // before each weight
  void* context = nullptr;
};
struct LayerReport {
  std::string name;
  double sparsity;                // share of zeros
  double error, error_magnitude;  // quant::output_error, of what was chosen and of the smallest weights by the same rule
  double seconds;
  std::string fallback;  // why its smallest weights were taken; empty where the method chose
};
struct Report {
  std::vector<LayerReport> layers;
  int64_t parameters = 0, zeros = 0;  // of the model
  int64_t bytes = 0;                  // of its parameters and buffers, which zeros do not change
};
// Changes weights in place, a block of the model after the other, each fitted to what the pruned blocks before it give.
// ValueError before anything is changed: nothing fits the patterns, weights of a scaled format (prune before quantizing), rows
// that 2:4 does not divide, no calibration for a method that needs it.
Report prune(nn::Module& model, const PruneOptions& options = {});

// Which weights are zero, a bit each, so that they stay so while the others are trained.
class Masks {
  std::vector<std::pair<Tensor, Tensor>> masks_;  // parameters and u1 of what stays

 public:
  explicit Masks(nn::Module& model);  // of parameters of two dimensions or more, some of which are zero
  void apply() const;                 // after each step of an optimizer
  size_t size() const { return masks_.size(); }
  int64_t zeros() const;
};

}  // namespace dyadic::inline v1::prune
