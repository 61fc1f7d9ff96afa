#include "autograd/callbacks.h"
#include "distributed/buckets.h"
#include "dyadic/autograd.h"
#include "dyadic/data_parallel.h"

namespace dyadic::inline v1::distributed {

// Each rank's batch is a shard of its own.
struct GradientMean::State {
  std::vector<Tensor> params;
  std::shared_ptr<Buckets> buckets;
  int ranks;
  bool on = true, waiting = false;  // for the backward that runs to end

  struct Turn {  // one backward's; also where it throws
    std::shared_ptr<State> state;
    ~Turn() { state->waiting = false; }
  };
  static void average(void* turn) {
    State& s = *static_cast<Turn*>(turn)->state;
    double numbers[Flat::kNumbers] = {0, 0};
    s.buckets->add(1, numbers);
    s.buckets->end(numbers, s.ranks);
  }
};

GradientMean::GradientMean(std::vector<Tensor> params, Group& group, int64_t bucket) {
  const int ranks = group.size();
  state_ = std::make_shared<State>(State{std::move(params), std::make_shared<Buckets>(group, ranks, false, bucket), ranks});
  if (ranks == 1) return;
  const std::weak_ptr<State> weak = state_;  // the parameters hold their hooks
  for (const Tensor& p : state_->params)
    if (p.requires_grad())
      register_post_accumulate_grad_hook(p, [weak](const Tensor& leaf) {
        const std::shared_ptr<State> s = weak.lock();
        if (!s || !s->on) return;
        if (!std::exchange(s->waiting, true)) {
          when_backward_ends(std::make_shared<State::Turn>(s), State::average);
          s->buckets->begin(s->params, {});
          s->buckets->last_shard();
        }
        s->buckets->complete(leaf);
      });
}
void GradientMean::set(bool on) { state_->on = on; }
bool GradientMean::on() const { return state_->on; }

}  // namespace dyadic::inline v1::distributed
