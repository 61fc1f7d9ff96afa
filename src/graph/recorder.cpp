#include "graph/recorder.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "corridor/run.h"
#include "dyadic/nn.h"
#include "dyadic/parallel.h"
#include "dyadic/precision.h"
#include "graph/call_key.h"

namespace dyadic::inline v1::graph {

std::string (*g_where)() = nullptr;

namespace {

constexpr int64_t kMostConstant = 4096;  // bytes: more is no constant, but a computation that no call shows
constexpr size_t kMostInstructions = 1 << 16;

}  // namespace

bool may_replay() { return !(t_modes & ~uint32_t(kNoGrad)); }

std::string entry_key(const StepEntry& entry) {
  std::string key(entry.key);
  append(key, t_modes & kNoGrad);
  append(key, t_inference);
  append(key, default_dtype().format());
  append(key, num_threads());
  key += get_float32_matmul_precision();
  return key;
}

ArgumentSeen seen(const Tensor& argument) {
  ArgumentSeen a;
  if (!argument.defined()) return a;
  const TensorImpl& t = *argument.impl();
  a.layout = layout_of(t);
  a.layout.offset = 0;
  a.flags = t.flags & (kRequiresGrad | kNumber | kView | kUncounted);
  a.storage = t.storage;
  if (t.device().is_meta()) return a;
  a.data = t.data();
  int64_t elements = t.numel > 0;
  for (int d = 0; d < t.ndim && t.numel; ++d) elements += (t.sizes[d] - 1) * t.strides[d];
  a.bytes = t.dtype.is_blocked() ? t.storage->bytes : elements * t.dtype.itemsize();
  return a;
}

Recorder::Recorder(const StepEntry& entry, bool whole, bool strict, StepTrace* trace)
    : thread_(std::this_thread::get_id()), whole_(whole), strict_(strict), trace_(trace) {
  step_->structure = g_structure.load();
  if (whole) {
    step_->key = entry_key(entry);
    arguments_.assign(entry.arguments.begin(), entry.arguments.end());
    for (const Tensor& t : arguments_) {
      step_->arguments.push_back(seen(t));
      if (t.defined() && t.is_meta()) step_->refused = "an argument is on meta";
    }
    drawn_ = generator_state();
    t_modes |= kWholeStep;
  }
  t_step_watcher = this;
}
Recorder::~Recorder() {
  if (t_step_watcher == this) t_step_watcher = nullptr;
  t_modes &= ~kWholeStep;
}

int Recorder::known(const Storage* s) {
  const std::lock_guard lock(mutex_);
  const auto it = known_.find(s);
  return it == known_.end() ? kUnknown : it->second;
}
void Recorder::know(const Storage* s, int what) {
  const std::lock_guard lock(mutex_);
  known_[s] = what;
}
void Recorder::born(const Storage& s) {
  if (whole_ && !paused_) know(&s, kUnseen);
}
void Recorder::died(const Storage& s) {
  if (trace_ && std::this_thread::get_id() == thread_) trace_writes();
  const std::lock_guard lock(mutex_);
  known_.erase(&s);
}

void Recorder::refuses(const std::string& why) {
  if (stopped()) return;
  step_->refused = why;
  if (const std::string where = g_where ? g_where() : ""; !where.empty()) step_->refused += ", " + where;
}

void Recorder::reads(const TensorImpl& t) {
  if (paused_) return;
  const int slot = whole_ ? known(t.storage) : kUnknown;
  if (slot == kUnseen && !stopped()) return;  // what the program has written itself
  const std::string maker = slot >= 0 ? step_->slots[size_t(slot)].maker : "";
  const std::string what = fmt::format("a value is read on the way: {}{}{}", describe(borrow(const_cast<TensorImpl*>(&t))),
                                       maker.empty() ? "" : " of ", maker);
  if (!strict_) return refuses(what);
  const std::string where = g_where ? g_where() : "";
  fail("compile: {}{}{}; leave it until the end, or compile without fullgraph", what, where.empty() ? "" : ", ", where);
}

// The argument that the memory is a part of, one that begins there before others; -1: none.
int Recorder::argument_of(const Storage* s, const char* at) const {
  int found = -1;
  for (size_t i = 0; i < step_->arguments.size(); ++i) {
    const ArgumentSeen& a = step_->arguments[i];
    if (a.storage != s) continue;
    if (a.data == at) return int(i);
    if (found < 0 && at >= a.data && at < a.data + a.bytes) found = int(i);
  }
  return found;
}

int Recorder::make_slot(Storage* s, void* data, int was, bool reads, const char* who) {
  Slot slot;
  slot.maker = who;
  slot.bytes = s->bytes;
  slot.room = std::max(s->bytes, s->charged);
  if (was == kUnseen && reads) {
    slot.kind = Slot::Kind::constant;
    if (s->bytes > kMostConstant) refuses(fmt::format("{} reads {} that no call has written", who, human_bytes(s->bytes)));
    if (s->data && s->bytes <= kMostConstant) slot.value.assign(static_cast<const char*>(s->data), size_t(s->bytes));
  } else if (was == kUnseen) {
    slot.kind = Slot::Kind::made;
  } else if (was <= kGradient) {
    slot.kind = Slot::Kind::gradient;
    slot.index = kGradient - was;
    slot.entry = layout_of(*step_->leaves[size_t(slot.index)].tensor.impl()->meta->grad.impl());
  } else {
    retain(s);
    slot.kind = Slot::Kind::state;
    slot.data = data;
    slot.storage = {s, [](Storage* held) { release(held); }};
  }
  step_->slots.push_back(std::move(slot));
  versions_.emplace_back(s, s->version.load());
  return int(step_->slots.size()) - 1;
}

Slot& Recorder::touch(int slot) {
  Slot& s = step_->slots[size_t(slot)];
  const int now = int(step_->instructions.size()) - 1;
  if (s.first < 0) s.first = now;
  s.last = now;
  return s;
}

Place Recorder::number(const void* at, int64_t bytes) {
  Slot slot;
  slot.kind = Slot::Kind::constant;
  slot.value.assign(static_cast<const char*>(at), size_t(bytes));
  step_->slots.push_back(std::move(slot));
  versions_.emplace_back(nullptr, 0);
  const int index = int(step_->slots.size()) - 1;
  touch(index);
  return {index, 0};
}

Place Recorder::place(Storage* s, const void* at, int64_t offset, Use use, const char* who) {
  const auto* address = static_cast<const char*>(at);
  int slot = known(s);
  if (const int argument = slot == kUnseen ? -1 : argument_of(s, address); argument >= 0) {
    std::vector<Slot>& all = step_->slots;
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&](const Slot& o) { return o.kind == Slot::Kind::argument && o.index == argument; });
    slot = int(it - all.begin());
    if (it == all.end()) {
      Slot made;
      made.kind = Slot::Kind::argument;
      made.index = argument;
      all.push_back(std::move(made));
      versions_.emplace_back(s, s->version.load());
    }
    touch(slot);
    if (use.writes) step_->instructions.back().writes.push_back(slot);
    return {slot, address - step_->arguments[size_t(argument)].data};
  }
  const bool fresh = slot == kUnseen;
  const bool needs_old = use.reads || (use.writes && !use.whole);
  if (slot < 0) know(s, slot = make_slot(s, const_cast<char*>(address) - offset, slot, needs_old, who));
  Slot& found = touch(slot);
  if ((fresh && use.writes && needs_old) || (use.writes && found.kind == Slot::Kind::constant) ||
      (!fresh && use.reads && found.kind == Slot::Kind::made && !found.written))
    refuses(fmt::format("{}: memory that no call has written", who));
  found.written |= use.writes;
  if (use.writes) step_->instructions.back().writes.push_back(slot);
  return {slot, offset};
}
Place Recorder::place(const TensorImpl& t, const void* at, Use use, const char* who) {
  return place(t.storage, at, static_cast<const char*>(at) - static_cast<const char*>(t.storage->data), use, who);
}

Instruction& Recorder::add(const char* name) {
  if (trace_) trace_writes();
  Instruction& i = step_->instructions.emplace_back();
  i.name = name;
  if (step_->instructions.size() > kMostInstructions) refuses("too many calls");
  return i;
}

void Recorder::runs(const Call& c, const Pointers& at) {
  if (!whole_ || stopped()) return;
  if (std::this_thread::get_id() != thread_) return refuses("another thread's calls");
  std::shared_ptr<const Plan> plan = plan_of(c);
  Instruction& now = add(c.name);
  now.key = key_of(c);
  now.plan = std::move(plan);
  add_places(c, at);
  if (now.plan->draws) now.draw = drawn_.calls++;
}

// Of what the call reads and writes; none of what has no pointer.
void Recorder::add_places(const Call& c, const Pointers& at) {
  Instruction& now = step_->instructions.back();
  auto whole = [](const TensorImpl& t) {
    return t.offset == 0 && t.contiguous() && (t.dtype.is_blocked() || t.numel * t.dtype.itemsize() == t.storage->bytes);
  };
  int k = 0;
  auto input = [&](const Tensor& t) {
    const TensorImpl& i = *t.impl();
    const void* const from = at.in[k];
    const bool writes = c.op.writes & in(std::min(k, 7)), overwritten = k == 0 && c.id == Op::copy_;
    ++k;
    now.places.push_back(!from               ? Place{}
                         : i.flags & kNumber ? number(from, i.numel * i.dtype.itemsize())
                                             : place(i, from, {!overwritten, writes || overwritten, whole(i)}, c.name));
  };
  for (int i = 0; i < c.nargs; ++i) {
    if (c.args[i].kind == Arg::Kind::none) now.places.emplace_back(), ++k;
    if (c.args[i].kind == Arg::Kind::tensor) input(*c.args[i].tensor);
    for (uint32_t j = 0; c.args[i].kind == Arg::Kind::tensors && j < c.args[i].n; ++j) input(c.args[i].tensor[j]);
  }
  now.inputs = int(now.places.size());
  for (int j = 0; j < c.nout; ++j)
    now.places.push_back(c.out[j].defined() ? place(*c.out[j].impl(), at.out[j], {false, true, whole(*c.out[j].impl())}, c.name)
                                            : Place{});
}

void Recorder::writes(const char* name, std::string key, std::unique_ptr<Plan> plan, const Tensor& out) {
  if (!whole_ || stopped()) return;
  Instruction& now = add(name);
  append_layout(key, *out.impl());
  now.key = std::move(key);
  now.plan = std::move(plan);
  const TensorImpl& t = *out.impl();
  const bool whole = t.offset == 0 && t.numel * t.dtype.itemsize() == t.storage->bytes;
  now.places = {place(t, t.data(), {false, true, whole}, name)};
}

void Recorder::checks(const char* name, std::string key, std::shared_ptr<const Plan> plan, std::span<const Tensor> read) {
  for (const Tensor& t : read) t.impl()->data();  // what is put off comes before
  if (!whole_ || stopped()) return;
  Instruction& now = add(name);
  now.plan = std::move(plan);
  for (const Tensor& t : read) {
    const TensorImpl& i = *t.impl();
    append_layout(key, i);
    const Place at =
        i.flags & kNumber ? number(i.data(), i.numel * i.dtype.itemsize()) : place(i, i.data(), {true, false, false}, name);
    now.places.push_back(at);
  }
  now.key = std::move(key);
  now.inputs = int(read.size());
}

void Recorder::number(const char* name, const double* from, const Tensor& out) {
  auto plan = std::make_unique<Plan>();
  plan->set<[](const double* const& number, const Pointers& at) { *static_cast<float*>(at.out[0]) = float(*number); }>(from);
  std::string key;
  append(key, from);
  writes(name, std::move(key), std::move(plan), out);
  if (whole_ && !stopped()) step_->instructions.back().number = true;
}

void Recorder::fused(std::shared_ptr<const FusedPlan> plan, const std::string& text, std::span<const FusedOperand> values) {
  if (!whole_ || stopped()) return;
  if (std::this_thread::get_id() != thread_) return refuses("another thread reads what is computed");
  Instruction& now = add(text.c_str());
  append(now.key, plan.get());
  now.fused = std::move(plan);
  add_values(text, values);
}
void Recorder::fed(const std::shared_ptr<const FusedPlan>& plan, const std::string& text, std::span<const FusedOperand> values,
                   const Call& c, const Pointers& at, const Feed& feed) {
  if (!whole_ || stopped()) return;
  if (std::this_thread::get_id() != thread_) return refuses("another thread reads what is computed");
  std::shared_ptr<const Plan> both = feed.together(plan, plan_of(c));
  Instruction& now = add(text.c_str());
  append(now.key, plan.get());
  now.key += key_of(c);
  now.plan = std::move(both);
  add_values(text, values);
  add_places(c, at);
}
void Recorder::add_values(const std::string& text, std::span<const FusedOperand> values) {
  Instruction& now = step_->instructions.back();
  for (const FusedOperand& v : values) {
    if (!v.at) {
      now.places.emplace_back();
    } else if (!v.storage) {
      now.places.push_back(number(v.at, v.bytes));
    } else {
      now.places.push_back(place(v.storage, v.at, v.offset, {!v.computed, v.computed, true}, text.c_str()));
    }
  }
}

void Recorder::leaf(TensorImpl& t) {
  if (!whole_ || stopped()) return;
  const Tensor before = t.meta ? t.meta->grad : Tensor();
  gradient_before_ = before.impl();
  if (!leaves_.emplace(&t, int(step_->leaves.size())).second) return;
  step_->leaves.push_back({borrow(&t), before.defined()});
  if (!before.defined()) return;
  const Storage* s = before.impl()->storage;
  if (known(s) == kUnknown && argument_of(s, before.impl()->data()) < 0) know(s, kGradient - int(step_->leaves.size()) + 1);
}

// A tensor that the step leaves, over memory made for it.
void Recorder::leaves(const TensorImpl& t, Layout& layout) {
  layout = layout_of(t);
  int slot = known(t.storage);
  if (slot == kUnseen) know(t.storage, slot = make_slot(t.storage, nullptr, slot, false, ""));
  Slot& s = touch(slot);
  s.leaves = true;
  layout.place = {slot, 0};
  if (t.dtype.is_blocked()) refuses("packed numbers leave the step");
}

void Recorder::gave(TensorImpl& leaf) {
  if (!whole_ || stopped()) return;
  const TensorImpl* now = leaf.meta && leaf.meta->grad.defined() ? leaf.meta->grad.impl() : nullptr;
  if (now == gradient_before_) return;
  Instruction& i = add("gradient");
  i.leaf = leaves_.at(&leaf);
  if (!now) return;
  const int slot = known(now->storage);
  if (slot < kUnseen || (slot >= 0 && step_->slots[size_t(slot)].kind != Slot::Kind::made))
    return refuses("a gradient that was there before the step");
  if (now->flags & kRequiresGrad) return refuses("a gradient that has a history");
  leaves(*now, i.gradient);
}

void Recorder::module(void* m) {
  if (!whole_ || stopped()) return;
  for (const SeenModule& s : step_->modules)
    if (s.module == m) return;
  step_->modules.push_back({m, false, {}});
}

void Recorder::begins(const char* name, std::string key, std::function<void()> again) {
  if (!whole_) return;
  if (!stopped()) {
    settle_all();
    Instruction& i = add(name);
    i.key = std::move(key);
    i.again = std::move(again);
    drawn_before_part_ = generator_state().calls;
    if (trace_) trace_writes();
    before_part_.clear();
    const std::lock_guard lock(mutex_);
    for (auto [s, slot] : known_)
      if (slot >= 0) before_part_.emplace_back(slot, s->version.load());
  }
  paused_ = true;
}
void Recorder::ends() {
  if (!whole_) return;
  try {
    settle_all();
  } catch (const Error&) {  // whoever reads what is missing hears of it
    paused_ = false;
    return refuses("memory was short");
  }
  paused_ = false;
  drawn_.calls += generator_state().calls - drawn_before_part_;
  if (trace_) trace_part();
  std::unordered_map<int, uint32_t> before(before_part_.begin(), before_part_.end());
  const std::lock_guard lock(mutex_);
  for (auto [s, slot] : known_)
    if (const auto it = before.find(slot); slot >= 0 && it != before.end())
      versions_[size_t(slot)].second += s->version.load() - it->second;
}

}  // namespace dyadic::inline v1::graph
