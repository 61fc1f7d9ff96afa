#include "autograd/callbacks.h"
#include "distributed/flat.h"
#include "dyadic/autograd.h"
#include "dyadic/data_parallel.h"

namespace dyadic::inline v1::distributed {

struct GradientMean::State {
  std::vector<Tensor> params;
  Group& group;
  bool on = true, waiting = false;  // for the backward that runs to end

  struct Turn {  // one backward's; also where it throws
    std::shared_ptr<State> state;
    ~Turn() { state->waiting = false; }
  };
  static void average(void* turn) {
    State& s = *static_cast<Turn*>(turn)->state;
    const Flat layout(s.params, {});
    const Tensor flat = layout.take(1, {0, 0});
    s.group.all_reduce(flat, Reduce::mean);
    double numbers[Flat::kNumbers];
    layout.give(flat, numbers);
  }
};

GradientMean::GradientMean(std::vector<Tensor> params, Group& group)
    : state_(std::make_shared<State>(State{std::move(params), group})) {
  if (group.size() == 1) return;
  const std::weak_ptr<State> weak = state_;  // the parameters hold their hooks
  for (const Tensor& p : state_->params)
    if (p.requires_grad())
      register_post_accumulate_grad_hook(p, [weak](const Tensor&) {
        const std::shared_ptr<State> s = weak.lock();
        if (!s || !s->on || std::exchange(s->waiting, true)) return;
        when_backward_ends(std::make_shared<State::Turn>(s), State::average);
      });
}
void GradientMean::set(bool on) { state_->on = on; }
bool GradientMean::on() const { return state_->on; }

}  // namespace dyadic::inline v1::distributed
