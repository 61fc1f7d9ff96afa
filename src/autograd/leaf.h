// Where gradients end: .grad of leaves and of what retains it, and the hooks on the way there.
#pragma once
#include "corridor/tape.h"

namespace dyadic::inline v1 {

// What the hook makes of g; g if it returns nothing.
Tensor run_hook(const Hook& hook, const Tensor& g);

// The leaf's whole gradient: through its hooks, then added to its .grad. create: as recorded ops.
void leave_gradient(TensorImpl& leaf, Tensor g, bool create);

// Whether any leaf has ever had a hook.
bool leaves_have_hooks();

}  // namespace dyadic::inline v1
