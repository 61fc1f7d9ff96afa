// The history of what a step left that ran without being recorded: an op made it, and backward has been through.
#pragma once
#include "corridor/call.h"

namespace dyadic::inline v1 {

struct UsedUp {
  Op id{}, shown{};
};
void attach_used_up(const Tensor& t, const UsedUp& what);  // backward from `t` fails, as it does after the step itself

}  // namespace dyadic::inline v1
