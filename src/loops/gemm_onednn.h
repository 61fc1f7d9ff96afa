// bf16 products through oneDNN, for processors that multiply bf16 in hardware at speed: one tile on one thread. No other file
// knows oneDNN's API.
#pragma once
#include <cstddef>

#include "loops/gemm_plan.h"

namespace dyadic::inline v1 {

bool onednn_accepts(const GemmPlan& plan);    // the strides
size_t onednn_scratch(const GemmPlan& plan);  // bytes of one thread, for any of the plan's tiles
struct OnednnTypes {
  bool f32;     // a and b are f32, else bf16
  bool narrow;  // c is bf16, else f32
};
OnednnTypes onednn_types(const GemmPlan& plan);
void onednn_tile(const GemmTile& tile, OnednnTypes types);  // the bias is f32

}  // namespace dyadic::inline v1
