// Training in which a batch is cut into shards whose gradients are added in one order, whoever computes them: the same bits on
// one process and on any number of them.
//
//   dy::distributed::DataParallel parallel(model);
//   double loss = parallel.backward(batch, [&](const Value& shard) { return cross_entropy((*model)(shard[0]), shard[1]); });
//   optimizer.step();
#pragma once
#include "dyadic/data.h"
#include "dyadic/distributed.h"
#include "dyadic/nn.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1::distributed {

class DataParallel {
 public:
  // Every rank has the whole model, with equal weights: rank 0's, which the others get here. ValueError where there are more
  // ranks than shards.
  // `spread`: each rank steps some of the parameters alone, so that an optimizer keeps their states only; after backward()
  // those have gradients, and after the step share() brings the rest of the model. The same bits.
  explicit DataParallel(nn::Module& model, Group& group = world(), int64_t shards = 8, bool spread = false);

  // The mean loss of the batch, whose gradients (times `scale`) lie in the parameters afterwards, on every rank. `loss_of`
  // gives the mean loss of a shard: as many samples of the batch's first dimension, as evenly as they go. Floating buffers
  // (running statistics) become the mean of what the shards make of them, random numbers are counted by shard. On meta the loss
  // is 0.
  double backward(const data::Value& batch, const data::Callback<Tensor(const data::Value&)>& loss_of, double scale = 1);

  // The 2-norm of these parameters' gradients, of all ranks: grad_norm()'s, to the bit.
  double grad_norm(const nn::NamedTensors& params);
  void share();  // every rank's parameters become those of the rank that steps them
  // Of states: `optimizer` keeps those of the parameters that this rank steps, or the first rank has all (for a checkpoint).
  void keep_own(optim::Optimizer& optimizer);
  void collect(optim::Optimizer& optimizer);

  // Something that any rank may ask for, such as to stop: says whether one had when the last backward() ran.
  void ask() { asking_ = true; }
  bool asked() const { return asked_; }

  Group& group() const { return group_; }
  int64_t shards() const { return shards_; }
  bool spread() const { return spread_; }

 private:
  nn::Module& model_;
  Group& group_;
  int64_t shards_;
  bool spread_;
  bool asking_ = false, asked_ = false;
};

// Every rank's parameters and buffers become rank 0's.
void begin_equal(nn::Module& model, Group& group = world());

// What each rank computes on a batch of its own: when a backward() has left gradients in any of the parameters, they become
// their mean over all ranks, as PyTorch's DistributedDataParallel has it. With `on` false they stay this rank's.
class GradientMean {
  struct State;
  std::shared_ptr<State> state_;

 public:
  explicit GradientMean(std::vector<Tensor> params, Group& group = world());
  void set(bool on);
  bool on() const;
};

// The size along which a batch is cut: the first of its first tensor, 0 where there is none.
int64_t sample_count(const data::Value& batch);
// Samples [begin, end) of it, as views; what has another first size than the batch stays whole.
data::Value samples(const data::Value& batch, int64_t begin, int64_t end);

}  // namespace dyadic::inline v1::distributed
