// The end of a recorded run: what leaves the step, what it has changed beside memory, what others hold of it.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "corridor/run.h"
#include "dyadic/nn.h"
#include "graph/recorder.h"

namespace dyadic::inline v1::graph {
namespace {

// Whether backward has been through what made `t`, so that it fails there from now on.
bool is_used_up(Node* node) {
  std::vector<Node*> todo = {node};
  std::unordered_set<Node*> seen;
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    if (n->released) return true;
    for (int i = 0; i < n->nin; ++i)
      if (Node* before = n->edges[i].node; before && seen.insert(before).second) todo.push_back(before);
  }
  return false;
}

// How many of them are views of it.
int views_of(const TensorImpl* base, std::span<const Tensor> results) {
  std::set<const TensorImpl*> views;
  for (const Tensor& t : results)
    if (t.defined() && t.impl()->base == base) views.insert(t.impl());
  return int(views.size());
}

}  // namespace

Layout layout_of(const TensorImpl& t) {
  Layout l;
  l.dtype = t.dtype;
  l.ndim = t.ndim;
  l.offset = t.offset;
  std::copy_n(t.sizes, t.ndim, l.sizes);
  std::copy_n(t.strides, t.ndim, l.strides);
  return l;
}
bool Layout::operator==(const Layout& o) const {
  return place == o.place && dtype == o.dtype && ndim == o.ndim && offset == o.offset &&
         std::equal(sizes, sizes + ndim, o.sizes) && std::equal(strides, strides + ndim, o.strides);
}

// A result that was there before, or shows memory that was.
bool Recorder::finish_old(const Tensor& t, StepResult& r) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (t.is_same(arguments_[i])) r.argument = int(i);
  if (r.argument >= 0) return true;
  r.layout = layout_of(*t.impl());
  for (size_t i = 0; i < arguments_.size() && r.argument < 0; ++i) {
    const Tensor& of = arguments_[i];
    if (!of.defined() || of.impl()->storage != t.impl()->storage || of.dtype() != t.dtype()) continue;
    r.argument = int(i);
    r.is_view = true;
    r.layout.offset -= of.storage_offset();
  }
  if (r.argument < 0) r.same = t;
  if (r.is_view && t.requires_grad()) refuses("a result is a view of an argument that has a history");
  return step_->refused.empty();
}

void Recorder::finish_results(std::span<const Tensor> results) {
  for (const Tensor& t : results) {
    StepResult& r = step_->results.emplace_back();
    if (!t.defined()) continue;
    const int slot = known(t.impl()->storage);
    if (slot < kUnseen || (slot >= 0 && step_->slots[size_t(slot)].kind != Slot::Kind::made)) {
      if (!finish_old(t, r)) return;
      continue;
    }
    if (slot == kUnseen || (!step_->slots[size_t(slot)].written && t.numel()))
      return refuses("a result that no call has written");
    leaves(*t.impl(), r.layout);
    if (!t.requires_grad()) continue;
    Node* node = t.impl()->node;
    if (!node) return refuses("a result is a new leaf");
    if (!is_used_up(node))
      return refuses(
          "a result has a history that backward has not been through: compile the whole step, or run it under no_grad");
    r.has_history = true;
    r.history = {node->id, node->shown};
  }
}

void Recorder::finish_versions() {
  for (size_t k = 0; k < versions_.size(); ++k) {
    Slot& s = step_->slots[k];
    if (s.kind == Slot::Kind::constant || (s.kind == Slot::Kind::made && !s.leaves)) continue;
    const bool before = s.kind == Slot::Kind::state || s.kind == Slot::Kind::argument;
    if (before || known(versions_[k].first) == int(k)) s.writes = versions_[k].first->version.load() - versions_[k].second;
  }
}

void Recorder::finish_modules() {
  for (SeenModule& s : step_->modules) {
    auto& m = *static_cast<nn::Module*>(s.module);
    s.training = m.training();
    for (auto* list : {&m.own_parameters(), &m.own_buffers()})
      for (auto& [name, t] : *list) s.entries.emplace_back(t, t->impl());
  }
}

// What the step has made, is still there, and neither a result nor a gradient: the program keeps it.
void Recorder::check_held(std::span<const Tensor> results, int holders) {
  std::unordered_map<const Storage*, std::set<const TensorImpl*>> left;
  std::unordered_map<const TensorImpl*, int> times;
  for (const Tensor& t : results)
    if (t.defined()) {
      left[t.impl()->storage].insert(t.impl()), times[t.impl()] += holders;
      if (const TensorImpl* base = t.impl()->base; base && base->refs.load() == views_of(base, results))
        left[base->storage].insert(base);
    }
  for (const Leaf& l : step_->leaves)
    if (const AutoMeta* m = l.tensor.impl()->meta; m && m->grad.defined()) left[m->grad.impl()->storage].insert(m->grad.impl());
  const std::lock_guard lock(mutex_);
  for (auto [s, slot] : known_) {
    if (slot < kUnseen || (slot >= 0 && step_->slots[size_t(slot)].kind != Slot::Kind::made &&
                           step_->slots[size_t(slot)].kind != Slot::Kind::constant))
      continue;
    const std::string maker = slot >= 0 ? step_->slots[size_t(slot)].maker : "";
    const auto it = left.find(s);
    bool held = size_t(s->refs.load()) != (it == left.end() ? 0 : it->second.size());
    if (it != left.end() && holders)
      for (const TensorImpl* t : it->second)
        if (const auto n = times.find(t); n != times.end()) held |= t->refs.load() != n->second;
    if (held)
      return refuses(fmt::format("something that {} made is held after the step", maker.empty() ? "the program" : maker));
  }
}

std::shared_ptr<Step> Recorder::finish(std::span<const Tensor> results, int holders) {
  if (!whole_) return nullptr;
  if (trace_) trace_writes();
  if (!stopped()) {
    finish_results(results);
    finish_versions();
    finish_modules();
    const GeneratorState now = generator_state();
    if (now.seed != drawn_.seed || now.calls != drawn_.calls) refuses("random numbers that no call draws");
    if (step_->structure != g_structure.load()) refuses("a module, a tensor's memory or a hook changes");
  }
  if (step_->refused.empty()) check_held(results, holders);
  return step_;
}

// What two runs have in common, in the order in which they came.

namespace {

std::string slot_difference(const Slot& a, const Slot& b) {
  if (a.kind != b.kind || a.index != b.index) return "reads another tensor";
  if (a.kind == Slot::Kind::state && (a.storage != b.storage || a.data != b.data)) return "reads other memory each time";
  if (a.kind == Slot::Kind::constant && a.value != b.value) return "a number differs";
  if (a.bytes != b.bytes && a.kind == Slot::Kind::made) return "memory of another size";
  if (a.kind == Slot::Kind::gradient && !(a.entry == b.entry)) return "another gradient";
  return a.leaves != b.leaves || a.writes != b.writes ? "it is written otherwise" : "";
}

// One tensor, or views of one memory.
bool shows_same(const Tensor& a, const Tensor& b) {
  if (a.is_same(b) || !a.defined() || !b.defined()) return a.is_same(b);
  return a.impl()->storage == b.impl()->storage && !a.requires_grad() && !b.requires_grad();
}

std::string named(const Instruction& i, size_t k) {
  return fmt::format("call {}, {}{}{}", k + 1, i.name, i.where.empty() ? "" : ", ", i.where);
}

}  // namespace

std::string difference(const Step& a, const Step& b) {
  if (a.key != b.key || a.arguments.size() != b.arguments.size()) return "other arguments or modes";
  for (size_t i = 0; i < a.arguments.size(); ++i)
    if (!(a.arguments[i].layout == b.arguments[i].layout) || a.arguments[i].flags != b.arguments[i].flags)
      return fmt::format("argument {} is another kind of tensor", i);
  const size_t n = std::min(a.instructions.size(), b.instructions.size());
  for (size_t k = 0; k < n; ++k) {
    const Instruction &x = a.instructions[k], &y = b.instructions[k];
    if (x.key != y.key || x.leaf != y.leaf || bool(x.again) != bool(y.again) || x.name != y.name)
      return named(y, k) + ": another call, or other numbers";
    if (x.places.size() != y.places.size()) return named(y, k) + ": another number of tensors";
    for (size_t i = 0; i < x.places.size(); ++i) {
      if (!(x.places[i] == y.places[i])) return named(y, k) + ": it reads or writes elsewhere";
      if (x.places[i].slot < 0) continue;
      const size_t s = size_t(x.places[i].slot);
      if (const std::string d = slot_difference(a.slots[s], b.slots[s]); !d.empty()) return named(y, k) + ": " + d;
    }
    if (x.leaf >= 0 && !(x.gradient == y.gradient)) return named(y, k) + ": another gradient";
  }
  if (a.instructions.size() != b.instructions.size())
    return fmt::format("{} calls, then {}", a.instructions.size(), b.instructions.size());
  if (a.slots.size() != b.slots.size()) return "other memory";
  if (a.leaves.size() != b.leaves.size()) return "other leaves";
  for (size_t i = 0; i < a.leaves.size(); ++i)
    if (!a.leaves[i].tensor.is_same(b.leaves[i].tensor) || a.leaves[i].had_gradient != b.leaves[i].had_gradient)
      return "gradients that were there before, or not";
  if (a.results.size() != b.results.size()) return "another number of results";
  for (size_t i = 0; i < a.results.size(); ++i) {
    const StepResult &x = a.results[i], &y = b.results[i];
    if (!(x.layout == y.layout) || x.argument != y.argument || x.is_view != y.is_view || !shows_same(x.same, y.same) ||
        x.has_history != y.has_history)
      return fmt::format("result {} is another kind of tensor", i);
  }
  return "";
}

}  // namespace dyadic::inline v1::graph
