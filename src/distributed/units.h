// A model that is spread over ranks unit by unit: a module, the parameters that are gathered while it runs, and the gradients
// that are added and sent away when its backward has ended. Whole parameters belong to one rank each: so an optimizer steps
// them as if nothing were spread, and they keep any format.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "distributed/shards.h"
#include "distributed/wire.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::distributed {

class Unit;

// What the units of a model know together.
struct Sharing {
  Group& group;
  bool parameters;                 // are spread, as gradients are
  DType sums;                      // what gradients are added in
  DType wire = {};                 // and travel in, where that is another
  std::vector<int64_t> load = {};  // of each rank, by which the next parameter finds its own
  // Of the step that runs.
  int64_t shards = 0;  // 0: none runs
  int64_t shard = 0;
  double scale = 1;    // of its loss
  bool counts = true;  // what this rank computes in this round; else it goes along with the others
  // Each backward is a step, after which gradients are the mean over the ranks: its units, and whether one runs.
  bool mean = false, running = false;
  std::vector<std::weak_ptr<Unit>> units = {};
  std::weak_ptr<Unit> sending = {};  // whose gradients are on their way
  // What is gathered ahead of its use, while parameters do not change: what came last time after the two before it, where that
  // takes at most a fifth of what all units would that are inside of another one, which has its own for as long as they run.
  bool ahead = false;
  int64_t inner_bytes = 0;
  std::pair<Unit*, Unit*> latest = {};
  std::map<std::pair<Unit*, Unit*>, std::weak_ptr<Unit>> followed = {};
  std::weak_ptr<Unit> next = {};
  int owner_of(const Tensor& p);
  void gather_ahead(const std::shared_ptr<Unit>& asked);
  void end_ahead(bool wait = true);  // until it is set again
};

class Unit : public nn::Hook, public std::enable_shared_from_this<Unit> {
 public:
  // Parameters that are trained are floats. With Sharing::parameters those of other ranks are gone from here on. `reshard`: and
  // between forward and backward.
  Unit(nn::Module& module, std::vector<Tensor> params, std::shared_ptr<Sharing> sharing, bool reshard = true);

  // The parameters' values are here, at least as long as somebody keeps them.
  void gather();
  bool begin_gather();  // ahead of use; false where they are here or on their way
  bool small() const { return 5 * bytes_ <= sharing_->inner_bytes; }
  int64_t bytes() const { return bytes_; }  // of all ranks
  void drop(bool wait);                     // what has come and was not used
  void let_go();
  void keep() { ++kept_, gather(); }
  void unkeep() { --kept_, let_go(); }
  void unspread();  // they are here for good, in memory of their own

  // Of each round; at its end what has not left yet leaves.
  void begin();
  void finish();
  void end_round();  // of what finish() has sent
  // After all rounds: sums, divided by `by`, become the gradients of this rank's parameters.
  void give(double by = 1);

  // Around the module's forward; backward is followed by hooks on gradients.
  void before(nn::Module& m, std::vector<Tensor>& inputs) override;
  void after(nn::Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) override;

  // Of parameter i, what its gradient in a shard has lost on the way and brings the next time; undefined where there is none
  // yet.
  Tensor lost(int64_t shard, size_t i) const;
  void set_lost(int64_t shard, size_t i, const Tensor& lost);

  const std::vector<Tensor>& params() const { return params_; }
  const std::vector<int>& owners() const { return owners_; }
  nn::Module& module() const { return module_; }

 private:
  bool mine(size_t i) const { return owners_[i] == sharing_->group.rank(); }
  void spread_parameters();
  Tensor take_gradients();
  Tensor& lost_of(int64_t shard);
  void make_wire();
  void backward_begins();
  static void backward_ends(void* turn);
  nn::Module& module_;
  std::shared_ptr<Sharing> sharing_;
  std::vector<Tensor> params_;  // each rank's side by side
  std::vector<int> owners_;
  Device device_ = cpu;
  // Of parameters: where each begins in its rank's bytes; these of this rank, and of the others while they are here.
  std::vector<int64_t> places_, rank_bytes_, rank_begin_;  // the last: of a rank's bytes in others_
  Tensor own_, others_;
  int64_t bytes_ = 0;
  Moving coming_;
  bool here_ = true, reshard_;
  DType sums_;
  int kept_ = 0;
  // Of gradients in a flat tensor: each rank's slice has those of its parameters, and behind them how many there were of each.
  std::vector<Range> slices_;
  std::vector<int64_t> gradient_at_, count_at_;  // of what is not trained: -1
  std::optional<RoundSum> sum_;
  std::optional<Wire> wire_;
  std::map<int64_t, Tensor> lost_;  // by shard
  int passes_ = 0;                  // through the module, whose backward is to come
  bool left_ = false;               // in this round
  std::vector<Tensor> earlier_;     // gradients of this rank's parameters before this backward
};

// Units of a model: elements of ModuleLists, and the model itself with what remains, which comes last. A parameter that two of
// them read is the model's.
std::vector<std::shared_ptr<Unit>> make_units(nn::Module& model, const std::shared_ptr<Sharing>& sharing);

}  // namespace dyadic::inline v1::distributed
