#include "base/check.h"
#include "dyadic/study.h"

namespace dyadic::inline v1::study {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {.name = "f32", .doc = "everything in f32"},
      {.name = "bf16", .doc = "autocast to bf16 over f32 weights", .compute = bf16},
      {.name = "f16", .doc = "autocast to f16 over f32 weights, dynamic loss scaling", .compute = f16, .scaler = true},
      {.name = "pure-bf16",
       .doc = "weights, gradients and arithmetic in bf16, no f32 copy of the weights; optimizer states in f32",
       .parameters = bf16},
      {.name = "pure-bf16-sr",
       .doc = "pure-bf16 with stochastic rounding of the weight update: small steps are lost one by one, not on average",
       .parameters = bf16,
       .rounding = "stochastic"},
      {.name = "bf16-adam8",
       .doc = "autocast to bf16 over f32 weights, 8-bit AdamW states",
       .compute = bf16,
       .states = dynamic8},
  };
  return all;
}

const Recipe& recipe(std::string_view name) {
  std::string known;
  for (const Recipe& r : recipes()) {
    if (r.name == name) return r;
    known += (known.empty() ? "" : ", ") + r.name;
  }
  fail<ValueError>("unknown recipe \"{}\"; the known ones are {}", name, known);
}

}  // namespace dyadic::inline v1::study
