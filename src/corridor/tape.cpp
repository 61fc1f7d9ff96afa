// Recording, and the life of tape nodes.
#include "corridor/tape_nodes.h"
#include "corridor/used_up.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

namespace dyadic::inline v1 {

void destroy_tape(TensorImpl& t) noexcept;

using namespace tape;

Tensor tape::alias(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return make_view(t, i.shape(), {i.strides, i.ndim}, i.offset);
}

void tape::attach(Node* node, const Tensor& t, int output) {
  TensorImpl& i = *t.impl();
  if (i.node) release(i.node);
  i.node = node;
  i.output = uint16_t(output);
  i.flags |= kRequiresGrad;
}

static Category category_of(Storage& s) { return std::atomic_ref(s.category).load(std::memory_order_relaxed); }

void tape::drop_saved(Saved& s) {
  const bool number = s.tensor.impl()->flags & kNumber;  // not counted by save()
  Storage& st = *s.tensor.impl()->storage;
  if (!number && st.saves.fetch_sub(1, std::memory_order_acq_rel) == 1 && category_of(st) == Category::activation)
    set_category(s.tensor, Category::temporary);
  s.tensor = Tensor();
}

namespace {

std::atomic<uint64_t> g_seq{1};

// Nodes whose last reference went while another node was being freed: a chain of a million must not become a million stack
// frames.
constinit thread_local Node* t_dead = nullptr;
constinit thread_local bool t_freeing = false;

void free_node(Node& n) {
  release_saved(n);
  for (int i = 0; i < n.nin; ++i) {
    if (n.edges[i].node) release(n.edges[i].node);
    if (n.edges[i].leaf) Tensor::adopt(n.edges[i].leaf);
  }
  size_t bytes = n.bytes;
  delete n.extra;
  for (int i = 0; i < n.nin + n.nout; ++i) n.saved[i].~Saved();
  n.~Node();
  pool_release(&n, bytes);
}

struct Shape {
  int nin = 0, dims = 0;
  size_t ints = 0;
};
Shape measure(const Arg* args, int n, const Tensor* out, int nout) {
  Shape s;
  s.nin = for_each_tensor(args, n, [&](const Tensor& t, int) { s.dims += t.impl()->ndim; });
  for (int i = 0; i < nout; ++i)
    if (out[i].defined()) s.dims += out[i].impl()->ndim;
  for (int i = 0; i < n; ++i)
    if (args[i].kind == Arg::Kind::ints)
      s.ints += args[i].n;
    else if (args[i].kind == Arg::Kind::text)
      s.ints += (args[i].n + 7) / 8;
  return s;
}

Meta make_meta(const Tensor& t, int64_t*& dims) {
  const TensorImpl& i = *t.impl();
  Meta m{i.dtype, i.ndim, i.device(), dims};
  for (int d = 0; d < i.ndim; ++d) *dims++ = i.sizes[d];
  return m;
}

// A view holds its base, whose history may come to hold the node that saves the view: it saves this instead.
Tensor without_base(const Tensor& view) {
  Tensor t = alias(view);
  if (Node* node = view.impl()->node) {
    node->refs.fetch_add(1, std::memory_order_relaxed);
    attach(node, t, view.impl()->output);
  }
  return t;
}

}  // namespace

// Counts a save on the storage: the first turns a temporary into an activation.
void tape::save(Saved& s, const Tensor& t) {
  if (t_modes & kForget) return;
  Storage& st = *t.impl()->storage;
  DY_CHECK(!st.inference || (t.impl()->flags & kNumber),
           "backward: a tensor of inference mode cannot be saved for it: {}; clone() it outside of the mode, or make it under "
           "no_grad",
           describe(t));
  s.version = st.version.load(std::memory_order_relaxed);
  s.tensor = t.impl()->base ? without_base(t) : t;
  if (t.impl()->flags & kNumber) return;  // nobody else has it
  if (st.saves.fetch_add(1, std::memory_order_relaxed) == 0 && category_of(st) == Category::temporary)
    set_category(t, Category::activation);
}

namespace {

struct Release {
  void operator()(Node* n) const { release(n); }
};
using OwnNode = std::unique_ptr<Node, Release>;

Node* make_node(Op id, const OpDef& op, const Arg* args, int n, const Tensor* out, int nout) {
  Shape s = measure(args, n, out, nout);
  int total = s.nin + nout;
  size_t bytes = sizeof(Node) + sizeof(Edge) * size_t(s.nin) + sizeof(Saved) * size_t(total) + sizeof(Meta) * size_t(total) +
                 sizeof(Arg) * size_t(n) + sizeof(int64_t) * (size_t(s.dims) + s.ints);
  OwnNode own(new (pool_allocate(bytes)) Node);
  Node* node = own.get();
  char* at = reinterpret_cast<char*>(node + 1);
  auto take = [&](auto type, int count) {
    using T = typename decltype(type)::type;
    T* p = reinterpret_cast<T*>(at);
    at += sizeof(T) * size_t(count);
    for (int i = 0; i < count; ++i) new (p + i) T();
    return p;
  };
  node->edges = take(std::type_identity<Edge>(), s.nin);
  node->saved = take(std::type_identity<Saved>(), total);
  node->meta = take(std::type_identity<Meta>(), total);
  node->args = take(std::type_identity<Arg>(), n);
  auto* dims = reinterpret_cast<int64_t*>(at);
  node->id = node->shown = id;
  node->nin = uint16_t(s.nin);
  node->nout = uint16_t(nout);
  node->nargs = uint16_t(n);
  node->bytes = uint32_t(bytes);
  node->module = t_module;
  node->seq = g_seq.fetch_add(1, std::memory_order_relaxed);
  uint16_t wanted = 0;
  auto needs = [&](int i) {
    if (op.kind == OpKind::pointwise || i < 8) return op.needs[i < 8 ? i : 7];
    return op.needs[7];
  };
  for_each_tensor(args, n, [&](const Tensor& t, int i) {
    TensorImpl& impl = *t.impl();
    node->meta[i] = make_meta(t, dims);
    if (!(impl.flags & kRequiresGrad)) return;
    Edge& e = node->edges[i];
    if (impl.node) {
      impl.node->refs.fetch_add(1, std::memory_order_relaxed);
      e.node = impl.node;
      e.output = impl.output;
    } else {
      impl.refs.fetch_add(1, std::memory_order_relaxed);
      e.leaf = &impl;
    }
    wanted |= needs(i);
  });
  for_each_tensor(args, n, [&](const Tensor& t, int i) {
    if (wanted & in(std::min(i, 7))) save(node->saved[i], t);  // the last bit stands for all from there on: lists
  });
  for (int i = 0; i < n; ++i) {
    Arg& a = node->args[i];
    switch (args[i].kind) {
      case Arg::Kind::tensor:
      case Arg::Kind::tensors:
        a.kind = args[i].kind;
        a.n = args[i].n;
        break;
      case Arg::Kind::ints:
        a = args[i];
        std::copy(a.ints, a.ints + a.n, dims);
        a.ints = dims;
        dims += a.n;
        break;
      case Arg::Kind::text:
        a = args[i];
        std::memcpy(dims, a.text, a.n);
        a.text = reinterpret_cast<const char*>(dims);
        dims += (a.n + 7) / 8;
        break;
      default:
        a = args[i];
    }
  }
  for (int j = 0; j < nout; ++j)
    if (out[j].defined()) {
      node->meta[s.nin + j] = make_meta(out[j], dims);
      if (wanted & dyadic::out(j)) save(node->saved[s.nin + j], alias(out[j]));
    }
  if (t_pack) pack_saved(*node);
  return own.release();
}

// Nodes later than `since` that `node` was computed by hold self's old version; self is about to hold them, and the two would
// keep each other alive. They hold another view instead, of the same version.
void let_go(Node* node, const Tensor& self, uint64_t since) {
  if (!self.impl()->storage->saves.load(std::memory_order_relaxed)) return;
  std::vector<Node*> todo = {node};
  std::unordered_set<Node*> seen;
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    for (int i = 0; i < n->nin; ++i) {
      if (n->saved[i].tensor.is_same(self)) n->saved[i].tensor = alias(self);
      Node* input = n->edges[i].node;
      if (input && input->seq > since && seen.insert(input).second) todo.push_back(input);
    }
  }
}

// A view may be of the real and imaginary parts of a complex base, or of the pairs of a real one as complex numbers: histories
// go through view_as_real and view_as_complex then.
bool shows_parts(const TensorImpl& view, const TensorImpl& base) {
  return base.dtype.is_complex() && view.dtype == base.dtype.to_real() && base.ndim < kMaxDims;
}
}  // namespace

Tensor tape::recorded(Op id, const Tensor& t, const Tensor& result) {
  const Arg args[] = {t};
  if (t.impl()->flags & kRequiresGrad) attach(make_node(id, op_def(id), args, 1, &result, 1), result, 0);
  return result;
}

namespace {

Tensor recorded_parts(const Tensor& t) { return recorded(Op::view_as_real_, t, complex_parts(t)); }

// The base with a region replaced by what `node` wrote into it through the view.
Node* replace_region(OwnNode node, const Tensor& view, const Tensor& base) {
  Tensor written = alias(view);
  attach(node.release(), written, 0);
  if (shows_parts(*base.impl(), *view.impl())) written = recorded_parts(written);
  const bool parts = shows_parts(*view.impl(), *base.impl());
  const Tensor whole = parts ? recorded_parts(base) : base;
  const Arg args[] = {whole, written, written.sizes(), written.strides(), written.storage_offset() - whole.storage_offset()};
  OwnNode replaced(make_node(Op::strided_scatter_, op_def(Op::strided_scatter_), args, 5, &whole, 1));
  if (!parts) return replaced.release();
  const Tensor after = alias(whole);
  attach(replaced.release(), after, 0);
  const Arg joined[] = {after};
  return make_node(Op::view_as_complex_, op_def(Op::view_as_complex_), joined, 1, &base, 1);
}

// Gives the node to those outputs that have gradients.
void attach_outputs(Node* node, const Tensor* out, int nout) {
  int held = 0;  // references given away, of the one that is there
  for (int j = 0; j < nout; ++j)
    if (out[j].defined() && (out[j].dtype().is_floating_point() || out[j].dtype().is_complex())) {
      if (held++) node->refs.fetch_add(1, std::memory_order_relaxed);
      attach(node, out[j], j);
    }
  if (!held) release(node);
}

}  // namespace

const char* node_name(const Node& n) { return n.extra && !n.extra->name.empty() ? n.extra->name.c_str() : op_name(n.id); }
NodeExtra& node_extra(Node& n) {
  if (!n.extra) n.extra = new NodeExtra;
  return *n.extra;
}

uint64_t tape_position() { return g_seq.load(std::memory_order_relaxed); }

void record_function(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, NodeExtra function, bool keep_inputs) {
  for (Tensor& t : outputs)
    for (const Tensor& in : inputs)
      if (t.defined() && t.is_same(in)) t = alias(t);
  static const OpDef none{}, all = [] {
    OpDef own{};
    std::fill(std::begin(own.needs), std::end(own.needs), uint16_t(0xff));
    return own;
  }();
  const Arg args[] = {Arg(inputs)};
  Node* node = make_node(Op::clone_, keep_inputs ? all : none, args, 1, outputs.data(), int(outputs.size()));
  node->extra = new NodeExtra(std::move(function));
  attach_outputs(node, outputs.data(), int(outputs.size()));
}

void release_saved(Node& n) {
  for (int i = 0; i < n.nin + n.nout; ++i)
    if (n.saved[i].tensor.defined()) drop_saved(n.saved[i]);
  if (n.extra) n.extra->packed.clear();
}

void release(Node* n) noexcept {
  if (!drop(n->refs)) return;
  n->next_dead = t_dead;
  t_dead = n;
  if (t_freeing) return;
  t_freeing = true;
  while (Node* d = t_dead) {
    t_dead = d->next_dead;
    free_node(*d);
  }
  t_freeing = false;
}

void destroy_tape(TensorImpl& t) noexcept {
  if (t.node) release(t.node);
  if (t.meta) {
    t.meta->~AutoMeta();
    pool_release(t.meta, sizeof(AutoMeta));
  }
}

AutoMeta& auto_meta(TensorImpl& t) {
  if (!t.meta) t.meta = new (pool_allocate(sizeof(AutoMeta))) AutoMeta;
  return *t.meta;
}

void attach_used_up(const Tensor& t, const UsedUp& what) {
  Node* node = make_node(what.id, op_def(what.id), nullptr, 0, &t, 1);
  node->shown = what.shown;
  node->released = true;
  attach(node, t, 0);
}

void record(Op id, const OpDef& op, const Arg* args, int n, Tensor* out, int nout) {
  if (!op.backward && !op.pw.grads) return;
  attach_outputs(make_node(id, op, args, n, out, nout), out, nout);
}

void check_recordable(const char* who, const Tensor& self) {
  const TensorImpl& t = *self.impl();
  DY_CHECK(
      !(t.flags & kOneOfMany),
      "{}_: one of several views that one function made is written in place while gradients are recorded: it is {}; use the "
      "out-of-place form",
      who, describe(self));
  DY_CHECK(!(self.is_leaf() && self.requires_grad()),
           "{}_: a leaf that requires grad is written in place; wrap it in no_grad, or use the out-of-place form", who);
  if (!t.base) {
    DY_CHECK(t.offset == 0 && t.numel * t.dtype.itemsize() == t.storage->bytes,
             "{}_: a view that was made without recording is written in place while gradients are recorded; make it outside of "
             "no_grad, or use the out-of-place form",
             who);
    return;
  }
  const TensorImpl& base = *t.base;
  DY_CHECK(base.node || !(base.flags & kRequiresGrad),
           "{}_: a view of a leaf that requires grad is written in place; wrap it in no_grad, or clone the leaf first", who);
  DY_CHECK(base.contiguous() && (base.dtype == t.dtype || shows_parts(t, base) || shows_parts(base, t)),
           "{}_: a view is written in place while gradients are recorded, and its base is {}: of another dtype, or not "
           "contiguous; use the out-of-place form",
           who, describe(borrow(t.base)));
}

void record_inplace(Op id, const OpDef& op, const Arg* args, int n, const Tensor& self) {
  Tensor out[1] = {self};
  OwnNode node(make_node(id, op, args, n, out, 1));
  // What was saved of self before the write has the old version only if it is really needed: it was overwritten, so say so
  // then.
  for (int i = 0; i < node->nin; ++i)
    if (node->saved[i].tensor.defined() && node->saved[i].tensor.impl()->storage == self.impl()->storage)
      --node->saved[i].version;
  const Tensor base = self.impl()->base ? borrow(self.impl()->base) : self;
  if (!base.is_same(self)) node.reset(replace_region(std::move(node), self, base));
  Node* before = base.impl()->node;
  if (before && before->extra && base.impl()->meta && base.impl()->meta->retained) {
    const std::shared_ptr<Tensor>& slot = base.impl()->meta->retained;
    std::erase_if(before->extra->hooks, [&](auto& h) {
      const auto* keep = h.second.template target<KeepGradient>();
      return keep && keep->slot == slot;
    });
    node_extra(*node).hooks.emplace_back(0, KeepGradient{slot});
  }
  let_go(node.get(), base, before ? before->seq : 0);
  attach(node.release(), base, 0);
  self.impl()->storage->rebases.fetch_add(1, std::memory_order_relaxed);
}

void renew_history(TensorImpl& t) {
  if (Node* old = std::exchange(t.node, nullptr)) release(old);
  t.flags &= uint8_t(~kRequiresGrad);
  t.epoch = t.storage->rebases.load(std::memory_order_relaxed);
  if (!(t.base->flags & kRequiresGrad)) return;
  const Tensor base = shows_parts(t, *t.base) ? recorded_parts(borrow(t.base)) : borrow(t.base), view = borrow(&t);
  const bool pairs = shows_parts(*t.base, t);
  const Tensor region = pairs ? complex_parts(view) : view;
  const Arg args[] = {base, region.sizes(), region.strides(), region.storage_offset(), base.strides(), base.storage_offset()};
  attach(make_node(Op::strided_view_, op_def(Op::strided_view_), args, 6, &region, 1), region, 0);
  if (pairs) recorded(Op::view_as_complex_, region, view);
}

}  // namespace dyadic::inline v1
