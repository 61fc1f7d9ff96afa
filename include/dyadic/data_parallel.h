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

// What each rank has a part of alone: nothing; the optimizer's states; gradients, too; and parameters (stages 0 to 3 of ZeRO,
// Rajbhandari et al. 2020). Parameters are not cut: each belongs to one rank, which steps it.
enum class Spread : uint8_t { none, states, gradients, parameters };
Spread parse_spread(std::string_view name);  // ValueError listing the names
const char* spread_name(Spread spread);

inline constexpr int64_t kUsualShards = 8;  // of a batch, where nobody says how many
// Of gradients that are worth a message of their own: 3 ms at 10 Gbit/s.
inline constexpr int64_t kBucketBytes = int64_t{4} << 20;

class Buckets;
class Unit;
struct Sharing;

class DataParallel {
 public:
  // Every rank's weights become rank 0's here. ValueError where there are more ranks than shards.
  // `spread`: after backward() a rank's own parameters have gradients, so that an optimizer keeps their states only, and after
  // the step share() brings the rest of the model. Gradients are sent to their ranks as backward goes on, module by module;
  // with parameters those of other ranks are here while their module runs alone, and share() has nothing to do. Modules are the
  // elements of nn::ModuleLists; what else the model has is here while backward() runs. The same bits each way.
  // `wire`: what gradients of shards travel in (bf16, a float of 8 bits, dynamic8 or another format with scales); what rounding
  // loses of a shard's is added to its next one, and kept by the rank that computes it. Other bits than without, the same on
  // any number of ranks. With gradients or parameters spread, on several ranks.
  explicit DataParallel(nn::Module& model, Group& group = world(), int64_t shards = kUsualShards, Spread spread = Spread::none,
                        DType wire = {});
  ~DataParallel();  // where parameters are spread they stay so
  DataParallel(const DataParallel&) = delete;

  // The mean loss of the batch, whose gradients (times `scale`) lie in the parameters afterwards, on every rank. `loss_of`
  // gives the mean loss of a shard: as many samples of the batch's first dimension, as evenly as they go. Floating buffers
  // (running statistics) become the mean of what the shards make of them, random numbers are counted by shard. Gradients of the
  // last shard are sent while its backward goes on. On meta the loss is 0.
  double backward(const data::Value& batch, const data::Callback<Tensor(const data::Value&)>& loss_of, double scale = 1);

  // The 2-norm of these parameters' gradients, of all ranks: grad_norm()'s, to the bit.
  double grad_norm(const nn::NamedTensors& params);
  void share();  // every rank's parameters become those of the rank that steps them
  // Of states: `optimizer` keeps those of the parameters that this rank steps, or the first rank has all (for a checkpoint).
  void keep_own(optim::Optimizer& optimizer);
  void collect(optim::Optimizer& optimizer);

  // What has still to travel, "3.<name>" of shard 3: of this rank's shards. For a checkpoint; load takes what is this rank's.
  nn::NamedTensors wire_state() const;
  void load_wire_state(const nn::NamedTensors& state);
  int owner(const Tensor& parameter) const;  // the rank that steps it, or has it; 0 where all do

  // Every rank has all parameters again, in memory of its own, and backward() is no longer called. On every rank.
  void unspread();

  // Something that any rank may ask for, such as to stop: says whether one had when the last backward() ran.
  void ask() { asking_ = true; }
  bool asked() const { return asked_; }

  Group& group() const { return group_; }
  int64_t shards() const { return shards_; }
  Spread spread() const { return spread_; }  // none on one rank
  DType wire() const { return wire_; }

 private:
  friend class Gathered;
  double backward_in_rounds(const data::Value& batch, const data::Callback<Tensor(const data::Value&)>& loss_of, double scale);
  nn::Module& model_;
  Group& group_;
  int64_t shards_;
  Spread spread_;
  DType wire_;
  std::vector<Tensor> trained_;  // parameters, and which rank steps each
  std::vector<int> owners_;
  std::shared_ptr<Buckets> buckets_;  // where a rank has all gradients, or all are on one
  std::shared_ptr<Sharing> sharing_;  // of gradients, and of parameters
  std::vector<std::shared_ptr<Unit>> units_;
  bool asking_ = false, asked_ = false;
};

// While it lives, parameters that are spread are here: all, or those of no module that gathers its own, which is what it takes
// to call the model outside of backward(). On every rank.
class Gathered {
  std::vector<std::shared_ptr<Unit>> units_;

 public:
  explicit Gathered(DataParallel& parallel, bool all = true);
  ~Gathered();
  Gathered(const Gathered&) = delete;
};

// Every rank's parameters and buffers become rank 0's, but for those that are files mapped to be read: they are the same file.
void begin_equal(nn::Module& model, Group& group = world());

// What each rank computes on a batch of its own: when a backward() has left gradients in any of the parameters, they become
// their mean over all ranks, as PyTorch's DistributedDataParallel has it; so many bytes of them as `bucket` says are sent
// together, while backward computes the next ones. With `on` false they stay this rank's. Error where a backward inside of
// another one adds to a gradient that has been sent.
class GradientMean {
  struct State;
  std::shared_ptr<State> state_;

 public:
  explicit GradientMean(std::vector<Tensor> params, Group& group = world(), int64_t bucket = kBucketBytes);
  void set(bool on);
  bool on() const;
};

// The size along which a batch is cut: the first of its first tensor, 0 where there is none.
int64_t sample_count(const data::Value& batch);
// Samples [begin, end) of it, as views; what has another first size than the batch stays whole.
data::Value samples(const data::Value& batch, int64_t begin, int64_t end);

}  // namespace dyadic::inline v1::distributed
