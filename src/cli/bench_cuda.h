// What the files of `dyadic bench cuda` share: time by the device's events, and figures beside ceilings that were measured
// there.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "cli/command.h"
#include "cli/json.h"
#include "dyadic/cuda.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::cli {

// How large the calls are: `full` needs a device of 40 GiB, `smoke` is for the simulator, where only that they run means
// something.
struct CudaSizes {
  enum class Kind : uint8_t { full, quick, smoke } kind;
  int64_t elements;                           // of a pointwise call
  std::vector<int64_t> products, lengths;     // sides of square matrices, the largest first; tokens of attention
  int64_t attention_tokens;                   // of all sequences together
  int64_t weight_rows, weight_columns;        // of a linear layer
  std::vector<int64_t> parameters;            // of an optimizer's step
  int calls;                                  // of small ops, one after the other
  int64_t gpt_block, gpt_batch;               // tokens of a sequence, sequences
  int64_t llama_layers, llama_width, tokens;  // tokens: that are generated
  const char* name() const { return kind == Kind::full ? "full" : kind == Kind::quick ? "quick" : "smoke"; }
  bool smoke() const { return kind == Kind::smoke; }
};
inline constexpr int64_t kRowWidth = 4096;
CudaSizes cuda_sizes(const cuda::Properties& device, bool quick);

struct Milliseconds {
  double median = 0, best = 0;
};

struct Ceilings {
  double copy = 0;     // bytes per second, read and written, that the driver's own copy of 1 GiB moves
  double product = 0;  // FLOPs per second of the largest bf16 product
};

struct CudaFigure {
  std::string name, dtype;
  Milliseconds time{};  // of one run
  double rate = 0;
  std::string unit;
  double share = NAN;  // of the ceiling that `of` names
  std::string of;
  Json more = Json::object();
  std::string error;  // not empty: the case failed, and there is nothing else
};

class CudaBench {
  const CudaSizes sizes_;
  Ceilings ceilings_;
  std::vector<CudaFigure> figures_;

 public:
  const Device device{DeviceType::cuda};
  explicit CudaBench(const CudaSizes& sizes) : sizes_(sizes) {}
  const CudaSizes& sizes() const { return sizes_; }
  const Ceilings& ceilings() const { return ceilings_; }
  const std::vector<CudaFigure>& figures() const { return figures_; }
  // Clocks move with the load: probed on both sides of the work, the better one counts.
  void measure_ceilings();

  // Of one run, many of which lie between two events where one is short.
  Milliseconds time(FunctionRef<void()> run) const { return time(nullptr, run); }
  // prepare: what each run needs anew and is not timed.
  Milliseconds time(const FunctionRef<void()>* prepare, FunctionRef<void()> run) const;

  // A figure that body fills in; what it throws becomes the figure's error, and the next case is tried.
  void add(std::string name, std::string dtype, FunctionRef<void(CudaFigure&)> body);
  void bytes(CudaFigure& f, Milliseconds t, double bytes) const;  // GB/s, beside the copy
  void flops(CudaFigure& f, Milliseconds t, double flops) const;  // TFLOP/s, beside the product
};

void bench_pointwise(CudaBench&);
void bench_rows(CudaBench&);
void bench_products(CudaBench&);
void bench_attention(CudaBench&);
void bench_weights(CudaBench&);
void bench_optimizer(CudaBench&);
void bench_calls(CudaBench&);
void bench_training(CudaBench&);
void bench_generation(CudaBench&);

// Calls and training steps, each so often on one stream and on two at once: whether all results have the same bits.
void repeat_calls(CudaBench&, int64_t repeats);
void repeat_training(CudaBench&, int64_t repeats);

}  // namespace dyadic::inline v1::cli
