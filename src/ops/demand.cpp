#include "ops/demand.h"

#include <memory>
#include <vector>

#include "base/check.h"
#include "corridor/plan.h"
#include "dyadic/ops.h"
#include "tensor/batched.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::ops {
namespace {

struct Demanded {
  Demand check;
  std::vector<Operand> of;
  Plan plan;

  Demanded(Demand given, std::span<const Tensor> tensors) : check(std::move(given)) {
    for (const Tensor& t : tensors) of.emplace_back(*t.impl());
    plan.set<[](const Demanded* const& d, const Pointers& at) { d->run(at); }>(static_cast<const Demanded*>(this));
  }
  Demanded(const Demanded&) = delete;

  void run(const Pointers& at) const {
    std::vector<Tensor> now;
    for (size_t k = 0; k < of.size(); ++k) {
      int64_t span = of[k].count > 0;
      for (int d = 0; d < of[k].ndim && span; ++d) span += (of[k].lengths[d] - 1) * of[k].steps[d];
      now.push_back(make_view(make_over(at.in[k], {span}, of[k].dtype()), of[k].sizes(), of[k].strides(), 0));
    }
    check(now);
  }
};

struct Unwatched {
  StepWatcher* const watcher = std::exchange(t_step_watcher, nullptr);
  ~Unwatched() { t_step_watcher = watcher; }
};

}  // namespace

void demand(const char* name, std::string key, std::span<const Tensor> of, Demand check) {
  if (!t_step_watcher) [[likely]]
    return check(of);
  bool known = true;
  for (const Tensor& t : of) known &= t.device().is_cpu() && !t.dtype().is_blocked();
  if (known) {
    const auto again = std::make_shared<Demanded>(check, of);
    t_step_watcher->checks(name, std::move(key), {again, &again->plan}, of);
  } else {
    for (const Tensor& t : of) note_read(*t.impl());
  }
  const Unwatched guard;
  check(of);
}

void demand(const char* name, std::span<const Tensor> of, Said text, void (*check)(std::span<const Tensor> of, Said text)) {
  if (!t_step_watcher) [[likely]]
    return check(of, text);
  const std::string known = text();
  demand(name, known, of, [=](std::span<const Tensor> now) { check(now, [&] { return known; }); });
}

void demand_all(const char* name, const Tensor& condition, Said text) {
  if (condition.is_meta()) return;
  const NoGrad guard;
  const Tensor holds[] = {all(every_entry(condition))};
  demand(name, holds, text,
         [](std::span<const Tensor> of, Said told) { DY_CHECK(of[0].item_scalar().integer() != 0, "{}", told()); });
}

}  // namespace dyadic::inline v1::ops
