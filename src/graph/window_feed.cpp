// What is put off on its way to a call that reads it band by band.
#include <algorithm>

#include "base/clock.h"
#include "graph/window.h"

namespace dyadic::inline v1::graph {

// What the call before which all was computed might have been fed: it will be from the next run on, where that saves memory.
void Window::might_feed(const Call& c) {
  Feed feed(c.plan, passed_->numel, true);
  bool any = false;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
    if (!any && t.numel() == passed_->numel) any = feed.add(k, k, true, t.dtype().itemsize());
  });
  int64_t results = 0;
  for (int j = 0; j < c.nout; ++j)
    if (c.out[j].defined()) results += c.out[j].impl()->storage->charged;
  if (any && feed.plan() && feed.saves(kept_, results) && !passed_->feeds(c.id)) passed_->fed.push_back(c.id);
}

// What is read by this call alone passes on to it and is in memory nowhere: it stays put off until it is gone, or wanted. That
// nobody else will want it cannot be known; where somebody did, it is there from the next run on.
bool Window::feed(const Call& c, void* workspace) {
  if (!holds_ && !passed_) return false;
  const std::lock_guard lock(mutex_);
  if (!count_) {
    if (passed_) might_feed(c);
    return false;
  }
  const bool in_place = std::any_of(written_, written_ + count_, [](const char* w) { return w; });
  Feed feed(c.plan, at_->numel, kept_ > 0);
  uint64_t passing = 0;
  bool all = true;
  std::vector<int> sources;
  void *in[kMostFedInputs] = {}, *out[kMaxOutputs] = {};
  const int inputs = for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
    const TensorImpl& i = *t.impl();
    if (!i.storage->deferred) return;
    const int source = result_of(i);
    if (source >= 0 && (fed_ >> source & 1)) calls_[source]->stays = true;  // a second call reads it
    const bool passes = source >= 0 && !in_place && !calls_[source]->stays;
    all = all && source >= 0 && feed.add(k, source, passes, i.dtype.itemsize());
    if (passes) passing |= uint64_t(1) << source;
    sources.push_back(source);
  });
  if (!all || sources.empty() || inputs > kMostFedInputs || !feed.plan()) return false;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
    if (!t.impl()->storage->deferred) in[k] = t.impl()->data();
  });
  for (int j = 0; j < c.nout; ++j)
    if (c.out[j].defined()) out[j] = c.out[j].impl()->data();
  const uint64_t stays = held() & ~passing;
  Program& p = recording_->program(*at_, {calls_, size_t(count_)}, outside_, stays | passing, {c.name, sources, passing});
  char* memory[kMostCalls + kMostOutside] = {};
  Tensor room;
  try {
    const CategoryScope scope(Category::workspace);
    const int64_t bytes[] = {feed.workspace()};
    room = make_tensor(bytes, u8, cpu);
    allocate(stays, memory);
  } catch (const OutOfMemoryError&) {
    return false;  // to be heard of when it runs by itself
  }
  const Pointers at{in, out, workspace};
  if (recorder_) recorder_->fed(p.plan, p.text, operands(memory), c, at, feed);
  const double begin = seconds_now();
  feed.run(*p.plan, c.plan, memory, at, static_cast<char*>(room.impl()->storage->data));
  p.seconds += seconds_now() - begin;
  ++p.runs;
  give(stays, memory);
  calls_[0]->alone = 0;
  passing ? void(fed_ |= passing) : forget();
  return true;
}

}  // namespace dyadic::inline v1::graph
