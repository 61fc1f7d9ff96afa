// Saved tensors that are kept in another way: packed when a node is made, unpacked for its backward.
#include "corridor/tape_nodes.h"

namespace dyadic::inline v1 {

using namespace tape;

constinit thread_local const Pack* t_pack = nullptr;

[[gnu::noinline, gnu::cold]] void tape::pack_saved(Node& n) {
  const Pack pack = *t_pack;
  const struct Plain {  // what the hook computes is neither recorded nor packed
    const Pack* before = std::exchange(t_pack, nullptr);
    NoGrad guard;
    ~Plain() { t_pack = before; }
  } plain;
  for (int i = 0; i < n.nin + n.nout; ++i) {
    Saved& s = n.saved[i];
    if (!s.tensor.defined() || (s.tensor.impl()->flags & kNumber)) continue;
    Unpack unpack = pack(alias(s.tensor));
    if (!unpack) continue;
    drop_saved(s);
    node_extra(n).packed.emplace_back(uint16_t(i), std::move(unpack));
  }
}

// An input comes back with the history that it had.
static void unpack(Node& n, int i, const Unpack& unpack) {
  const Tensor given = [&unpack] {
    NoGrad guard;
    return unpack();
  }();
  const Meta& meta = n.meta[i];
  DY_CHECK(given.defined() && given.sizes() == meta.shape() && given.dtype() == meta.dtype,
           "saved_tensors_hooks: what was unpacked for {} is {}; what was packed is {}{}", node_name(n),
           given.defined() ? describe(given) : "no tensor", meta.dtype.name(), shape_text(meta.shape()));
  Saved& s = n.saved[i];
  s.tensor = alias(given);
  s.version = s.tensor.version();
  if (i >= n.nin || !GradMode::enabled()) return;  // an output gets its history from Grad::out
  if (const Edge& e = n.edges[i]; e.node) {
    e.node->refs.fetch_add(1, std::memory_order_relaxed);
    attach(e.node, s.tensor, e.output);
  } else if (e.leaf) {
    recorded(Op::clone_, borrow(e.leaf), s.tensor);
  }
}
static void drop_unpacked(Node& n) {
  for (auto& [i, unpack] : n.extra->packed) n.saved[i].tensor = Tensor();
}

Unpacked::Unpacked(Node& n) : node_(n) {
  if (!n.extra) return;
  try {
    for (auto& [i, how] : n.extra->packed) unpack(n, i, how);
  } catch (...) {
    drop_unpacked(n);
    throw;
  }
}
Unpacked::~Unpacked() {
  if (node_.extra) drop_unpacked(node_);
}

}  // namespace dyadic::inline v1
