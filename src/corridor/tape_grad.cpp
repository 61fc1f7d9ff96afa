// What a gradient reads of its node: inputs and outputs as they were saved.
#include "corridor/tape_nodes.h"

namespace dyadic::inline v1 {

using namespace tape;

[[gnu::noinline, gnu::cold]] static void overwritten(const Node& n, const char* what, int i) {
  fail(
      "{}: a tensor needed for backward was overwritten: {} {} was written in place after the forward; clone it before writing",
      node_name(n), what, i);
}

const Tensor& Grad::in(int i) const {
  const Saved& s = node.saved[i];
  DY_ASSERT(s.tensor.defined());
  if (s.tensor.version() != s.version) overwritten(node, "input", i);
  return s.tensor;
}

Tensor Grad::out(int i) const {
  const Saved& s = node.saved[node.nin + i];
  DY_ASSERT(s.tensor.defined());
  if (s.tensor.version() != s.version) overwritten(node, "output", i);
  Tensor t = alias(s.tensor);
  if (GradMode::enabled() && (t.dtype().is_floating_point() || t.dtype().is_complex())) {  // positions have no gradient
    node.refs.fetch_add(1, std::memory_order_relaxed);
    attach(&node, t, i);
  }
  return t;
}

}  // namespace dyadic::inline v1
