// Copies in which an end is blocked (assign.h): what is between are the source's values, dense, in the type that is encoded.
#include "plugins/cuda/copies/assign.h"

#include "plugins/cuda/formats/coding.h"

namespace dyadic::gpu {
namespace {

bool same_sizes(const Operand& a, const Operand& b) {
  bool same = a.ndim == b.ndim;
  for (int d = 0; d < a.ndim && same; ++d) same = a.lengths[d] == b.lengths[d];
  return same;
}
bool is_whole(const Operand& o) { return o.dense && o.count == o.geometry.numel(); }

// A tensor of plain values of a format that is not here by its record, only by what it is.
struct Plain {
  FormatDef def{};
  Format format{};
  Operand operand;

  Plain(const Operand& like, Compute compute, bool flat) : operand(like) {
    def.kind = compute == Compute::i32 ? Kind::sint : Kind::floating;
    def.bits = 32, def.compute = compute, def.max = 0x1.fffffep127;
    format.def = &def;
    operand.format = &format;
    if (flat) operand.ndim = 1, operand.lengths[0] = operand.count = like.geometry.numel();
    int64_t step = 1;
    for (int d = operand.ndim - 1; d >= 0; --d) operand.steps[d] = step, step *= operand.lengths[d];
    operand.dense = true, operand.offset = 0, operand.geometry = {};
  }
  Plain(const Plain&) = delete;
};

struct Way {
  Blocked to, from;
  bool codes = false;    // the bytes as they are
  bool decodes = false;  // the source straight into the target
  bool encodes = false;
  bool part = false;             // of a packed target, which is decoded and encoded as a whole
  bool direct = false;           // what is encoded lies dense in the source
  int64_t values = 0, room = 0;  // bytes of values between, of the encoder
  bool known = false;
};
Way way_of(const Operand& target, const Operand& source) {
  Way w;
  const Format &t = *target.format, &s = *source.format;
  if (s.is_blocked()) w.from = blocked_of(s, source.geometry);
  if (s.is_blocked() && w.from.layout == Layout::none) return w;
  w.known = true;
  if (!t.is_blocked()) {
    w.decodes = true;
    return w;
  }
  w.to = blocked_of(t, target.geometry);
  w.codes = &t == &s && is_whole(source) && is_whole(target) && same_sizes(target, source) &&
            source.geometry.cols == target.geometry.cols;
  if (w.codes) return w;
  w.encodes = true;
  w.room = encode_room(t, w.to);
  w.known = w.room >= 0;
  w.part = !is_whole(target);
  const bool fits = t.is_scaled() ? code_of(&s) == Code::f32 : !s.is_blocked();
  w.direct = !w.part && fits && source.dense && same_sizes(target, source);
  if (!w.direct) w.values = padded(8 * target.geometry.numel());
  return w;
}

__global__ void __launch_bounds__(256) copy_bytes(const uint8_t* from, uint8_t* to, int64_t n) {
  for (int64_t i = first_thread(); i < n; i += all_threads()) to[i] = from[i];
}
int64_t storage_bytes(const Operand& o) {
  const Format& f = *o.format;
  return f.is_scaled() ? f.def->planes(f, o.geometry).buffer_bytes : (o.geometry.numel() * f.def->bits + 7) / 8;
}

}  // namespace

int64_t assign_room(const Operand& target, const Operand& source) {
  if (!target.format->is_blocked() && !source.format->is_blocked()) return 0;
  const Way w = way_of(target, source);
  return w.known ? w.values + w.room : -1;
}

bool assign(const Array& target, const Array& source, const Round& round, void* workspace) {
  const Format &t = *target.format, &s = *source.format;
  if (!t.is_blocked() && !s.is_blocked()) {
    plan_transfer(target, source, round.mode == Rounding::stochastic).run(target.at, source.at, round);
    return true;
  }
  const Way w = way_of(target, source);
  if (!w.known) return false;
  if (target.count == 0) return true;
  if (w.decodes) {
    decode(target, source, w.from, round, target.at, source.at);
    return true;
  }
  if (w.codes) {
    const int64_t bytes = storage_bytes(target);
    launch(copy_bytes, grid_for(bytes), reinterpret_cast<const uint8_t*>(source.at), reinterpret_cast<uint8_t*>(target.at),
           bytes);
    return true;
  }
  void* const encoder = static_cast<char*>(workspace) + w.values;
  if (w.direct) {
    encode(t, w.to, code_of(&s), source.at, target.at, round, encoder);
    return true;
  }
  // Scaled formats are encoded from f32; packed ones from the source's own numbers, or of a part from what they decode to.
  const Compute compute = t.is_scaled() ? Compute::f32 : t.compute();
  if (w.part) {
    const Plain whole(target, compute, true);
    Operand all = target;  // the storage as it lies
    all.ndim = 1, all.lengths[0] = all.count = target.geometry.numel(), all.steps[0] = 1, all.offset = 0, all.dense = true;
    decode(whole.operand, all, w.to, {}, workspace, target.at);
    Plain part(target, compute, false);
    for (int d = 0; d < target.ndim; ++d) part.operand.steps[d] = target.steps[d];
    part.operand.dense = false;
    char* const first = static_cast<char*>(workspace) + 4 * target.offset;
    if (s.is_blocked())
      decode(part.operand, source, w.from, {}, first, source.at);
    else
      plan_transfer(part.operand, source).run(first, source.at);
    encode(t, w.to, code_of(&whole.format), workspace, target.at, round, encoder);
    return true;
  }
  const Compute between = t.is_scaled() ? Compute::f32 : s.is_blocked() ? s.compute() : Compute::f32;
  Plain values(target, between, false);
  if (!t.is_scaled() && !s.is_blocked()) values.operand.format = &s;
  if (s.is_blocked())
    decode(values.operand, source, w.from, {}, workspace, source.at);
  else
    plan_transfer(values.operand, source).run(workspace, source.at);
  encode(t, w.to, code_of(values.operand.format), workspace, target.at, round, encoder);
  return true;
}

}  // namespace dyadic::gpu
