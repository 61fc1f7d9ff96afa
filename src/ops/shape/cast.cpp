#include "corridor/batching.h"
#include "ops/shape/assigning.h"

namespace dyadic::inline v1::ops::cast_op {
namespace {

Rounding rounding_of(std::string_view text) {
  if (text == "nearest") return Rounding::nearest;
  if (text == "stochastic") return Rounding::stochastic;
  fail<ValueError>("cast: unknown rounding \"{}\"; the known ones are nearest, stochastic", text);
}
Overflow overflow_of(std::string_view text) {
  if (text == "standard") return Overflow::standard;
  if (text == "saturate") return Overflow::saturate;
  if (text == "special") return Overflow::special;
  fail<ValueError>("cast: unknown overflow \"{}\"; the known ones are standard, saturate, special", text);
}

void infer(Call& c) {
  infer_like_first(c);
  const DType to = c[arg::dtype];
  const bool plain = rounding_of(c[arg::rounding]) == Rounding::nearest && overflow_of(c[arg::overflow]) == Overflow::standard;
  DY_CHECK_AS(ValueError, plain || !to.is_scaled(),
              "cast: {} has scales: it rounds to nearest and never overflows; leave rounding and overflow out", to.name());
  check_encodes(*to.format());
  c.spec[0].dtype = to;
}
void plan(Call& c) {
  plan_assigning(c, arg::self, {.mode = rounding_of(c[arg::rounding]), .overflow = overflow_of(c[arg::overflow])});
}
void backward(Grad& g) { g.set(arg::self, g.g()); }  // the engine casts to the input's dtype

}  // namespace

extern constexpr OpDef record = {
    .sig = "cast(Tensor self, ScalarType dtype, str rounding='nearest', str overflow='standard') -> Tensor",
    .doc =
        "The values in another dtype, rounded once: to nearest (ties to even), or stochastically, up with the probability of "
        "the "
        "part cut off, by draws of the generator. What is too large becomes what the dtype's origin makes of it (standard), "
        "the "
        "largest number (saturate), or infinity, NaN where there is none (special); integers wrap unless they saturate.",
    .samples = "cast(randn(3, 4), bf16, 'nearest', 'standard')\ncast(randn(3, 4), f16, 'nearest', 'saturate')",
    .bad =
        "cast(zeros(2), bf16, 'up', 'standard') => cast: unknown rounding \"up\"; the known ones are nearest, stochastic\n"
        "cast(zeros(2), nf4, 'stochastic', 'standard') => cast: nf4(block=64,double) has scales: it rounds to nearest and "
        "never "
        "overflows; "
        "leave rounding and overflow out",
    .skip = "cost: a conversion counts as bytes",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self) | out(0)};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::cast_op
