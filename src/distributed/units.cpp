#include "distributed/units.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "autograd/callbacks.h"
#include "base/check.h"
#include "corridor/tape.h"
#include "dyadic/autograd.h"
#include "dyadic/ops.h"
#include "tensor/absent.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::distributed {

// The one with the least; what is trained has a gradient and states beside it.
int Sharing::owner_of(const Tensor& p) {
  load.resize(size_t(group.size()));
  const auto least = std::min_element(load.begin(), load.end());
  *least += p.nbytes() * (p.requires_grad() ? 4 : 1);
  return int(least - load.begin());
}

Unit::Unit(nn::Module& module, std::vector<Tensor> params, std::shared_ptr<Sharing> sharing, bool reshard)
    : module_(module), sharing_(std::move(sharing)), reshard_(reshard), sums_(sharing_->sums) {
  const auto ranks = size_t(sharing_->group.size());
  std::vector<int> owners;
  for (const Tensor& p : params) {
    DY_CHECK_AS(TypeError, !p.requires_grad() || (p.dtype().is_floating_point() && !p.dtype().is_scaled()),
                "distributed: gradients of {} parameters are not added; keep them frozen, or in floats", p.dtype().name());
    owners.push_back(sharing_->owner_of(p));
    if (p.dtype() == f64) sums_ = f64;
  }
  std::vector<size_t> order(params.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return owners[a] < owners[b]; });
  for (const size_t i : order) params_.push_back(params[i]), owners_.push_back(owners[i]);
  if (!params_.empty()) device_ = params_[0].device();

  gradient_at_.assign(params_.size(), -1), count_at_ = gradient_at_;
  int64_t at = 0;
  for (size_t r = 0; r < ranks; ++r) {
    const int64_t begin = at;
    for (const bool gradients : {true, false})
      for (size_t i = 0; i < params_.size(); ++i) {
        if (owners_[i] != int(r) || !params_[i].requires_grad()) continue;
        (gradients ? gradient_at_ : count_at_)[i] = at;
        at += gradients ? params_[i].numel() : 1;
      }
    slices_.push_back({begin, at});
  }
  if (sharing_->parameters) spread_parameters();
  if (sharing_->wire) make_wire();
}

void Unit::make_wire() {
  std::vector<Wire::Part> parts;
  for (int r = 0; r < sharing_->group.size(); ++r) {
    int64_t counts = 0;
    for (size_t i = 0; i < params_.size(); ++i)
      if (owners_[i] == r && gradient_at_[i] >= 0) parts.push_back({params_[i].numel()}), ++counts;
    if (counts) parts.push_back({counts, true});
  }
  wire_.emplace(sharing_->wire, parts, slices_, sums_);
}

void Unit::spread_parameters() {
  NoGrad guard;
  rank_bytes_.resize(size_t(sharing_->group.size()));
  for (size_t i = 0; i < params_.size(); ++i) {
    const TensorImpl& p = *params_[i].impl();
    DY_CHECK_AS(ValueError, p.contiguous() && p.offset == 0,
                "distributed: a parameter {} is a view of other memory; only whole ones are spread: clone() it",
                describe(params_[i]));
    int64_t& end = rank_bytes_[size_t(owners_[i])];
    places_.push_back(end);
    end += (buffer_bytes(params_[i]) + kAlign - 1) / kAlign * kAlign;
  }
  {
    const CategoryScope scope(Category::parameter);
    own_ = empty({rank_bytes_[size_t(sharing_->group.rank())]}, u8, device_);
  }
  for (const int64_t n : rank_bytes_) bytes_ += n;
  for (size_t i = 0; i < params_.size(); ++i) {
    const Tensor absent = make_absent(params_[i]);
    if (mine(i) && !device_.is_meta()) {
      char* place = bytes_of(own_) + places_[i];
      if (const int64_t bytes = buffer_bytes(params_[i])) std::memcpy(place, params_[i].impl()->data(), size_t(bytes));
      lend(absent, place);
    }
    become_view(params_[i], absent);
  }
  here_ = false;
}

void Sharing::gather_ahead(const std::shared_ptr<Unit>& asked) {
  if (!ahead) return;
  if (const auto guess = next.lock(); guess && guess != asked) guess->drop(true);
  next.reset();
  followed[latest] = asked;
  latest = {latest.second, asked.get()};
  if (const auto at = followed.find(latest); at != followed.end())
    if (const auto unit = at->second.lock(); unit && unit->small() && unit->begin_gather()) next = unit;
}
void Sharing::end_ahead(bool wait) {
  ahead = false;
  if (const auto guess = next.lock()) guess->drop(wait);
  next.reset();
  latest = {};
}

bool Unit::begin_gather() {
  if (here_ || others_.defined()) return false;
  NoGrad guard;
  Group& group = sharing_->group;
  std::vector<Range> sent, received;
  int64_t all = 0, longest = 0;
  rank_begin_.clear();
  for (int r = 0; r < group.size(); ++r) {
    const bool other = r != group.rank();
    const int64_t bytes = rank_bytes_[size_t(r)];
    sent.push_back({0, other ? own_.numel() : 0});
    received.push_back({all, all + (other ? bytes : 0)});
    rank_begin_.push_back(all);
    all = received.back().end;
    longest = std::max(longest, bytes);
  }
  {
    const CategoryScope scope(Category::parameter);
    others_ = empty({all}, u8, device_);
  }
  coming_ = Moving(group, fmt::format("gathering of {} parameters", params_.size()), own_, sent, others_, received, longest);
  return true;
}

void Unit::gather() {
  if (here_) return;
  begin_gather();
  coming_.wait();
  here_ = true;
  char* data = bytes_of(others_);
  for (size_t i = 0; i < params_.size() && data; ++i)
    if (!mine(i)) lend(params_[i], data + rank_begin_[size_t(owners_[i])] + places_[i]);
  sharing_->gather_ahead(shared_from_this());
}

void Unit::drop(bool wait) {
  if (here_) return;
  if (wait) coming_.wait();
  coming_ = Moving();
  others_ = Tensor();
}

void Unit::let_go() {
  if (!here_ || kept_ || !sharing_->parameters) return;
  here_ = false;
  for (size_t i = 0; i < params_.size() && !device_.is_meta(); ++i)
    if (!mine(i)) lend(params_[i], nullptr);
  others_ = Tensor();
}

void Unit::unspread() {
  if (!sharing_->parameters) return;
  keep();
  NoGrad guard;
  const CategoryScope scope(Category::parameter);
  for (const Tensor& p : params_) {
    const Tensor own = make_tensor(p.sizes(), p.dtype(), device_);
    if (const int64_t bytes = device_.is_meta() ? 0 : buffer_bytes(p))
      std::memcpy(own.impl()->data(), p.impl()->data(), size_t(bytes));
    become_view(p, own);
  }
  own_ = others_ = Tensor();
}

void Unit::before(nn::Module&, std::vector<Tensor>& inputs) {
  gather();
  if (!sharing_->shards || !GradMode::is_enabled()) return;
  for (const Tensor& x : inputs)
    if (x.requires_grad() && !x.is_leaf()) {
      // Its gradient is complete when all nodes of this pass have run: they are younger than what made it.
      ++passes_;
      x.register_hook([unit = shared_from_this()](const Tensor&) {
        if (--unit->passes_ == 0) unit->finish(), unit->let_go();
      });
      return;
    }
}

// What backward reads is gathered by the last node of the pass, not by a hook on its result: the next unit's, which has that
// for its input, lets its own go first.
void Unit::after(nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& results) {
  if (sharing_->shards && sharing_->parameters)
    for (const Tensor& y : results)
      if (auto* node = fresh(*y.impl()).node)
        node_extra(*node).before.emplace_back([unit = shared_from_this()](auto, auto) {
          unit->backward_begins();
          return std::vector<Tensor>();
        });
  if (reshard_ || !sharing_->shards || !GradMode::is_enabled()) let_go();
}

namespace {
struct Turn {  // a backward's; also where it throws
  std::shared_ptr<Sharing> sharing;
  ~Turn() {
    sharing->running = false;
    sharing->end_ahead(false);
  }
};
std::vector<std::shared_ptr<Unit>> units_of(Sharing& sharing) {
  std::vector<std::shared_ptr<Unit>> all;
  for (auto& weak : sharing.units)
    if (auto unit = weak.lock()) all.push_back(std::move(unit));
  return all;
}
}  // namespace

void Unit::backward_begins() {
  if (sharing_->mean && !std::exchange(sharing_->running, true)) {
    when_backward_ends(std::make_shared<Turn>(sharing_), backward_ends);
    sharing_->ahead = sharing_->parameters;
    for (const auto& unit : units_of(*sharing_))
      for (size_t i = 0; i < unit->params_.size(); ++i) {
        const Tensor& p = unit->params_[i];
        unit->earlier_.push_back(unit->mine(i) && p.requires_grad() ? p.grad() : Tensor());
        if (unit->earlier_.back().defined()) p.set_grad({});
      }
  }
  gather();
}

void Unit::backward_ends(void* turn) {
  Sharing& sharing = *static_cast<Turn*>(turn)->sharing;
  sharing.end_ahead();
  for (const auto& unit : units_of(sharing)) {
    unit->finish(), unit->let_go();
    unit->give(sharing.group.size());
    NoGrad guard;
    for (size_t i = 0; i < unit->earlier_.size(); ++i) {
      const Tensor &before = unit->earlier_[i], &p = unit->params_[i], now = p.grad();
      if (before.defined()) p.set_grad(now.defined() ? before + now : before);
    }
    unit->earlier_.clear();
    unit->begin();
  }
}

// All in one, and they are gone from the parameters.
Tensor Unit::take_gradients() {
  const CategoryScope scope(Category::gradient);
  const Tensor flat = empty({slices_.back().end}, sums_, device_);
  for (size_t i = 0; i < params_.size(); ++i) {
    if (gradient_at_[i] < 0) continue;
    const Tensor& p = params_[i];
    const Tensor place = flat.narrow(0, gradient_at_[i], p.numel()), g = p.grad();
    g.defined() ? place.copy_(g.contiguous().view({-1})) : place.zero_();
    flat.narrow(0, count_at_[i], 1).fill_(g.defined());
    p.set_grad({});
  }
  return flat;
}

void Unit::finish() {
  if (std::exchange(left_, true) || !slices_.back().end) return;
  NoGrad guard;
  if (const auto other = sharing_->sending.lock()) other->end_round();
  Tensor flat = take_gradients();
  if (!sharing_->counts) flat = Tensor();
  if (wire_ && flat.defined()) flat = wire_->encode(flat, lost_of(sharing_->shard), sharing_->scale);
  if (!sum_) sum_.emplace(sharing_->group, sharing_->shards, slices_, sums_, device_);
  const CategoryScope scope(Category::gradient);
  wire_ ? sum_->leave_coded(*wire_, flat) : sum_->leave(flat);
  sharing_->sending = weak_from_this();
}

void Unit::end_round() {
  const CategoryScope scope(Category::gradient);
  if (sum_) sum_->end_round();
}

Tensor& Unit::lost_of(int64_t shard) {
  Tensor& lost = lost_[shard];
  const CategoryScope scope(Category::optimizer);
  if (!lost.defined()) lost = zeros({slices_.back().end}, sums_, device_);
  return lost;
}
Tensor Unit::lost(int64_t shard, size_t i) const {
  const auto at = lost_.find(shard);
  if (at == lost_.end() || gradient_at_[i] < 0) return {};
  return at->second.narrow(0, gradient_at_[i], params_[i].numel());
}
void Unit::set_lost(int64_t shard, size_t i, const Tensor& lost) {
  if (gradient_at_[i] >= 0) lost_of(shard).narrow(0, gradient_at_[i], params_[i].numel()).copy_(lost.view({-1}));
}

void Unit::begin() { left_ = false, passes_ = 0; }

void Unit::give(double by) {
  if (!sum_) return;
  const CategoryScope scope(Category::gradient);
  NoGrad guard;
  const Tensor sum = sum_->take();
  sum_.reset();
  const int64_t begin = slices_[size_t(sharing_->group.rank())].begin;
  if (by != 1) sum.div_(by);
  for (size_t i = 0; i < params_.size(); ++i) {
    if (!mine(i) || gradient_at_[i] < 0) continue;
    const Tensor& p = params_[i];
    if (!device_.is_meta() && sum.select(0, count_at_[i] - begin).item() == 0) continue;
    p.set_grad(sum.narrow(0, gradient_at_[i] - begin, p.numel()).view(p.sizes()).to(p.dtype()));
  }
}

std::vector<std::shared_ptr<Unit>> make_units(nn::Module& model, const std::shared_ptr<Sharing>& sharing) {
  // Which element of a list a module is in, by their names; others are the model's.
  std::vector<std::pair<std::string, nn::Module*>> places;
  for (auto& [name, list] : model.named_modules()) {
    if (std::string_view(list->kind()) != "ModuleList") continue;
    const bool inside = std::any_of(places.begin(), places.end(), [&](auto& p) { return name.starts_with(p.first + "."); });
    if (inside) continue;
    for (auto& [key, element] : list->children())
      if (element) places.emplace_back(name.empty() ? key : name + "." + key, element);
  }
  std::map<TensorImpl*, std::set<size_t>> readers;  // places.size(): the model
  for (auto& [name, module] : model.named_modules()) {
    const auto at =
        std::find_if(places.begin(), places.end(), [&](auto& p) { return name == p.first || name.starts_with(p.first + "."); });
    for (auto& [key, slot] : module->own_parameters())
      if (slot->defined()) readers[slot->impl()].insert(size_t(at - places.begin()));
  }
  std::vector<std::vector<Tensor>> params(places.size() + 1);
  for (const Tensor& p : model.parameters()) {
    const std::set<size_t>& all = readers[p.impl()];
    params[all.size() == 1 ? *all.begin() : places.size()].push_back(p);
  }
  std::vector<std::shared_ptr<Unit>> units;
  for (size_t i = 0; i < params.size(); ++i) {
    nn::Module& module = i < places.size() ? *places[i].second : model;
    if (params[i].empty() && i < places.size()) continue;
    units.push_back(std::make_shared<Unit>(module, std::move(params[i]), sharing));
    module.add_hook(units.back());
    if (i < places.size()) sharing->inner_bytes += units.back()->bytes();
  }
  return units;
}

}  // namespace dyadic::inline v1::distributed
