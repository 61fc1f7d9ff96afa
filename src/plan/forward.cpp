#include "plan/forward.h"

#include <algorithm>
#include <atomic>

#include "plan/cost.h"

namespace dyadic::inline v1::planning {
namespace {

constexpr int kValueBits = 24;
std::atomic<uint64_t> g_forwards{1};

// Whether the call has just made it: nobody else knows it.
bool is_new(const Tensor& t) {
  if (!t.defined()) return false;
  const TensorImpl& i = *t.impl();
  return i.refs.load() == 1 && i.storage->refs.load() == 1 && !i.storage->free_foreign && !i.storage->deferred;
}

}  // namespace

bool Choice::any() const { return std::find(again.begin(), again.end(), true) != again.end(); }

Forward::Forward(const Choice* choice, Recording* recording)
    : choice_(choice),
      recording_(recording),
      tag_(g_forwards.fetch_add(1) << kValueBits),
      packs_([this](const Tensor& t) { return pack(t); }),
      packed_before_(std::exchange(t_pack, &packs_)) {}
Forward::~Forward() { t_pack = packed_before_; }

int Forward::number(const Storage& s) const {
  if (s.free_foreign || s.deferred) return -1;
  const auto tag = reinterpret_cast<uint64_t>(s.foreign);
  return (tag >> kValueBits) == (tag_ >> kValueBits) ? int(tag & ((1u << kValueBits) - 1)) : -1;
}

void Forward::called(const Call& c) {
  if ((t_modes & kForget) || c.op.kind == OpKind::view) return;
  bool fresh = c.nout > 0;
  for (int j = 0; j < c.nout; ++j) fresh &= !c.out[j].defined() || is_new(c.out[j]);
  if (recording_) written(c);
  if (fresh && values_ + c.nout < (1 << kValueBits)) made(c);
}

void Forward::made(const Call& c) {
  const int first = values_;
  for (int j = 0; j < c.nout; ++j) {
    repeated_.emplace_back();
    if (c.out[j].defined()) c.out[j].impl()->storage->foreign = reinterpret_cast<void*>(tag_ | uint64_t(values_));
    ++values_;
  }
  if (recording_) record(c, first);
  if (choice_ && choice_->repeats(calls_, c.id)) {
    const auto call = std::make_shared<RepeatedCall>(c, [this](const Tensor& t) { return instead_of(t); });
    std::vector<std::shared_ptr<Repeated>> results = RepeatedCall::results(call, c);
    std::move(results.begin(), results.end(), repeated_.begin() + first);
  } else if (choice_ && choice_->stows(calls_, c.id)) {
    for (int j = 0; j < c.nout; ++j) {
      const Tensor& t = c.out[j];
      if (!t.defined() || t.impl()->storage->bytes < kWorthStowing || t.dtype().is_blocked() || t.device().is_cuda()) continue;
      repeated_[size_t(first + j)] = std::make_shared<Repeated>();
      repeated_[size_t(first + j)]->dtype = t.dtype();
    }
  }
  ++calls_;
}

void Forward::record(const Call& c, int first) {
  const int id = int(recording_->calls.size());
  RecordedCall call{c.id, seconds_of(c, kTypical), {}, first, c.nout, !c.op.writes};
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) {
    const Storage& s = *t.impl()->storage;
    const int v = number(s);
    if (v >= 0 && v < first) {
      call.reads.push_back(v);
      readers_[size_t(v)].push_back(id);
    } else if (v < 0) {
      outside_.emplace_back(&s, id);
    }
  });
  recording_->calls.push_back(std::move(call));
  for (int j = 0; j < c.nout; ++j) {
    recording_->values.push_back({id, c.out[j].defined() ? c.out[j].impl()->storage->charged : 0});
    readers_.emplace_back();
  }
}

// Neither what was written since it was made nor what has read it can be computed again.
void Forward::written(const Call& c) {
  auto write = [&](const Tensor& t) {
    const Storage& s = *t.impl()->storage;
    if (const int v = number(s); v >= 0) {
      recording_->values[size_t(v)].written = true;
      recording_->calls[size_t(recording_->values[size_t(v)].call)].repeatable = false;
      for (int reader : readers_[size_t(v)]) recording_->calls[size_t(reader)].repeatable = false;
    } else {
      for (auto& [storage, reader] : outside_)
        if (storage == &s) recording_->calls[size_t(reader)].repeatable = false;
    }
  };
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
    if (c.op.writes & in(std::min(k, 7))) write(t);
  });
  for (int j = 0; j < c.nout; ++j)
    if (c.out[j].defined() && !is_new(c.out[j])) write(c.out[j]);
}

std::shared_ptr<Repeated> Forward::instead_of(const Tensor& t) {
  const int v = number(*t.impl()->storage);
  if (v < 0 || !repeated_[size_t(v)]) return nullptr;
  const auto file = [this] {
    if (!file_) file_ = std::make_shared<StowFile>(folder_);
    return file_;
  };
  return repeated_[size_t(v)]->is_of(t, file) ? repeated_[size_t(v)] : nullptr;
}

Unpack Forward::pack(const Tensor& t) {
  if (recording_)
    if (const int v = number(*t.impl()->storage); v >= 0) recording_->values[size_t(v)].saved = true;
  if (std::shared_ptr<Repeated> instead = instead_of(t))
    return [instead, place = Place(*t.impl())] { return place.in(instead->get()); };
  return packed_before_ ? (*packed_before_)(t) : Unpack();
}

}  // namespace dyadic::inline v1::planning
