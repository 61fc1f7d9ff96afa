#include "loops/fused.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/parallel.h"
#include "loops/elements.h"
#include "loops/stream_kernel.h"

namespace dyadic::inline v1 {

using namespace tiles;
using Lies = FusedValue::Lies;

namespace {

constexpr int64_t kFusedBytes = 4096;  // of a tile: all that live at once stay in L1
constexpr int64_t kWork = 32 << 10;    // elements times steps that a thread takes at least
constexpr int kMostTiles = kMostSteps + 1;

// n times the element at `from`: twice as many each time. (Element by element takes .5 ns each, with the size as the run knows
// it 7.)
void repeat_element(const char* from, char* to, int64_t n, int64_t size) {
  const int64_t bytes = n * size;
  std::memcpy(to, from, size_t(size));
  for (int64_t done = size; done < bytes; done *= 2) std::memcpy(to + done, to, size_t(std::min(done, bytes - done)));
}

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

}  // namespace

FusedPlan::FusedPlan(int64_t numel, std::vector<FusedValue> values, std::vector<FusedStep> steps)
    : numel_(numel), values_(std::move(values)), steps_(std::move(steps)) {
  int64_t widest = 1;
  for (const FusedValue& v : values_)
    if (v.format) widest = std::max({widest, v.format->itemsize(), compute_size(v.format->compute())});
  for (const FusedStep& s : steps_)
    if (!s.converts) widest = std::max(widest, compute_size(s.what.compute));
  DY_ASSERT(steps_.size() <= kMostSteps && values_.size() <= kMostValues);
  each_ = kFusedBytes / widest;
  static_assert(kFusedBytes / 16 % kBf16Step == 0);
  plan_tiles();
  for (const FusedStep& s : steps_) plan_step(s);
  threaded_ = ThreadedProgram::make(values_, steps_);
}

void FusedPlan::plan_step(const FusedStep& s) {
  Way w{};
  w.step = 1;
  std::fill_n(w.constant, kMaxOperands, -1);
  if (s.converts) return ways_.push_back(w);
  const Format* formats[kMaxOperands + 1];
  unsigned singles = 0;
  for (int i = 0; i < s.inputs; ++i) {
    formats[i] = s.in[i] < 0 ? nullptr : values_[size_t(s.in[i])].format;
    if (formats[i] && values_[size_t(s.in[i])].lies == Lies::single) singles |= 1u << i;
  }
  const Format& out = *(formats[s.inputs] = values_[size_t(s.out)].format);
  w.leaves = s.what.real_out ? real_of(s.what.compute) : s.what.compute;
  w.direct = s.what.mask_out ? &out == boolean.format() : stored_as(out, w.leaves);
  w.lies = stored_format(s.what, w.direct, formats, singles, s.inputs);
  w.tile = w.lies ? stored_tile(s.what, w.lies) : s.what.tile;
  const bool bf16_as_stored = w.lies == bf16.format();
  w.takes_one = (w.lies && !bf16_as_stored) || (!w.lies && s.what.takes_one);
  if (bf16_as_stored) w.step = kBf16Step;
  w.streams = !s.what.mask_out &&
              (w.lies ? bf16_as_stored : w.direct && (s.what.compute == Compute::f32 || s.what.compute == Compute::f64));
  for (int i = 0; i < s.inputs; ++i) {
    if (!(singles >> i & 1)) continue;
    w.constant[i] = constant_bytes_;
    constant_bytes_ += round_up((w.takes_one ? 1 : each_) * compute_size(s.what.compute), 64);
  }
  ways_.push_back(w);
}

// Values that are never in memory, and those that are written past the caches, lie in tiles; a tile is free again when its last
// reader has run.
void FusedPlan::plan_tiles() {
  std::vector<int> last(values_.size(), -1), made(values_.size(), -1), free;
  for (size_t k = 0; k < steps_.size(); ++k) {
    for (int i = 0; i < steps_[k].inputs; ++i)
      if (steps_[k].in[i] >= 0) last[size_t(steps_[k].in[i])] = int(k);
    made[size_t(steps_[k].out)] = int(k);
  }
  buffer_.assign(values_.size(), -1);
  for (size_t k = 0; k < steps_.size(); ++k) {
    const FusedStep& s = steps_[k];
    const auto out = size_t(s.out);
    values_[out].read_later = last[out] >= 0;
    if (free.empty()) free.push_back(tiles_++);
    buffer_[out] = free.back();
    free.pop_back();
    if (last[out] < 0) free.push_back(buffer_[out]);
    for (int i = 0; i < s.inputs; ++i) {
      const int v = s.in[i];
      if (v < 0 || made[size_t(v)] < 0 || last[size_t(v)] != int(k)) continue;
      last[size_t(v)] = -1;  // an input may stand there twice
      free.push_back(buffer_[size_t(v)]);
    }
  }
  DY_ASSERT(tiles_ <= kMostTiles);
}

void FusedPlan::fill_constants(char* constants, char* const* memory) const {
  for (size_t k = 0; k < steps_.size(); ++k)
    for (int i = 0; i < steps_[k].inputs; ++i)
      if (ways_[k].constant[i] >= 0) {
        const auto v = size_t(steps_[k].in[i]);
        splat(*values_[v].format, memory[v], steps_[k].what.compute, constants + ways_[k].constant[i],
              ways_[k].takes_one ? 1 : each_);
      }
}

// Whether a computed value is so large that it goes past the caches.
bool FusedPlan::streamed(int value, const char* at, bool cached) const {
  const FusedValue& v = values_[size_t(value)];
  return !cached && v.lies == Lies::dense && numel_ * v.format->itemsize() >= stream_bytes() &&
         reinterpret_cast<uintptr_t>(at) % 64 == 0;
}

class FusedPlan::Worker {
  const FusedPlan& p_;
  char* const* const memory_;
  const char* const constants_;
  const bool cached_;
  alignas(64) char tiles_[kMostTiles][kFusedBytes];
  alignas(64) char loaded_[kMaxOperands][kFusedBytes];
  alignas(64) char spread_[kFusedBytes], other_[kFusedBytes], result_[kFusedBytes];
  int64_t begin_ = 0, n_ = 0;

  // A step that reads and writes what lies there as its tile takes it: where the first tile lies, and bytes from an element to
  // the next (0: each tile at the same place).
  struct Direct {
    bool is = false;
    unsigned mode = 0;
    const char* in[kMaxOperands];
    char* out;
    int64_t in_size[kMaxOperands], out_size;
  } direct_[kMostSteps];

  void prepare(const FusedStep& s, const Way& w, Direct& d) {
    if (s.converts || (!w.direct && !w.lies)) return;
    for (int i = 0; i < s.inputs; ++i) {
      d.in[i] = nullptr, d.in_size[i] = 0;
      if (s.in[i] < 0) continue;
      if (w.constant[i] >= 0) {
        d.in[i] = constants_ + w.constant[i];
        if (w.lies || w.takes_one) d.mode |= kWide << i;
        continue;
      }
      const FusedValue& v = p_.values_[size_t(s.in[i])];
      const bool wide = v.format != w.lies;
      if (v.lies == Lies::spread || (wide && !stored_as(*v.format, s.what.compute))) return;
      if (w.lies && wide) d.mode |= kWide << i;
      const int buffer = p_.buffer_[size_t(s.in[i])];
      const bool tile = buffer >= 0 && in_tile(s.in[i]);
      d.in[i] = tile ? tiles_[buffer] : memory_[s.in[i]];
      d.in_size[i] = tile ? 0 : v.format->itemsize();
    }
    const FusedValue& v = p_.values_[size_t(s.out)];
    const bool stream = p_.streamed(s.out, memory_[s.out], cached_), dense = v.lies == Lies::dense;
    if (stream && (!w.streams || v.read_later)) return;
    if (stream) d.mode |= kStream;
    d.out = dense ? memory_[s.out] : tiles_[p_.buffer_[size_t(s.out)]];
    d.out_size = dense ? v.format->itemsize() : 0;
    d.is = true;
  }

  // Elements of a value that repeat, one after another.
  void lay_out(const FusedValue& v, const char* from, char* to) const {
    const int64_t size = v.format->itemsize();
    for (int64_t i = 0; i < n_;) {
      const int64_t at = begin_ + i, element = at / v.repeat % v.period;
      if (v.repeat == 1) {
        const int64_t run = std::min(n_ - i, v.period - element);
        std::memcpy(to + i * size, from + element * size, size_t(run * size));
        i += run;
      } else {
        const int64_t run = std::min(n_ - i, v.repeat - at % v.repeat);
        repeat_element(from + element * size, to + i * size, run, size);
        i += run;
      }
    }
  }
  const char* stored(int value, char* room) const {
    const FusedValue& v = p_.values_[size_t(value)];
    const int buffer = p_.buffer_[size_t(value)];
    if (buffer >= 0) return in_tile(value) ? tiles_[buffer] : memory_[value] + begin_ * v.format->itemsize();
    if (v.lies == Lies::dense) return memory_[value] + begin_ * v.format->itemsize();
    if (v.repeat == 1 && begin_ % v.period + n_ <= v.period) return memory_[value] + begin_ % v.period * v.format->itemsize();
    lay_out(v, memory_[value], room);
    return room;
  }
  bool in_tile(int value) const {
    return p_.values_[size_t(value)].lies == Lies::tile || p_.streamed(value, memory_[value], cached_);
  }
  const void* operand(const FusedStep& s, const Way& w, int i, unsigned& mode) {
    if (s.in[i] < 0) return nullptr;
    const FusedValue& v = p_.values_[size_t(s.in[i])];
    bool wide = true, one = false;
    const void* read;
    if (w.constant[i] >= 0) {
      one = w.takes_one;
      read = constants_ + w.constant[i];
    } else {
      wide = v.format != w.lies;
      const bool from_memory = p_.buffer_[size_t(s.in[i])] < 0 || !in_tile(s.in[i]);
      const char* at = stored(s.in[i], wide && !stored_as(*v.format, s.what.compute) ? spread_ : loaded_[i]);
      read = wide ? load(*v.format, at, s.what.compute, loaded_[i], other_, n_) : at;
      if (n_ % w.step != 0 && from_memory && read != loaded_[i])  // there is room for whole steps in our own memory
        read = std::memcpy(loaded_[i], read, size_t(n_ * (wide ? compute_size(s.what.compute) : v.format->itemsize())));
    }
    if (w.lies ? wide : one) mode |= kWide << i;
    return read;
  }
  void convert_step(const FusedStep& s) {
    const FusedValue &v = p_.values_[size_t(s.out)], &from = p_.values_[size_t(s.in[0])];
    char* const dense = v.lies == Lies::dense ? memory_[s.out] + begin_ * v.format->itemsize() : nullptr;
    const bool stream = p_.streamed(s.out, memory_[s.out], cached_);
    char* const to = dense && !stream ? dense : tiles_[p_.buffer_[size_t(s.out)]];
    convert(*from.format, stored(s.in[0], spread_), *v.format, to, n_);
    if (stream) stream_kernel().write(dense, to, n_ * v.format->itemsize());
  }
  void run_step(const FusedStep& s, const Way& w) {
    if (s.converts) return convert_step(s);
    const FusedValue& v = p_.values_[size_t(s.out)];
    const void* in[kMaxOperands];
    unsigned mode = 0;
    for (int i = 0; i < s.inputs; ++i) in[i] = operand(s, w, i, mode);
    const int64_t bytes = n_ * v.format->itemsize();
    char* const own = tiles_[p_.buffer_[size_t(s.out)]];
    char* const dense = v.lies == Lies::dense ? memory_[s.out] + begin_ * v.format->itemsize() : nullptr;
    const bool stream = p_.streamed(s.out, memory_[s.out], cached_), whole = n_ % w.step == 0;
    const bool in_place = dense && whole && (!stream || (w.streams && !v.read_later));
    if (in_place && stream) mode |= kStream;
    char* const to = in_place ? dense : own;
    if (w.direct || w.lies) {
      w.tile(in, to, s.what.params, round_up(n_, w.step), mode);
    } else {
      w.tile(in, result_, s.what.params, n_, mode);
      store(*v.format, result_, w.leaves, s.what.mask_out, to, other_, n_);
    }
    if (in_place || !dense) return;
    stream ? stream_kernel().write(dense, own, bytes) : void(std::memcpy(dense, own, size_t(bytes)));
  }

 public:
  Worker(const FusedPlan& p, char* const* memory, const char* constants, bool cached)
      : p_(p), memory_(memory), constants_(constants), cached_(cached) {
    for (size_t k = 0; k < p.steps_.size(); ++k) prepare(p.steps_[k], p.ways_[k], direct_[k]);
  }
  // Elements [begin, begin + n), at most a tile.
  void run(int64_t begin, int64_t n) {
    begin_ = begin;
    n_ = n;
    for (size_t k = 0; k < p_.steps_.size(); ++k) {
      const FusedStep& s = p_.steps_[k];
      const Way& w = p_.ways_[k];
      const Direct& d = direct_[k];
      if (!d.is || n_ % w.step != 0) {
        run_step(s, w);
        continue;
      }
      const void* in[kMaxOperands];
      for (int i = 0; i < s.inputs; ++i) in[i] = d.in[i] + begin_ * d.in_size[i];
      w.tile(in, d.out + begin_ * d.out_size, s.what.params, n_, d.mode);
    }
  }
};

// Whole blocks from `begin` on, those with NaNs by tiles; where they end.
int64_t FusedPlan::run_threaded(char* const* memory, const char* constants, int64_t begin, int64_t end, bool cached) const {
  ThreadedProgram::Ready ready;
  bool streams[kMostValues] = {};
  for (const FusedStep& s : steps_)
    streams[s.out] = streamed(s.out, memory[s.out], cached) && !values_[size_t(s.out)].read_later;
  threaded_->place(ready, values_, memory, streams);
  const int64_t block = threaded_kernel().block;
  const int64_t whole = begin + (end - begin) / block * block;
  while ((begin = threaded_kernel().run(ready.steps, begin, whole, ready.found_nan)) < whole) {
    run_tiles(memory, constants, begin, begin + block, cached);
    begin += block;
  }
  return whole;
}

void FusedPlan::run_tiles(char* const* memory, const char* constants, int64_t begin, int64_t end, bool cached) const {
  Worker worker(*this, memory, constants, cached);
  for (; begin < end; begin += each_) worker.run(begin, std::min(each_, end - begin));
}

FusedPlan::Ready::Ready(const FusedPlan& plan, char* const* memory) {
  if (plan.constant_bytes_ > int64_t(sizeof few_)) {
    many_ = std::make_unique_for_overwrite<char[]>(size_t(plan.constant_bytes_ + 64));
    constants_ = many_.get() + 64 - reinterpret_cast<uintptr_t>(many_.get()) % 64;
  }
  plan.fill_constants(constants_, memory);
  threaded_ = plan.threaded_ && plan.threaded_->can_repeat(plan.values_, plan.steps_, memory);
}

void FusedPlan::run_part(const Ready& ready, char* const* memory, int64_t begin, int64_t end, bool cached) const {
  if (ready.threaded_) begin = run_threaded(memory, ready.constants_, begin, end, cached);
  if (begin < end) run_tiles(memory, ready.constants_, begin, end, cached);
  stream_kernel().flush();
}

void FusedPlan::run(char* const* memory) const {
  if (numel_ == 0) return;
  const Ready ready(*this, memory);
  const int64_t grain = kWork / (each_ * int64_t(steps_.size()));
  parallel_for((numel_ + each_ - 1) / each_, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
    run_part(ready, memory, begin * each_, std::min(end * each_, numel_), false);
  });
}

}  // namespace dyadic::inline v1
