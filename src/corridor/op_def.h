// The record of an op: everything that is known about it, in one constant. Bindings, stubs, the reference page, the autocast
// list, the FLOP table and the test matrix are computed from these; there is no other list of ops.
#pragma once
#include <vector>

#include "corridor/handles.h"
#include "formats/format.h"
#include "loops/tile.h"

namespace dyadic::inline v1 {

class Call;  // corridor/call.h
class Grad;  // corridor/tape.h
class Args;  // corridor/args.h
class Tensor;
struct Arg;
struct Traced;
enum class Op : uint16_t;

enum class OpKind : uint8_t {
  kernel,     // infer, then a backend's kernel fills the outputs the corridor allocated
  pointwise,  // tiles; infer, plan and backward are the generic ones
  view,       // view() makes one of args[0]; no memory, no arithmetic
  composite,  // compose() calls other ops; never reaches the corridor itself
};
enum class Types : uint8_t {
  same,       // result has the promoted type of the inputs
  counted,    // the same, but of bool it is i64
  float_out,  // integers become the default float
  compare,    // computed in the promoted type, result is bool
  custom,     // infer decides
};
enum class Amp : uint8_t { promote, lower, f32 };  // under autocast: leave, run in the low type, run in f32

inline constexpr int kMaxInputs = kMaxOperands - 2;  // of an op: its gradient's tile reads g and the result too
// What is known of a pointwise op; its tiles are a Kernel's.
struct Pointwise {
  int inputs = 0, params = 0;
  uint8_t computes = 0;          // bit c: defined in Compute c
  uint8_t grads = 0;             // bit k: input k has a gradient
  bool real_of_complex = false;  // of complex inputs the result is real
  bool bits = false;             // each bit of an integer is computed by itself
  bool gives_dtype = false;      // the last argument is the result's dtype
  bool grad_is_g[kMaxInputs]{};  // the gradient is g itself: nothing to compute
  int flops = 0, grad_flops[kMaxInputs]{};
  int complex_flops = 0, complex_grad_flops[kMaxInputs]{};
  Traced (*trace)(const Traced* in, const Traced* params) = nullptr;  // the same lambda on a tracer
  Traced (*trace_grad[kMaxInputs])(const Traced* in, const Traced* params){};
  bool in(Compute c) const { return computes >> int(c) & 1; }
  bool has_grad(int k) const { return grads >> k & 1; }
};

// Bits of OpDef::needs: what the gradient of input i reads.
constexpr uint16_t in(int i) { return uint16_t(1u << i); }
constexpr uint16_t in(TensorArg a) { return in(a.tensor); }
constexpr uint16_t out(int i) { return uint16_t(1u << (8 + i)); }
inline constexpr uint16_t kAllInputs = 0xff;

struct OpDef {
  const char* sig;           // PyTorch's notation: "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  const char* doc = "";      // one line or a few: shapes, dtypes, formula, source
  const char* aliases = "";  // PyTorch's other names for it, separated by spaces: "absolute"
  OpKind kind = OpKind::kernel;
  Types types = Types::custom;
  Amp amp = Amp::promote;
  bool inplace = false;       // also exists as `name_`
  bool internal = false;      // a part of other ops: in no public header, binding or reference
  double low = -3, high = 3;  // where the op suite samples its inputs
  const char* samples = "";   // further calls for the op suite: lines of its small language (tests/op_suite/README.md)
  const char* bad = "";       // calls that must fail: lines "call => exact text"
  const char* skip = "";      // reasons why a check of the suite does not apply: lines "check: reason"

  Pointwise pw{};
  void (*infer)(Call&) = nullptr;          // dtype and shape rule: sets the outputs' specs
  void (*view)(Call&) = nullptr;           // of a view: makes it
  void (*backward)(Grad&) = nullptr;       // written in ops
  uint16_t needs[8]{};                     // of backward, per input: in(i) | out(j)
  double (*flops)(const Call&) = nullptr;  // null: moves data only (0)
  Tensor (*compose)(Args args) = nullptr;
  std::vector<Tensor> (*compose_all)(Args args) = nullptr;  // of a composite with several results, or Tensor[]
  Tensor (*complex)(Args args) = nullptr;  // what it is of complex tensors, in other ops; null: like any other dtype
  // The op that a call stands for, by its arguments: add with an alpha, clamp without a minimum. May rewrite args and drop the
  // last.
  Op (*variant)(Arg* args, int& n) = nullptr;
  uint16_t writes = 0;          // in(i): inputs that are overwritten, beside giving results
  bool random = false;          // draws from the generator: the call index is part of the result
  bool moves = false;           // between devices: the kernel only moves bytes, and is the host's
  bool complex_kernel = false;  // the kernel computes with complex numbers itself
  int8_t index = -1;            // the argument that holds positions: int32 ones are taken for int64
};

// How a backend runs an op. Records say what an op is, once; a column of kernels stands beside them for each backend and, on
// the CPU, for each instruction set (corridor/registry.cpp).
struct Kernel {
  void (*plan)(Call&) = nullptr;  // after the rules, when the results' geometry is known: workspace, parameters, what runs
  bool dense = false;             // reads contiguous tensors: others are copied, as workspace
  uint16_t blocked = 0;           // in(i) | out(j): read or written in blocked formats by the kernel itself
};
struct Tiles {                     // of a pointwise op
  Tile forward[kComputes]{};       // by Compute; null: not defined there
  Tile forward_bf16 = nullptr;     // the f32 one on bf16 as it is stored; null where it is
  Tile forward_narrow[kNarrow]{};  // the i32 one on narrow integers as they are stored
  bool takes_one = false;          // those of f32 and f64 read single elements (loops/tile.h)
};
struct PointwiseKernel : Kernel {
  Tiles tiles{};
  Tiles grad[kMaxInputs]{};  // dL/d input k of (g, inputs..., output)
};
// What a pointwise op file makes: in one of the columns with the record, in the others without.
template <bool kRecord> struct PointwiseRecord;
template <> struct PointwiseRecord<true> {
  OpDef def;
  PointwiseKernel kernel;
};
template <> struct PointwiseRecord<false> {
  PointwiseKernel kernel;
};

}  // namespace dyadic::inline v1
