// Attention of bf16 and f16 on a Hopper card by warpgroups, whose tiles the copy engine fetches. What that cannot do, or
// another card, takes attention16's way, with a result of the same class.
#pragma once
#include "plugins/cuda/attention/attention.h"

namespace dyadic::gpu {

bool forward90(const AttentionPlan& p, const AttentionPointers& at);  // false: nothing has been done
bool backward90(const AttentionPlan& p, const AttentionPointers& at);

}  // namespace dyadic::gpu
