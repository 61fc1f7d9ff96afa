// The pass over memory that all update rules share. A tile of 1024 elements is decoded, updated and encoded while it is in the
// first-level cache; what is stored in the compute type is computed on in place.
//
// A rule is a lambda (p, g, states, constants) -> step over vectors: it changes the states, and p - step is the new parameter.
#pragma once
#include "base/simd/simd.h"
#include "loops/lanes.h"
#include "optim/rule.h"

namespace dyadic::DY_ISA {

enum class Writes : uint8_t { all, states, param };  // states: the rule measures; param: states are only read

// One state's tile: in place, or decoded into the buffer and encoded from it.
template <class T> struct StateTile {
  alignas(64) T buffer[kRuleTile];
  alignas(64) unsigned char stored[2 * kRuleTile + 512];  // a tile of a scaled format
  PlaneList whole, full;                                  // of a scaled format: of the state, of a tile
  T* values;

  void plan(const StateArray& s) {
    if (s.format->def->kind != Kind::scaled) return;
    whole = s.format->def->planes(*s.format, s.geometry);
    full = s.format->def->planes(*s.format, Geometry{1, kRuleTile});
  }
  DY_INLINE void open(const StateArray& s, int64_t at, int64_t n) {
    values = buffer;
    const FormatDef& def = *s.format->def;
    if (stores<T>(s.format)) {
      values = static_cast<T*>(s.data) + at;
    } else if constexpr (sizeof(T) == 4) {
      if (def.kind == Kind::scaled)
        def.decode_range(*s.format, s.data, s.geometry, at, at + n, buffer);
      else
        def.decode(element(Target{s.data, s.format}, at), buffer, n);
    }
  }
  // A scaled format's tile is encoded as a small tensor of its own, whose planes are parts of the whole one's.
  DY_INLINE void close(const StateArray& s, int64_t at, int64_t n, Round rounding) {
    if (values != buffer) return;
    const FormatDef& def = *s.format->def;
    if constexpr (sizeof(T) == 4) {
      if (def.kind != Kind::scaled) {
        rounding.index += static_cast<uint64_t>(at);
        return def.encode(buffer, element(Target{s.data, s.format}, at), n, rounding);
      }
      const Geometry part{1, n};
      def.encode_all(*s.format, buffer, stored, part, rounding);
      const PlaneList mine = n == kRuleTile ? full : def.planes(*s.format, part);
      for (int k = 0; k < whole.count; k++) {
        char* to = static_cast<char*>(s.data) + whole.plane[k].offset + at / kRuleTile * full.plane[k].bytes;
        __builtin_memcpy(to, stored + mine.plane[k].offset, static_cast<size_t>(mine.plane[k].bytes));
      }
    }
  }
};

template <class T> struct Factors {  // RuleStep in the compute type
  T constants[kMaxConstants], scale, coupled, decoupled;

  explicit Factors(const RuleStep& s)
      : scale(static_cast<T>(s.grad_scale)), coupled(static_cast<T>(s.coupled)), decoupled(static_cast<T>(s.decoupled)) {
    for (int i = 0; i < kMaxConstants; i++) constants[i] = static_cast<T>(s.constants[i]);
  }
};

template <class T> DY_INLINE double sum_of_squares(Vec<T> v) {
  if constexpr (sizeof(T) == 8) {
    return reduce_sum(v * v);
  } else {
    const Wide w = widen(v);
    return reduce_sum(w.low * w.low + w.high * w.high);
  }
}

DY_INLINE void add_to(RuleResult& total, const RuleResult& r) {
  total.count.nonzero += r.count.nonzero;
  total.count.lost += r.count.lost;
  total.param_squares += r.param_squares;
  total.step_squares += r.step_squares;
}

template <class T> void count_rounded_steps(const T* moved, const T* before, const T* after, int64_t n, UpdateCount& counts) {
  for_vectors<T>(n, [&](auto access, int64_t i) {
    const auto real = access.only(access.load(moved + i) != Vec<T>(0));
    counts.nonzero += int64_t(count(real));
    counts.lost += int64_t(count(real & (access.load(before + i) == access.load(after + i))));
  });
}

template <class T, int kStates, Writes kWrites, class F> struct FusedTile {
  using V = Vec<T>;
  StateTile<T> state[kStates > 0 ? kStates : 1];
  alignas(64) T grad[kRuleTile], param[kRuleTile], updated[kRuleTile], moved[kRuleTile], stored_param[kRuleTile];

  // Elements [at, at + n), at a multiple of kRuleTile.
  DY_INLINE void run(const RuleArrays& a, const Factors<T>& factors, const RuleStep& step, F rule, int64_t at, int64_t n,
                     RuleResult& result) {
    const bool in_place = stores<T>(a.param.format);
    const T* g = read_tile(a.grad, at, n, grad);
    T* p = in_place ? static_cast<T*>(a.param.data) + at : param;
    T* next = in_place ? p : updated;
    if (!in_place) a.param.format->def->decode(element(a.param, at), param, n);
    if (a.rest.data) add_rest(a.rest, at, n, param);
    for (int k = 0; k < kStates; k++) state[k].open(a.state[k], at, n);
    update(g, p, next, in_place, factors, rule, n, result);
    if constexpr (kWrites != Writes::param) {
      for (int k = 0; k < kStates; k++) {
        Round rounding = step.state_rounding;
        rounding.stream += static_cast<uint64_t>(k) << 32;
        state[k].close(a.state[k], at, n, rounding);
      }
    }
    if (in_place || kWrites == Writes::states) return;
    Round rounding = step.rounding;
    rounding.index += static_cast<uint64_t>(at);
    a.param.format->def->encode(updated, element(a.param, at), n, rounding);
    a.param.format->def->decode(element(a.param, at), stored_param, n);
    if (a.rest.data) keep_rest(a.rest, at, n);
    count_rounded_steps(moved, param, stored_param, n, result.count);
  }

 private:
  void add_rest(Target rest, int64_t at, int64_t n, T* to) {
    rest.format->def->decode(element(rest, at), moved, n);
    for_vectors<T>(n, [&](auto access, int64_t i) { access.store(to + i, access.load(to + i) + access.load(moved + i)); });
  }
  // What is stored becomes, with its rest, as near to what was computed as the rest's format allows.
  void keep_rest(Target rest, int64_t at, int64_t n) {
    for_vectors<T>(n, [&](auto access, int64_t i) {
      access.store(updated + i, access.load(updated + i) - access.load(stored_param + i));
    });
    rest.format->def->encode(updated, element(rest, at), n, Round{});
    rest.format->def->decode(element(rest, at), updated, n);
    for_vectors<T>(n, [&](auto access, int64_t i) {
      access.store(stored_param + i, access.load(stored_param + i) + access.load(updated + i));
    });
  }
  DY_INLINE void update(const T* g, const T* p, T* next, bool in_place, const Factors<T>& factors, F rule, int64_t n,
                        RuleResult& result) {
    RuleResult mine;
    V c[kMaxConstants];
    for (int k = 0; k < kMaxConstants; k++) c[k] = V(factors.constants[k]);
    const V scale(factors.scale), coupled(factors.coupled), decoupled(factors.decoupled);
    T* values[kMaxStates];
    for (int k = 0; k < kStates; k++) values[k] = state[k].values;
    for_vectors<T>(n, [&](auto access, int64_t i) {
      const V old = access.load(p + i);
      V s[kMaxStates];
      for (int k = 0; k < kStates; k++) s[k] = access.load(values[k] + i);
      const V decayed = rule(old, fma(old, coupled, access.load(g + i) * scale), s, c);
      const V by = fma(old, decoupled, decayed);
      if constexpr (kWrites != Writes::param) {
        for (int k = 0; k < kStates; k++) access.store(values[k] + i, s[k]);
      }
      if constexpr (kWrites == Writes::states) {
        mine.param_squares += sum_of_squares(old);  // lanes past the end are zero
        mine.step_squares += sum_of_squares(select(access.only(V(0) == V(0)), by, V(0)));
      } else {
        const V after = old - by;
        access.store(next + i, after);
        if (in_place) {
          const auto real = access.only(by != V(0));
          mine.count.nonzero += int64_t(count(real));
          mine.count.lost += int64_t(count(real & (after == old)));
        } else {
          access.store(moved + i, by);
        }
      }
    });
    add_to(result, mine);
  }
};

template <class T, int kStates, Writes kWrites, class F>
RuleResult run_fused(const RuleArrays& a, const RuleStep& step, F rule) {
  constexpr int64_t kMaxPieces = 512;  // of at least 16 tiles; what they measured is added in order
  const int64_t tiles = (a.n + kRuleTile - 1) / kRuleTile, each = max_of(16, (tiles + kMaxPieces - 1) / kMaxPieces);
  const int64_t pieces = (tiles + each - 1) / each;
  const Factors<T> factors(step);
  union Partial {
    RuleResult result;
    Partial() {}
  } partial[kMaxPieces];  // of which few are begun: 20 KB of zeros are 150 ns
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    FusedTile<T, kStates, kWrites, F> tile;
    for (int k = 0; k < kStates; k++) tile.state[k].plan(a.state[k]);
    for (int64_t piece = begin; piece < end; piece++) {
      partial[piece].result = RuleResult{};
      const int64_t stop = min_of(a.n, (piece + 1) * each * kRuleTile);
      for (int64_t at = piece * each * kRuleTile; at < stop; at += kRuleTile)
        tile.run(a, factors, step, rule, at, min_of(kRuleTile, stop - at), partial[piece].result);
    }
  });
  RuleResult total;
  for (int64_t piece = 0; piece < pieces; piece++) add_to(total, partial[piece].result);
  return total;
}

template <int kStates, auto kRule, Writes kWrites = Writes::all> RuleResult run_rule(const RuleArrays& a, const RuleStep& s) {
  return a.param.format->def->compute == Compute::f64 ? run_fused<double, kStates, kWrites>(a, s, kRule)
                                                      : run_fused<float, kStates, kWrites>(a, s, kRule);
}
template <int kStates, auto kRule, Writes kWrites = Writes::all> constexpr Rule rule() {
  return {kStates, run_rule<kStates, kRule, kWrites>};
}

}  // namespace dyadic::DY_ISA
