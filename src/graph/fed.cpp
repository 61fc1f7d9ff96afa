#include "graph/fed.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"

namespace dyadic::inline v1::graph {

// Two threads of a Zen 4 gain 0 to 7 % at 2 MB and 20 to 70 % at 16 MB; bands of 64 KB and of 256 KB are alike.
int64_t g_least_fed = 256 << 10, g_band = 128 << 10;

namespace {

constexpr int64_t kMostBand = 1 << 20;  // bytes: more does not stay in a second-level cache

int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

bool Feed::add(int input, int value, bool passes, int64_t itemsize) {
  for (int i = 0; i < count_; ++i)
    if (inputs_[i].value == value) return false;
  if (count_ == kMostFed || input >= kMostFedInputs || !(parts_.reads >> input & 1)) return false;
  const bool over = passes && (parts_.over >> input & 1);
  if (over) parts_.over = 0;
  inputs_[count_++] = {input, value, passes && !over, over, itemsize};
  return true;
}

bool Feed::plan() {
  int64_t bytes = 0;
  for (int i = 0; i < count_; ++i) bytes += parts_.elements * inputs_[i].itemsize;
  if (numel_ < g_least_fed || bytes == 0 || bytes > kMostBand) return false;
  DY_ASSERT((parts_.count - 1) * parts_.elements < numel_ && numel_ <= parts_.count * parts_.elements);
  each_ = std::max<int64_t>(1, g_band / bytes);
  for (int i = 0; i < count_; ++i)
    if (inputs_[i].passes) scratch_ += padded(each_ * parts_.elements * inputs_[i].itemsize);
  return parts_.count > each_;
}

bool Feed::saves(int64_t kept, int64_t results) const {
  int64_t passes = 0;
  for (int i = 0; i < count_; ++i) passes += inputs_[i].passes || inputs_[i].over ? numel_ * inputs_[i].itemsize : 0;
  return kept + results + workspace() <= passes + std::max(kept, results);
}

int64_t Feed::workspace() const { return padded(parts_.workspace) + num_threads() * scratch_; }

bool Feed::run_bands(const FusedPlan& pass, const Plan& call, char** memory, const Pointers& at, char* room) const {
  char* const bands = room + padded(parts_.workspace);
  for (int i = 0; i < count_; ++i) {
    if (inputs_[i].passes) memory[inputs_[i].value] = bands;  // apart from all others
    if (inputs_[i].over) memory[inputs_[i].value] = static_cast<char*>(at.out[0]);
  }
  const FusedPlan::Ready ready(pass, memory);
  Pointers whole = at;
  if (parts_.workspace) whole.workspace = room;
  parallel_for((parts_.count + each_ - 1) / each_, 1, [&](int64_t first, int64_t last) {
    char* own[kMostValues];
    std::copy_n(memory, pass.values().size(), own);
    void* in[kMostFedInputs];
    std::copy_n(at.in, kMostFedInputs, in);
    Pointers part = whole;
    part.in = in;
    for (int64_t band = first; band < last; ++band) {
      const int64_t begin = band * each_, end = std::min(parts_.count, begin + each_), element = begin * parts_.elements;
      char* free = bands + thread_index() * scratch_;
      for (int i = 0; i < count_; ++i) {
        const Input& input = inputs_[i];
        if (input.passes) {
          own[input.value] = free - element * input.itemsize;
          free += padded(each_ * parts_.elements * input.itemsize);
        }
        in[input.input] = own[input.value];
      }
      pass.run_part(ready, own, element, std::min(numel_, end * parts_.elements), true);
      call.run_parts(part, begin, end);
    }
  });
  return call.finish_parts(whole);
}

void Feed::run(const FusedPlan& pass, const Plan& call, char** memory, const Pointers& at, char* room) const {
  if (run_bands(pass, call, memory, at, room)) return;
  std::vector<std::vector<char>> values;  // seldom: of two NaNs in a sum the whole call has another one
  void* in[kMostFedInputs];
  std::copy_n(at.in, kMostFedInputs, in);
  for (int i = 0; i < count_; ++i) {
    const Input& input = inputs_[i];
    if (input.passes) memory[input.value] = values.emplace_back(size_t(numel_ * input.itemsize + 64)).data();
    in[input.input] = memory[input.value];
  }
  pass.run(memory);
  call.run({in, at.out, at.workspace, at.draw});
}

std::shared_ptr<const Plan> Feed::together(std::shared_ptr<const FusedPlan> pass, std::shared_ptr<const Plan> call) const {
  struct Both {
    Feed feed;
    std::shared_ptr<const FusedPlan> pass;
    std::shared_ptr<const Plan> call;
    Plan plan;
    void run(const Pointers& at) const {
      char* memory[kMostValues];
      const size_t n = pass->values().size();
      std::transform(at.in, at.in + n, memory, [](void* p) { return static_cast<char*>(p); });
      char* const workspace = static_cast<char*>(at.workspace);
      feed.run(*pass, *call, memory, {at.in + n, at.out, workspace}, workspace + padded(feed.call_workspace_));
    }
  };
  auto both = std::make_shared<Both>(*this, std::move(pass), std::move(call));
  both->plan.workspace = padded(call_workspace_) + workspace();
  both->plan.set<[](const Both* const& b, const Pointers& at) { b->run(at); }>(static_cast<const Both*>(both.get()));
  return {both, &both->plan};
}

}  // namespace dyadic::inline v1::graph
