// Phi-3 and 4: queries, keys and values of one matrix, gate and up of another; short texts and long ones have positions of
// their own (longrope, Ding et al. 2024).
#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

Plan phi3_plan(const Config& c) {
  Plan p = common_plan(c);
  p.attention.fused = true;
  p.attention.bias = p.attention.out_bias = false;
  set_windows(p, c, c.integer("sliding_window", 0), [](int64_t) { return true; });
  p.feed = [width = p.attention.width, hidden = p.hidden, act = p.activation](int64_t, nn::Options o) {
    return std::make_shared<FusedMlp>(width, hidden, act, o);
  };
  return p;
}

}  // namespace

extern const Family phi3{"phi3", make_with<phi3_plan>};

}  // namespace dyadic::inline v1::models
