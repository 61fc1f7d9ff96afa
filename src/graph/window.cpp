#include "graph/window.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "corridor/run.h"

namespace dyadic::inline v1::graph {
namespace {

// Windows of all threads that may hold something: whoever writes settles them all.
struct Windows {
  std::mutex mutex;
  std::vector<Window*> all;
};
Windows& windows() {
  static Windows* w = new Windows;
  return *w;
}
constinit std::atomic<int> g_busy{0};  // windows among them

void add_window(Window* w) {
  const std::lock_guard lock(windows().mutex);
  windows().all.push_back(w);
  g_busy.fetch_add(1);
}
void remove_window(Window* w) {
  const std::lock_guard lock(windows().mutex);
  if (std::erase(windows().all, w)) g_busy.fetch_sub(1);
}
void settle_windows() {
  if (!g_busy.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(windows().mutex);
  for (Window* w : windows().all) w->settle();
}

constexpr uint32_t kAllowed = kNoGrad | kDeferring | kWholeStep | kForget | kAutocast | kAutocastOff;
constexpr int64_t kWorthFreeing = 4096;                        // bytes
constexpr const char* kOtherForm = "another thread's result";  // or one in another form: once settled a tensor like others

}  // namespace

[[gnu::constructor]] static void install_window() {
  g_settle = settle_windows;
  g_defer = [](const Invocation& v, const OpDef& op) { return window().defer(v, op); };
  g_feed = [](const Call& c, void* workspace) { return window().feed(c, workspace); };
  g_defer_in_place = [](const Invocation& v, const OpDef& op) { return window().defer_in_place(v, op); };
}

Window& window() {
  static thread_local Window w;
  return w;
}

bool Window::open(const std::shared_ptr<Recording>& recording, bool may_rest) {
  if (recording_) close();  // what an earlier run had no memory for
  if (recording->running.exchange(true)) return false;
  if (!recording->begins(may_rest)) return recording->running = false;
  if (recording->full()) recording->clear();
  recording_ = recording;
  at_ = &recording->root;
  passed_ = nullptr;
  add_window(this);
  return true;
}

void Window::close() {
  settle();
  remove_window(this);
  recording_->ends();
  recording_->running = false;
  recording_.reset();
}

Window::~Window() {
  if (!recording_) return;
  try {
    close();
  } catch (...) {  // there is no memory for what others still hold
    remove_window(this);
    recording_->running = false;
  }
}

void Window::settle() {
  const std::lock_guard lock(mutex_);
  if (count_) run();
}

static bool is_whole(const TensorImpl& t) {
  return t.contiguous() && t.offset == 0 && t.numel * t.dtype.itemsize() == t.storage->bytes;
}

// What is contiguous but for dimensions that repeat, as expand() makes them.
static bool is_dense_but_repeated(const TensorImpl& t, Input& in) {
  int64_t expected = 1;
  for (int d = t.ndim - 1; d >= 0; --d) {
    if (t.sizes[d] == 1) continue;
    if (t.strides[d] == 0) {
      in.repeated |= 1u << d;
    } else if (t.strides[d] == expected) {
      expected *= t.sizes[d];
    } else {
      return false;
    }
  }
  in.numel = expected;
  return true;
}

// The number of a tensor from outside.
int Window::find(const Input& in) {
  const TensorImpl& t = *in.tensor;
  if (t.flags & kNumber) {
    outsides_[seen_].storage = nullptr;
    std::memset(outsides_[seen_].number, 0, sizeof outsides_[seen_].number);
    std::memcpy(outsides_[seen_].number, t.data(), size_t(t.dtype.itemsize()));
    return kMostCalls + seen_++;
  }
  for (int k = 0; k < seen_; ++k) {
    const Outside& o = outsides_[k];
    if (o.storage == t.storage && o.offset == t.offset && o.format == t.dtype.format() && o.repeated == in.repeated &&
        o.ndim == t.ndim && std::equal(t.sizes, t.sizes + t.ndim, o.sizes))
      return kMostCalls + k;
  }
  Outside& o = outsides_[seen_];
  o.storage = t.storage;
  o.at = t.data();
  o.offset = t.offset;
  o.format = t.dtype.format();
  o.ndim = t.ndim;
  o.numel = in.numel;
  o.repeated = in.repeated;
  std::copy_n(t.sizes, t.ndim, o.sizes);
  return kMostCalls + seen_++;
}

// The call whose result, whole, a tensor without data is; -1: it is in another form, or another thread's.
int Window::result_of(const TensorImpl& t) const {
  const auto* result = static_cast<Storage**>(t.storage->foreign);
  if (!t.contiguous() || result < results_ || result >= results_ + count_) return -1;
  const Recorded& made = *calls_[result - results_];
  return t.offset == 0 && t.numel == made.numel && t.dtype == made.dtype ? int(result - results_) : -1;
}

// What the call reads; why it cannot be put off.
const char* Window::read(const Invocation& v, const Kind& kind, Input* in) {
  seen_ = outside_;
  for (int i = 0; i < kind.tensors; ++i) {
    in[i] = {};
    if (i >= v.n || v.args[i].kind == Arg::Kind::none) continue;
    const Arg& a = v.args[i];
    const TensorImpl& t = *a.tensor->impl();
    const Storage& s = *t.storage;
    in[i].tensor = &t;
    in[i].numel = t.numel;
    if (s.deferred) {
      if ((in[i].source = result_of(t)) < 0) return kOtherForm;
      if (fed_ >> in[i].source & 1) calls_[in[i].source]->stays = true;
      continue;
    }
    if (!t.contiguous() && !is_dense_but_repeated(t, in[i])) return "an operand that is strided";
    if (!t.device().is_cpu()) return "a tensor that is not on the cpu";
    if (t.dtype.is_blocked()) return "a packed dtype";
    if (s.lent || (s.free_foreign && !s.read_only)) return "memory that others may write";
    if (kind.in_place && i > 0 && &s == v.args[0].tensor->impl()->storage && !is_whole(t))
      return "it reads a part of what it writes";
    in[i].source = find(in[i]);
  }
  return nullptr;
}

// Results that somebody holds who would find no data.
uint64_t Window::held() const {
  uint64_t held = 0;
  for (int k = 0; k < count_; ++k)
    if (results_[k] && results_[k]->refs.load(std::memory_order_acquire) > 1) held |= uint64_t(1) << k;
  return held;
}

// Computes what is held, and begins anew.
void Window::run() {
  const uint64_t wanted = held();
  if (wanted) compute(wanted);
  calls_[0]->alone = count_ == 1 && !fed_ ? calls_[0]->alone + int(wanted) : 0;
  forget();
}
void Window::forget() {
  for (int k = 0; k < outside_; ++k)
    if (outsides_[k].storage) release(outsides_[k].storage);
  for (int k = 0; k < count_; ++k) {
    if (!results_[k]) continue;
    if (results_[k]->deferred && written_[k]) give_deferred(*results_[k], written_[k]);  // its memory, to be freed with it
    release(results_[k]);
  }
  count_ = outside_ = 0;
  fed_ = 0;
  at_ = &recording_->root;
}

// What this program reads and computes, for the step that is written down.
std::vector<Recorder::FusedOperand> Window::operands(char* const* memory) const {
  std::vector<Recorder::FusedOperand> values(size_t(kMostCalls + outside_));
  for (int k = 0; k < count_; ++k)
    if (memory[k]) values[size_t(k)] = {results_[k], memory[k], 0, 0, true};
  for (int i = 0; i < outside_; ++i) {
    const Outside& o = outsides_[i];
    Recorder::FusedOperand& v = values[size_t(kMostCalls + i)];
    if (o.storage)
      v = {o.storage, o.at, o.offset * o.format->itemsize(), 0, false};
    else
      v = {nullptr, o.number, 0, int64_t(sizeof o.number), false};
  }
  return values;
}

// Where values lie: of results those in `held`, whose memory is made; OutOfMemoryError, and none is.
void Window::allocate(uint64_t held, char** memory) {
  int k = 0;
  try {
    for (; k < count_; ++k)
      if (held >> k & 1) memory[k] = written_[k] ? written_[k] : static_cast<char*>(allocate_deferred(*results_[k]));
  } catch (...) {
    while (k-- > 0)
      if (memory[k] && !written_[k]) release_deferred(*results_[k], memory[k]);
    throw;
  }
  for (int i = 0; i < outside_; ++i) {
    Outside& o = outsides_[i];
    memory[kMostCalls + i] = o.storage ? o.at : o.number;
  }
}
void Window::give(uint64_t held, char* const* memory) {
  for (int k = 0; k < count_; ++k) {
    if (!(held >> k & 1)) continue;
    give_deferred(*results_[k], memory[k]);
    release(std::exchange(results_[k], nullptr));
  }
}

void Window::compute(uint64_t held) {
  for (int k = 0; k < count_; ++k)  // it has passed on, and was wanted all the same
    if (held & fed_ & uint64_t(1) << k) calls_[k]->stays = true;
  Program& p = recording_->program(*at_, {calls_, size_t(count_)}, outside_, held);
  char* memory[kMostCalls + kMostOutside] = {};
  allocate(held, memory);
  if (recorder_) recorder_->fused(p.plan, p.text, operands(memory));
  const double begin = seconds_now();
  p.plan->run(memory);
  p.seconds += seconds_now() - begin;
  ++p.runs;
  give(held, memory);
}

// The call's result is what `s` holds, whose memory, if there is some already, is `written`.
void Window::commit(Recorded& call, Storage* s, char* written) {
  holds_ = true;
  s->foreign = &results_[count_];
  results_[count_] = s;
  written_[count_] = written;
  calls_[count_++] = &call;
  for (; outside_ < seen_; ++outside_)
    if (Storage* read = outsides_[outside_].storage) retain(read);
  at_ = &call;
}

void Window::commit_fresh(Recorded& call, Tensor& result) {
  result = make_deferred({call.sizes, size_t(call.ndim)}, call.dtype);
  retain(result.impl()->storage);
  commit(call, result.impl()->storage, nullptr);
}

// What is written in place has no data until it is computed. Its old values are read by calls before this one alone.
void Window::commit_in_place(Recorded& call, Storage* s) {
  if (s->deferred) {
    auto* before = static_cast<Storage**>(s->foreign);
    char* const written = written_[before - results_];
    *before = nullptr;
    return commit(call, s, written);
  }
  char* const memory = static_cast<char*>(std::exchange(s->data, nullptr));
  s->deferred = true;
  retain(s);
  commit(call, s, memory);
}

// Whether parts of it are read by what was put off: at other places than where a call writes at the time.
bool Window::reads_parts_of(const TensorImpl& t) const {
  for (int k = 0; k < outside_; ++k)
    if (outsides_[k].storage == t.storage && (outsides_[k].offset != 0 || outsides_[k].numel != t.numel)) return true;
  return false;
}

bool Window::put_off(const Invocation& v, const Kind& kind, Tensor* result) {
  const std::lock_guard lock(mutex_);
  passed_ = nullptr;
  if (count_ == kMostCalls || outside_ + kMaxOperands > kMostOutside) run();
  if (kind.in_place && count_ && reads_parts_of(*v.args[0].tensor->impl())) run();
  Input in[kMaxOperands];
  for (;;) {
    const char* why = read(v, kind, in);
    bool again = why == kOtherForm;
    if (!why) {
      Recorded* call = recording_->match(*at_, v, kind, in);
      if (call && !count_ && !recorder_ && call->runs_alone()) return ++recording_->alone, false;
      if (call) ++recording_->matched;
      if (!call) call = recording_->record(*at_, v, kind, in, again);
      if (call && !kind.in_place) return commit_fresh(*call, *result), true;
      if (call) return commit_in_place(*call, v.args[0].tensor->impl()->storage), true;
    } else if (!again || !count_) {
      recording_->not_deferred(op_name(v.op), why);
    }
    if (!count_) return false;
    run();
    if (!again) return false;
  }
}

namespace {

bool is_small(const Invocation& v, const Kind& kind) {
  int64_t most = 0;
  for (int i = 0; i < kind.tensors; ++i)
    if (i < v.n && v.args[i].kind == Arg::Kind::tensor) most = std::max(most, v.args[i].tensor->impl()->numel);
  return most < g_least_deferred;
}

}  // namespace

// Before other calls. What is put off may wait, unless it keeps memory that would be free by now; or until the call reads it
// band by band.
void Window::let_pass(const Invocation& v) {
  passed_ = nullptr;
  kept_ = 0;
  if (!holds_) return;
  const std::lock_guard lock(mutex_);
  holds_ = count_ > 0;
  for (int k = 0; k < outside_; ++k) {
    const Storage* s = outsides_[k].storage;
    if (s && s->bytes >= kWorthFreeing && s->refs.load(std::memory_order_relaxed) == 1) kept_ += s->charged;
  }
  if (!kept_) return;
  bool reads = false;
  for_each_tensor(v.args, v.n, [&](const Tensor& t, int) {
    const int source = t.defined() && t.impl()->storage->deferred ? result_of(*t.impl()) : -1;
    reads |= source >= 0 && !calls_[source]->stays;
  });
  if (reads && at_->feeds(v.op)) return;
  passed_ = at_;
  run();
}

bool Window::defer_in_place(const Invocation& v, const OpDef& op) {
  const Kind kind(v.op, op, true);
  const Tensor& self = *v.args[0].tensor;
  const TensorImpl& t = *self.impl();
  const Storage& s = *t.storage;
  const bool recorded = !(t_modes & kNoGrad) && (t.base || wants_grad(v.args, v.n));
  if (recorder_) return false;  // it counts writes as they are made
  if (!kind.deferrable || kind.converts || recorded || is_small(v, kind) || (t_modes & ~kAllowed)) return false;
  if (t.dtype.is_blocked() || !is_whole(t) || s.lent || s.free_foreign || s.inference != t_inference) return false;
  if (goes_by_parts(op, op_name(v.op), v.args, v.n) || !put_off(v, kind, nullptr)) return false;
  bump(self);
  return true;
}

bool Window::defer(const Invocation& v, const OpDef& op) {
  if (op.kind == OpKind::view) return false;
  const Kind kind(v.op, op, false);
  if (!kind.deferrable || is_small(v, kind)) return let_pass(v), false;
  if (t_modes & ~kAllowed) return settle(), false;  // who observes calls wants to see values
  Tensor result;
  if (!put_off(v, kind, &result)) return false;
  v.out[0] = std::move(result);
  return true;
}

}  // namespace dyadic::inline v1::graph
