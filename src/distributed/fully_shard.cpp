#include "dyadic/fully_shard.h"

#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "base/check.h"
#include "distributed/units.h"
#include "dyadic/ops.h"
#include "optim/grad_ops.h"
#include "tensor/absent.h"

namespace dyadic::inline v1::distributed {
namespace {

// Of each group one: its units see each other's backward.
std::shared_ptr<Sharing> sharing_of(Group& group) {
  static std::mutex mutex;
  static std::map<Group*, std::weak_ptr<Sharing>> all;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Sharing> sharing = all[&group].lock();
  if (!sharing) {
    sharing = std::make_shared<Sharing>(Sharing{group, true, f32});
    sharing->shards = group.size();
    sharing->mean = true;
    all[&group] = sharing;
  }
  return sharing;
}

template <class F> void each_unit(nn::Module& module, Group& group, F f) {
  std::set<nn::Module*> inside;
  for (auto& [name, m] : module.named_modules()) inside.insert(m);
  for (auto& weak : sharing_of(group)->units)
    if (const auto unit = weak.lock(); unit && inside.contains(&unit->module())) f(*unit);
}

}  // namespace

void fully_shard(nn::Module& module, bool reshard_after_forward, Group& group) {
  if (group.size() == 1) return;
  std::set<TensorImpl*> taken;
  each_unit(module, group, [&](Unit& unit) {
    DY_CHECK_AS(ValueError, &unit.module() != &module, "fully_shard: {} has been spread already", module.name());
    for (const Tensor& p : unit.params()) taken.insert(p.impl());
  });
  std::vector<Tensor> params, all;
  for (const Tensor& p : module.parameters())
    if (!taken.contains(p.impl())) params.push_back(p);
  all = params;
  for (const Tensor& b : module.buffers()) all.push_back(b);
  group.broadcast(all, std::vector<int>(all.size(), 0));
  const std::shared_ptr<Sharing> sharing = sharing_of(group);
  const auto unit = std::make_shared<Unit>(module, std::move(params), sharing, reshard_after_forward);
  sharing->units.push_back(unit);
  if (taken.empty()) sharing->inner_bytes += unit->bytes();
  module.add_hook(unit);
}

void unshard(nn::Module& module, Group& group) {
  each_unit(module, group, [](Unit& unit) { unit.keep(); });
}
void reshard(nn::Module& module, Group& group) {
  each_unit(module, group, [](Unit& unit) { unit.unkeep(); });
}

double spread_norm(const nn::NamedTensors& params, Group& group) {
  const Tensor squares = zeros({int64_t(params.size())}, f64);
  auto* s = squares.data<double>();
  bool real = true;
  for (size_t i = 0; i < params.size(); ++i) {
    if (const Tensor g = params[i].second.grad(); g.defined()) s[i] = optim::grad_squares({&g, 1});
    real = real && !params[i].second.is_meta();
  }
  // Of each one rank has it: nothing is rounded.
  group.all_reduce(real ? squares : empty(squares.sizes(), f64, meta));
  double total = 0;
  for (size_t i = 0; i < params.size(); ++i) total += s[i];
  return std::sqrt(total);
}

bool is_spread(const Tensor& parameter) { return is_absent(parameter); }

}  // namespace dyadic::inline v1::distributed
