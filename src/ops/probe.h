// Probe: runs an op's lambda at compile time and counts. FLOPs are what a scalar machine would do; a transcendental counts
// as 10.
#pragma once

namespace dyadic::DY_ISA {

struct Cost {
  int flops = 0;
  int chosen = 0;          // of these, those whose result is one of their arguments
  unsigned used = 0;       // which arguments were read
  bool identity = false;   // the result is the first argument, untouched
  bool fits_bf16 = false;  // of arguments that are bf16 the result is one too

  // Whether it makes no difference to wrapped integers if each step is wrapped or the result alone: nothing that one
  // operation gave too large goes into another.
  constexpr bool wraps() const { return flops == 1 || flops == chosen; }
};

struct Probe {
  Cost* cost = nullptr;
  int id = -1;
  bool fits_bf16;  // Cost::fits_bf16
  constexpr Probe(Cost* c, int id) : cost(c), id(id), fits_bf16(id < 16) {}
  constexpr Probe(double v) : fits_bf16(double(float(v)) == v && __builtin_bit_cast(unsigned, float(v)) % (1 << 16) == 0) {}
  constexpr Probe(float v) : Probe(double(v)) {}
  constexpr Probe(int v) : Probe(double(v)) {}
  static constexpr Probe note(int flops, Probe a, Probe b = 0, Probe c = 0) {
    Cost* cost = a.cost ? a.cost : b.cost ? b.cost : c.cost;
    if (cost) {
      cost->flops += flops;
      for (Probe p : {a, b, c})
        if (p.id >= 0) cost->used |= 1u << p.id;
    }
    Probe r = 0;
    r.cost = cost;
    r.fits_bf16 = false;
    return r;
  }
  // Adds no digits to its arguments.
  static constexpr Probe keep(Probe a, Probe b = 0, Probe c = 0) {
    Probe r = note(1, a, b, c);
    r.fits_bf16 = a.fits_bf16 && b.fits_bf16 && c.fits_bf16;
    return r;
  }
  static constexpr Probe choose(Probe a, Probe b, Probe c = 0) {
    Probe r = keep(a, b, c);
    if (r.cost) ++r.cost->chosen;
    return r;
  }
};

#define DY_PROBE1(name, flops) \
  constexpr Probe name(Probe a) { return Probe::note(flops, a); }
#define DY_PROBE2(name, flops) \
  constexpr Probe name(Probe a, Probe b) { return Probe::note(flops, a, b); }
DY_PROBE1(operator!, 0)
DY_PROBE1(sqrt, 1)
DY_PROBE1(rsqrt, 2)
DY_PROBE1(exp, 10)
DY_PROBE1(expm1, 10)
DY_PROBE1(log, 10)
DY_PROBE1(log1p, 10)
DY_PROBE1(sin, 10)
DY_PROBE1(cos, 10)
DY_PROBE1(tanh, 10)
DY_PROBE1(sigmoid, 10)
DY_PROBE1(erf, 10)
DY_PROBE1(erfc, 10)
DY_PROBE1(exp2, 10)
DY_PROBE1(log2, 10)
DY_PROBE1(log10, 10)
DY_PROBE1(tan, 10)
DY_PROBE1(asin, 10)
DY_PROBE1(acos, 10)
DY_PROBE1(atan, 10)
DY_PROBE1(sinh, 10)
DY_PROBE1(cosh, 10)
DY_PROBE1(asinh, 10)
DY_PROBE1(acosh, 10)
DY_PROBE1(atanh, 10)
DY_PROBE1(lgamma, 10)
DY_PROBE1(digamma, 10)
DY_PROBE1(i0, 10)
DY_PROBE1(i0e, 10)
DY_PROBE1(i1, 10)
DY_PROBE1(i1e, 10)
DY_PROBE1(erfinv, 10)
DY_PROBE1(ndtr, 10)
DY_PROBE1(ndtri, 10)
DY_PROBE1(erfcx, 10)
DY_PROBE1(bessel_j0, 10)
DY_PROBE1(bessel_j1, 10)
DY_PROBE1(bessel_y0, 10)
DY_PROBE1(bessel_y1, 10)
DY_PROBE1(signbit, 1)
DY_PROBE1(operator~, 1)
DY_PROBE1(frexp_mantissa, 4)
DY_PROBE1(frexp_exponent, 4)
DY_PROBE1(isnan, 1)
DY_PROBE1(isinf, 1)
DY_PROBE1(isfinite, 1)
DY_PROBE2(operator+, 1)
DY_PROBE2(operator-, 1)
DY_PROBE2(operator*, 1)
DY_PROBE2(operator/, 1)
DY_PROBE2(operator<, 1)
DY_PROBE2(operator<=, 1)
DY_PROBE2(operator>, 1)
DY_PROBE2(operator>=, 1)
DY_PROBE2(operator==, 1)
DY_PROBE2(operator!=, 1)
DY_PROBE2(operator&, 0)
DY_PROBE2(operator|, 0)
DY_PROBE2(pow, 20)
DY_PROBE2(operator^, 0)
DY_PROBE2(operator<<, 1)
DY_PROBE2(operator>>, 1)
DY_PROBE2(atan2, 20)
DY_PROBE2(hypot, 10)
DY_PROBE2(fmod, 10)
DY_PROBE2(remainder, 10)
DY_PROBE2(div_floor, 10)
DY_PROBE2(div_trunc, 2)
DY_PROBE2(zeta, 100)
DY_PROBE2(igamma, 100)
DY_PROBE2(igammac, 100)
DY_PROBE2(gcd, 10)
DY_PROBE2(lcm, 10)
#undef DY_PROBE1
#undef DY_PROBE2
constexpr Probe operator-(Probe a) { return Probe::keep(a); }
constexpr Probe abs(Probe a) { return Probe::keep(a); }
constexpr Probe sign(Probe a) { return Probe::keep(a); }
constexpr Probe floor(Probe a) { return Probe::keep(a); }
constexpr Probe ceil(Probe a) { return Probe::keep(a); }
constexpr Probe trunc(Probe a) { return Probe::keep(a); }
constexpr Probe round(Probe a) { return Probe::keep(a); }
constexpr Probe copysign(Probe a, Probe b) { return Probe::keep(a, b); }
constexpr Probe conj(Probe a) { return Probe::note(0, a); }
constexpr Probe select(Probe m, Probe a, Probe b) {
  m.fits_bf16 = true;  // not one of the values
  return Probe::choose(m, a, b);
}
constexpr Probe max(Probe a, Probe b) { return Probe::choose(a, b); }
constexpr Probe min(Probe a, Probe b) { return Probe::choose(a, b); }

}  // namespace dyadic::DY_ISA
