#include "graph/replay.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::graph {
namespace {

constexpr int64_t kAlign = 64;
int64_t aligned(int64_t n) { return (std::max<int64_t>(n, 1) + kAlign - 1) / kAlign * kAlign; }

// First fit among what is free between those that live now.
class Arena {
  std::map<int64_t, int64_t> free_;  // begin, bytes
  int64_t end_ = 0;

 public:
  int64_t take(int64_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      const auto [at, have] = *it;
      free_.erase(it);
      if (have > bytes) free_[at + bytes] = have - bytes;
      return at;
    }
    int64_t at = end_;
    if (auto last = free_.empty() ? free_.end() : std::prev(free_.end());
        last != free_.end() && last->first + last->second == end_) {
      at = last->first;
      free_.erase(last);
    }
    end_ = at + bytes;
    return at;
  }
  void give(int64_t at, int64_t bytes) {
    auto it = free_.emplace(at, bytes).first;
    if (auto next = std::next(it); next != free_.end() && at + bytes == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it == free_.begin()) return;
    if (auto before = std::prev(it); before->first + before->second == at) {
      before->second += it->second;
      free_.erase(it);
    }
  }
  int64_t end() const { return end_; }
};

}  // namespace

Replay::Replay(std::shared_ptr<const Step> step, const Step& before) : step_(std::move(step)) {
  for (size_t i = 0; i < step_->arguments.size(); ++i) {
    const ArgumentSeen &a = step_->arguments[i], &b = before.arguments[i];
    fixed_.push_back(a.storage == b.storage && a.data == b.data);
  }
  for (size_t k = 0; k < step_->slots.size(); ++k) {
    const Slot& s = step_->slots[k];
    if (s.kind == Slot::Kind::state) states_.emplace_back(s.storage.get(), s.data);
    if (s.kind == Slot::Kind::argument) argument_slots_.push_back(int(k));
    if (s.kind == Slot::Kind::gradient) gradient_slots_.push_back(int(k));
    if (s.writes) written_slots_.push_back(int(k));
  }
  std::sort(states_.begin(), states_.end());
  holders_.assign(states_.size(), 0);
  for (const SeenModule& m : step_->modules) {
    modules_.emplace_back(m.module, m.training);
    entries_.insert(entries_.end(), m.entries.begin(), m.entries.end());
  }
  for (const Leaf& l : step_->leaves) leaves_.emplace_back(l.tensor.impl(), l.had_gradient);
  for (size_t i = 0; i < step_->results.size(); ++i) same_.push_back(step_->results[i].same.is_same(before.results[i].same));
  arguments_.resize(step_->arguments.size());
  gradients_.resize(step_->leaves.size());
  made_.resize(step_->slots.size());
  lay_out();
  set_pointers();
}

// Where what stays in the step lies: constants for good, the rest from its first to its last instruction.
void Replay::lay_out() {
  const size_t n = step_->slots.size();
  std::vector<int64_t> offsets(n, -1);
  std::vector<std::vector<size_t>> begins(step_->instructions.size()), ends(begins.size());
  Arena arena;
  for (size_t k = 0; k < n; ++k) {
    const Slot& s = step_->slots[k];
    if (s.kind == Slot::Kind::constant) offsets[k] = arena.take(aligned(int64_t(s.value.size())));
    if (s.kind != Slot::Kind::made) continue;
    DY_ASSERT(s.first >= 0);
    if (s.leaves)
      leaving_.emplace_back(s.first, int(k));
    else
      begins[size_t(s.first)].push_back(k), ends[size_t(s.last)].push_back(k);
  }
  std::sort(leaving_.begin(), leaving_.end());
  for (const Instruction& i : step_->instructions)
    if (i.plan) workspace_bytes_ = std::max(workspace_bytes_, i.plan->workspace);
  const int64_t workspace = arena.take(aligned(workspace_bytes_));
  for (size_t i = 0; i < begins.size(); ++i) {
    for (const size_t k : begins[i]) offsets[k] = arena.take(aligned(step_->slots[k].room));
    for (const size_t k : ends[i]) arena.give(offsets[k], aligned(step_->slots[k].room));
  }
  arena_bytes_ = arena.end();
  const CategoryScope scope(Category::workspace);
  arena_ = make_tensor({arena_bytes_ + kAlign}, u8, cpu);
  auto* base = static_cast<char*>(arena_.impl()->storage->data);
  base += -reinterpret_cast<uintptr_t>(base) % kAlign;
  workspace_ = base + workspace;
  at_.assign(n, nullptr);
  for (size_t k = 0; k < n; ++k) {
    if (offsets[k] < 0) continue;
    at_[k] = base + offsets[k];
    const std::string& value = step_->slots[k].value;
    if (!value.empty()) std::memcpy(at_[k], value.data(), value.size());
  }
}

void Replay::set_pointers() {
  patches_.resize(step_->slots.size());
  first_layout_.resize(step_->slots.size());
  for (const Instruction& i : step_->instructions) {
    runs_.push_back({i.plan.get(), i.fused.get(), int(pointers_.size()), i.inputs});
    for (const Place& p : i.places) {
      void* to = nullptr;
      if (p.slot >= 0) {
        const Slot& s = step_->slots[size_t(p.slot)];
        const bool moves = s.kind == Slot::Kind::argument || s.kind == Slot::Kind::gradient || s.leaves;
        if (moves)
          patches_[size_t(p.slot)].push_back({int(pointers_.size()), p.offset});
        else if (s.kind == Slot::Kind::state)
          to = static_cast<char*>(s.data) + p.offset;
        else
          to = at_[size_t(p.slot)] + p.offset;
      }
      pointers_.push_back(to);
    }
    if (i.gradient.place.slot >= 0) first_layout_[size_t(i.gradient.place.slot)] = &i.gradient;
  }
  for (const StepResult& r : step_->results)
    if (r.layout.place.slot >= 0 && !first_layout_[size_t(r.layout.place.slot)])
      first_layout_[size_t(r.layout.place.slot)] = &r.layout;
}

void Replay::patch(int slot, void* base) {
  for (const Patch& p : patches_[size_t(slot)]) pointers_[size_t(p.pointer)] = static_cast<char*>(base) + p.offset;
}

// Those that were apart are, and apart from states; those that shared memory do so in the same way.
bool Replay::arguments_fit(std::span<const Tensor> arguments) {
  if (arguments.size() != arguments_.size()) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentSeen& was = step_->arguments[i];
    if (arguments[i].defined() != bool(was.storage)) return false;
    if (!was.storage) continue;
    ArgumentSeen& now = arguments_[i] = seen(arguments[i]);
    if (!now.data || !(now.layout == was.layout) || now.flags != was.flags) return false;
    const bool same = now.storage == was.storage && now.data == was.data;
    if (fixed_[i] && !same) return false;
    const auto state = std::lower_bound(states_.begin(), states_.end(), std::pair<const Storage*, void*>(now.storage, nullptr));
    if (!same && state != states_.end() && state->first == now.storage) return false;
    for (size_t j = 0; j < i; ++j) {
      if (!step_->arguments[j].storage) continue;
      const bool shared = arguments_[j].storage == now.storage, shared_then = step_->arguments[j].storage == was.storage;
      if (shared != shared_then || (shared && now.data - arguments_[j].data != was.data - step_->arguments[j].data))
        return false;
    }
  }
  return true;
}

void Replay::count_holders(const std::map<const Storage*, int>& of_steps) {
  holders_.clear();
  for (auto& [storage, data] : states_) holders_.push_back(of_steps.at(storage));
}

bool Replay::fits(const StepEntry& entry) {
  if (step_->structure != g_structure.load(std::memory_order_relaxed)) return false;
  for (size_t i = 0; i < states_.size(); ++i) {
    const Storage& s = *states_[i].first;
    if (s.data != states_[i].second || s.refs.load(std::memory_order_relaxed) <= holders_[i]) return false;
  }
  for (auto [module, training] : modules_)
    if (static_cast<const nn::Module*>(module)->training() != training) return false;
  for (auto [entry_of, tensor] : entries_)
    if (entry_of->impl() != tensor) return false;
  for (auto [leaf, had_gradient] : leaves_)
    if ((leaf->meta && leaf->meta->grad.defined()) != had_gradient) return false;
  if (!arguments_fit(entry.arguments)) return false;
  for (const int k : gradient_slots_) {
    const Slot& s = step_->slots[size_t(k)];
    const TensorImpl& g = *leaves_[size_t(s.index)].first->meta->grad.impl();
    if (!(layout_of(g) == s.entry)) return false;
    g.data();
  }
  return true;
}

Tensor Replay::shown(const Layout& l) const {
  const Tensor& base = made_[size_t(l.place.slot)];
  Layout own = layout_of(*base.impl());
  own.place = l.place;
  if (own == l) return base;
  return make_view(base, {l.sizes, size_t(l.ndim)}, {l.strides, size_t(l.ndim)}, l.offset);
}

// Memory for what leaves, in the form of the first tensor that shows it.
void Replay::make(int slot) {
  const Layout& l = *first_layout_[size_t(slot)];
  const int64_t whole[] = {step_->slots[size_t(slot)].bytes / l.dtype.itemsize()};
  Tensor& t = made_[size_t(slot)] = make_tensor({l.sizes, size_t(l.ndim)}, l.dtype, cpu);
  if (t.numel() != whole[0]) t = make_tensor(whole, l.dtype, cpu);
  patch(slot, t.impl()->storage->data);
}

void Replay::give(const Instruction& i) {
  AutoMeta& m = auto_meta(*step_->leaves[size_t(i.leaf)].tensor.impl());
  m.grad = Tensor();
  if (i.gradient.place.slot < 0) return;
  m.grad = shown(i.gradient);
  set_category(m.grad, Category::gradient);
}

void Replay::count_writes(const StepEntry& entry) {
  for (const int k : written_slots_) {
    const Slot& s = step_->slots[size_t(k)];
    Storage* storage = s.kind == Slot::Kind::state      ? s.storage.get()
                       : s.kind == Slot::Kind::argument ? entry.arguments[size_t(s.index)].impl()->storage
                       : s.kind == Slot::Kind::gradient ? gradients_[size_t(s.index)].impl()->storage
                                                        : made_[size_t(k)].impl()->storage;
    storage->version.fetch_add(s.writes, std::memory_order_relaxed);
  }
}

std::vector<Tensor> Replay::results(const StepEntry& entry) const {
  std::vector<Tensor> all;
  for (const StepResult& r : step_->results) {
    const Layout& l = r.layout;
    auto view_of = [&l](const Tensor& t, int64_t offset) {
      return make_view(t, {l.sizes, size_t(l.ndim)}, {l.strides, size_t(l.ndim)}, offset);
    };
    if (r.argument >= 0) {
      const Tensor& t = entry.arguments[size_t(r.argument)];
      all.push_back(r.is_view ? view_of(t, t.storage_offset() + l.offset) : t);
    } else if (l.place.slot < 0) {
      all.push_back(same_[all.size()] || !r.same.defined() ? r.same : view_of(r.same, l.offset));
    } else {
      Tensor t = shown(r.layout);
      if (r.has_history) attach_used_up(t, r.history);
      all.push_back(std::move(t));
    }
  }
  return all;
}

std::vector<Tensor> Replay::run(const StepEntry& entry) {
  struct Clear {
    std::vector<Tensor>&made, &gradients;
    ~Clear() {
      for (Tensor& t : made) t = Tensor();
      for (Tensor& t : gradients) t = Tensor();
    }
  } const clear{made_, gradients_};
  for (const int k : argument_slots_) patch(k, const_cast<char*>(arguments_[size_t(step_->slots[size_t(k)].index)].data));
  for (const int k : gradient_slots_) {
    const size_t leaf = size_t(step_->slots[size_t(k)].index);
    gradients_[leaf] = leaves_[leaf].first->meta->grad;
    patch(k, gradients_[leaf].impl()->storage->data);
  }
  size_t next = 0;
  for (size_t i = 0; i < runs_.size(); ++i) {
    for (; next < leaving_.size() && leaving_[next].first == int(i); ++next) make(leaving_[next].second);
    const Run& r = runs_[i];
    void** const at = pointers_.data() + r.pointer;
    if (r.plan) {
      Pointers p{at, at + r.inputs, workspace_};
      if (r.plan->draws) p.draw = next_draw();
      r.plan->run(p);
    } else if (r.fused) {
      r.fused->run(reinterpret_cast<char* const*>(at));
    } else if (const Instruction& other = step_->instructions[i]; other.again) {
      other.again();
    } else {
      give(other);
    }
  }
  count_writes(entry);
  ++runs;
  return results(entry);
}

}  // namespace dyadic::inline v1::graph
