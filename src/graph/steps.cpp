#include "graph/steps.h"

#include <algorithm>

#include "base/text.h"

namespace dyadic::inline v1::graph {

Replay* Steps::find(const StepEntry& entry) {
  if (std::none_of(kept_.begin(), kept_.end(), [](const Kept& k) { return bool(k.replay); })) return nullptr;
  const std::string key = entry_key(entry);
  for (Kept& k : kept_)
    if (k.replay && k.step->key == key && k.replay->fits(entry)) return k.replay.get();
  return nullptr;
}

bool Steps::wants_recording() {
  if (pause_ == 0) return true;
  --pause_;
  return false;
}

// How many slots of kept steps hold each memory.
std::map<const Storage*, int> Steps::holders() const {
  std::map<const Storage*, int> held;
  for (const Kept& k : kept_)
    for (const Slot& s : k.step->slots)
      if (s.storage) ++held[s.storage.get()];
  return held;
}

// Steps of memory that nobody else has any more: a model in another dtype has left it.
void Steps::drop_stale() {
  const std::map<const Storage*, int> held = holders();
  std::erase_if(kept_, [&](const Kept& k) {
    return std::any_of(k.step->slots.begin(), k.step->slots.end(),
                       [&](const Slot& s) { return s.storage && s.storage->refs.load() == held.at(s.storage.get()); });
  });
}

void Steps::add(std::shared_ptr<Step> step) {
  drop_stale();
  keep(std::move(step));
  const std::map<const Storage*, int> held = holders();
  for (const Kept& k : kept_)
    if (k.replay) k.replay->count_holders(held);
}

void Steps::keep(std::shared_ptr<Step> step) {
  if (++in_vain_ >= kPatience) in_vain_ = 0, pause_ = kPause;
  if (!step->refused.empty()) {
    ++reasons_[step->refused];
    return;
  }
  std::string why;
  for (size_t i = kept_.size(); i-- > 0;) {
    const std::string d = difference(*kept_[i].step, *step);
    if (d.empty()) {
      in_vain_ = 0;
      const std::shared_ptr<Step> before = std::exchange(kept_[i].step, step);
      kept_[i].replay = std::make_unique<Replay>(std::move(step), *before);
      return;
    }
    if (why.empty()) why = d;
  }
  ++reasons_[kept_.empty() ? "the first of its kind" : "unlike the run before: " + why];
  if (kept_.size() == kMostKept) {
    const auto idle = std::find_if(kept_.begin(), kept_.end(), [](const Kept& k) { return !k.replay; });
    kept_.erase(idle == kept_.end() ? kept_.begin() : idle);
  }
  kept_.push_back({std::move(step), nullptr});
}

std::string Steps::explain(int64_t runs) const {
  std::string text = fmt::format("whole steps: {} ran again without the program, {} runs of it\n", replayed, runs);
  if (checked) text += fmt::format("  {} runs of it were checked: the step writes the same bits\n", checked);
  for (const Kept& k : kept_)
    if (k.replay)
      text += fmt::format("  {} instructions in {}, {} times\n", k.step->instructions.size(),
                          human_bytes(k.replay->arena_bytes()), k.replay->runs);
  for (const auto& [why, count] : reasons_) text += fmt::format("  the program ran: {} ({})\n", why, count);
  return text;
}

}  // namespace dyadic::inline v1::graph
