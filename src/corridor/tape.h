// The tape: a node per recorded call keeps what its gradient needs, and edges to the nodes that made its inputs.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "corridor/call.h"

namespace dyadic::inline v1 {

struct Edge {                  // where a gradient goes: to output `output` of a node, or to a leaf
  Node* node = nullptr;        // strong
  TensorImpl* leaf = nullptr;  // strong
  uint16_t output = 0;
  bool used() const { return node || leaf; }
};
struct Saved {
  Tensor tensor;
  uint32_t version = 0;
};
struct Meta {  // of an input or output, after the tensor itself may be gone
  DType dtype;
  uint8_t ndim;
  Device device;
  const int64_t* sizes;
  IntList shape() const { return {sizes, ndim}; }
};

using Hook = std::function<Tensor(const Tensor&)>;  // of a gradient; a defined result replaces it

// Of a node: (gradients of its inputs, gradients of its outputs), undefined where there are none. Before backward, when the
// first are empty, it may replace the second; after it, the first: what it returns, unless empty.
using NodeHook = std::function<std::vector<Tensor>(std::span<const Tensor>, std::span<const Tensor>)>;

// In the place of saving a tensor: takes it without its history, gives what backward gets it back from. Null: none is set.
using Unpack = std::function<Tensor()>;
using Pack = std::function<Unpack(const Tensor&)>;
extern constinit thread_local const Pack* t_pack;

// What hooks and functions hold that is another language's, for its garbage collector: with the node or the leaf it goes.
using Owned = std::vector<std::shared_ptr<void>>;

// What belongs to few nodes: hooks on their outputs and on them, and the backward of a function that is no op.
struct NodeExtra {
  std::string name;                                                      // of that function
  std::function<std::vector<Tensor>(std::span<const Tensor>)> backward;  // gradients of the outputs -> of the inputs
  std::vector<std::pair<uint16_t, Hook>> hooks;                          // output, hook
  std::vector<NodeHook> before, after;                                   // its backward
  std::vector<std::pair<uint16_t, Unpack>> packed;                       // which of Node::saved, where it is instead
  Owned owned;                                                           // by the above
  std::shared_ptr<void> context;                                         // of that function: what Python shows of the node
  std::function<void()> let_go;                                          // of what that function saved, after backward
};

struct Node {
  std::atomic<int32_t> refs{1};
  uint16_t nin = 0, nout = 0, nargs = 0;
  bool released = false;  // a backward without retain_graph has been here
  Op id{};
  Op shown{};                  // what it is called: the composition whose result it made, else id
  uint32_t bytes = 0;          // of this allocation, arrays included
  uint32_t module = 0;         // where the forward ran: backward is charged there
  uint64_t seq = 0;            // creation order; backward runs it down
  Edge* edges = nullptr;       // nin
  Saved* saved = nullptr;      // nin inputs, then nout outputs; undefined where not needed
  Meta* meta = nullptr;        // nin inputs, then nout outputs
  Arg* args = nullptr;         // nargs, tensors blanked
  NodeExtra* extra = nullptr;  // owned; mostly absent
  Node* next_dead = nullptr;
};
const char* node_name(const Node& n);   // the op's or the function's
std::string shown_name(const Node& n);  // PyTorch's name: "AddBackward0" (autograd/node_name.cpp)
NodeExtra& node_extra(Node& n);
void release(Node* n) noexcept;  // frees chains of any length without recursion
void release_saved(Node& n);     // drops saved tensors only

// What was packed is in Node::saved again while it lives.
class Unpacked {
  Node& node_;

 public:
  explicit Unpacked(Node& n);
  ~Unpacked();
  Unpacked(const Unpacked&) = delete;
};

// Records `call` for outputs `out`: called by the corridor when an input requires grad.
void record(Op id, const OpDef& op, const Arg* args, int n, Tensor* out, int nout);
// The same for an in-place call: args[0] is what was overwritten. check_recordable: before the call, an Error if its history
// cannot be written down.
void check_recordable(const char* who, const Tensor& self);
void record_inplace(Op id, const OpDef& op, const Arg* args, int n, const Tensor& self);

// Outputs of a function with its own backward, computed without recording; an output that is an input becomes another view.
// keep_inputs: the node saves them, so that the ledger counts them as activations.
void record_function(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, NodeExtra function,
                     bool keep_inputs = false);
uint64_t tape_position();  // nodes made from here on have a seq of at least this

// The hook of retain_grad(). A write into the tensor takes it along to the new node.
struct KeepGradient {
  std::shared_ptr<Tensor> slot;
  Tensor operator()(const Tensor& g) const;
};

struct AutoMeta {  // a leaf's gradient and hooks
  Tensor grad;
  std::vector<Hook> hooks;
  Owned owned;                       // by the hooks
  std::shared_ptr<Tensor> retained;  // retain_grad() of what is no leaf: where the node's hook puts the gradient
};
AutoMeta& auto_meta(TensorImpl& t);

// What a record's backward works with.
class Grad {
 public:
  Node& node;
  const Edge* edges;        // the node's, as far as their gradients are wanted
  const Tensor* gradients;  // per output; may be undefined
  Tensor* result;           // per input
  const Tensor& g(int i = 0) const { return gradients[i]; }
  bool needs(int i) const { return i < node.nin && edges[i].used(); }
  const Tensor& in(int i) const;  // a saved input; an error if it was overwritten since
  Tensor out(int i = 0) const;
  const Meta& in_meta(int i) const { return node.meta[i]; }
  const Meta& out_meta(int i = 0) const { return node.meta[node.nin + i]; }
  bool has(int arg) const { return node.args[arg].kind != Arg::Kind::none; }
  int64_t integer(int arg) const { return node.args[arg].integer; }
  Scalar scalar(int arg) const {
    return node.args[arg].kind == Arg::Kind::scalar ? node.args[arg].scalar : Scalar(node.args[arg].real);
  }
  bool boolean(int arg) const { return node.args[arg].boolean; }
  void set(int i, Tensor t) { result[i] = std::move(t); }

  // The same by name; of a tensor there is what was saved, in(arg::self).
  template <class H>
    requires(!std::is_same_v<H, TensorArg> && !std::is_same_v<H, LateTensorArg> && !std::is_same_v<H, TensorsArg>)
  auto operator[](H h) const {
    return Args(node.args)[h];
  }
  const Arg& arg(AnyArg h) const { return node.args[h.at]; }
  bool has(AnyArg h) const { return has(h.at); }
  bool needs(TensorArg h) const { return needs(h.tensor); }
  const Tensor& in(TensorArg h) const { return in(h.tensor); }
  const Meta& in_meta(TensorArg h) const { return in_meta(h.tensor); }
  void set(TensorArg h, Tensor t) { set(h.tensor, std::move(t)); }
};

}  // namespace dyadic::inline v1
