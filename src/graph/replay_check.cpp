// Steps that are checked: the program runs, and the step once more on copies of what the program began with; after each call
// both have written the same bits.
#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "graph/replay.h"

namespace dyadic::inline v1::graph {

uint64_t hash_of(const void* at, int64_t bytes) {  // FNV-1a by words
  const auto* from = static_cast<const char*>(at);
  uint64_t h = 0xcbf29ce484222325u;
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, from + i, size_t(std::min<int64_t>(8, bytes - i)));
    h = (h ^ word) * 0x100000001b3u;
  }
  return h;
}

// The slot's memory as the program has it.
std::pair<const char*, int64_t> Recorder::memory(const Storage* s, int slot) const {
  const Slot& what = step_->slots[size_t(slot)];
  if (what.kind != Slot::Kind::argument) return {static_cast<const char*>(s->data), s->bytes};
  const ArgumentSeen& a = step_->arguments[size_t(what.index)];
  return {a.data, a.bytes};
}

void Recorder::trace_writes() {
  const size_t n = step_->instructions.size();
  if (!n || paused_ || trace_->hashes.size() >= n) return;
  trace_->hashes.resize(n);
  for (const int slot : step_->instructions.back().writes) {
    const Storage* s = versions_[size_t(slot)].first;
    const auto [at, bytes] = memory(s, slot);
    trace_->hashes.back().push_back(at ? hash_of(at, bytes) : 0);
    if (at && step_->instructions.back().number) trace_->parts[int(n) - 1].emplace_back(slot, std::string(at, size_t(bytes)));
  }
}

void Recorder::trace_part() {
  auto& left = trace_->parts[int(step_->instructions.size()) - 1];
  const std::lock_guard lock(mutex_);
  for (size_t k = 0; k < versions_.size(); ++k) {
    const Storage* s = versions_[k].first;
    const Slot& slot = step_->slots[k];
    if (!s || slot.kind == Slot::Kind::constant) continue;
    const bool lives = slot.kind == Slot::Kind::state || slot.kind == Slot::Kind::argument || known_.contains(s);
    if (!lives || !s->data) continue;
    const auto [at, bytes] = memory(s, int(k));
    left.emplace_back(int(k), std::string(at, size_t(bytes)));
  }
}

Replay::Snapshot Replay::snapshot(const StepEntry& entry) {
  Snapshot all(step_->slots.size());
  for (size_t k = 0; k < all.size(); ++k) {
    const Slot& s = step_->slots[k];
    if (s.kind == Slot::Kind::state) all[k].assign(static_cast<const char*>(s.data), size_t(s.storage->bytes));
    if (s.kind == Slot::Kind::argument)
      all[k].assign(arguments_[size_t(s.index)].data, size_t(arguments_[size_t(s.index)].bytes));
    if (s.kind == Slot::Kind::gradient) {
      const Tensor g = step_->leaves[size_t(s.index)].tensor.grad();
      all[k].assign(static_cast<const char*>(g.impl()->storage->data), size_t(g.impl()->storage->bytes));
    }
    if (s.kind == Slot::Kind::constant) all[k] = s.value;
  }
  (void)entry;
  return all;
}

void Replay::check(const Step& program, const Snapshot& before, const StepTrace& trace) const {
  DY_CHECK(program.refused.empty(), "compile: check: the step would not have run its program, which cannot run again: {}",
           program.refused);
  const std::string other = difference(*step_, program);
  DY_CHECK(other.empty(), "compile: check: the program differs from the step that would have run without it: {}", other);
  const uint64_t seed = generator_state().seed;
  std::vector<Tensor> copies;
  for (size_t k = 0; k < step_->slots.size(); ++k) {
    const int64_t room = std::max<int64_t>(step_->slots[k].room, int64_t(before[k].size())) + 64;
    copies.push_back(make_tensor({room}, u8, cpu));
    if (!before[k].empty()) std::memcpy(copies[k].impl()->storage->data, before[k].data(), before[k].size());
  }
  const Tensor workspace = make_tensor({workspace_bytes_ + 64}, u8, cpu);
  auto at = [&](int slot) { return static_cast<char*>(copies[size_t(slot)].impl()->storage->data); };
  for (size_t i = 0; i < step_->instructions.size(); ++i) {
    const Instruction& now = step_->instructions[i];
    std::vector<void*> pointers;
    for (const Place& p : now.places) pointers.push_back(p.slot < 0 ? nullptr : at(p.slot) + p.offset);
    if (now.plan)
      now.plan->run({pointers.data(),
                     pointers.data() + now.inputs,
                     workspace.impl()->storage->data,
                     {seed, program.instructions[i].draw}});
    else if (now.fused)
      now.fused->run(reinterpret_cast<char* const*>(pointers.data()));
    if (const auto part = trace.parts.find(int(i)); part != trace.parts.end())
      for (auto& [slot, bytes] : part->second) std::memcpy(at(slot), bytes.data(), bytes.size());
    for (size_t k = 0; k < now.writes.size(); ++k) {
      const int slot = now.writes[k];
      const int64_t bytes =
          before[size_t(slot)].empty() ? step_->slots[size_t(slot)].bytes : int64_t(before[size_t(slot)].size());
      DY_CHECK(
          hash_of(at(slot), bytes) == trace.hashes[i][k],
          "compile: check: call {}, {}, writes other bits than in the program: something that no call shows is read or written",
          i + 1, now.name);
    }
  }
}

}  // namespace dyadic::inline v1::graph
