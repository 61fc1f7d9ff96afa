// What a tensor's grad_fn is called: as PyTorch calls it, so that what notebooks print is the same.
#include <cctype>
#include <iterator>

#include "corridor/tape.h"

namespace dyadic::inline v1 {
namespace {

const char* product(const Node& n) {
  const int a = n.meta[0].ndim, b = n.meta[1].ndim;
  if (a > 2 || b > 2) return a == 3 && b == 3 ? "Bmm" : "UnsafeView";
  return a == 2 && b == 2 ? "Mm" : a == 2 ? "Mv" : b == 2 ? "Squeeze" : "Dot";
}
const char* affine(const Node& n) {
  const bool bias = n.nin > 2 && n.meta[2].dtype;
  return n.meta[0].ndim > 2 ? (bias ? "View" : "UnsafeView") : bias ? "Addmm" : "Mm";
}
// Where PyTorch's node has not the op's own name: it calls an op of another name, or has several forms of one.
struct Name {
  Op op;
  const char* name;
  const char* (*by_call)(const Node&) = nullptr;
};
constexpr Name kNames[] = {
    {Op::matmul_, "Mm", product},
    {Op::linear_, "Addmm", affine},
    {Op::cross_entropy_, "NllLoss"},
    {Op::add_scaled_, "Add"},
    {Op::square_, "Pow"},
    {Op::clamp_below_, "Clamp"},
    {Op::clamp_above_, "Clamp"},
    {Op::clamp_between_, "Clamp"},
    {Op::clamp_tensors_, "Clamp"},
    {Op::reshape_, "View"},
    {Op::flatten_, "View"},
    {Op::unflatten_, "View"},
    {Op::contiguous_, "Clone"},
    {Op::cast_, "ToCopy"},
    {Op::strided_view_, "AsStrided"},
    {Op::hstack_, "Cat"},
    {Op::vstack_, "Cat"},
    {Op::chunk_, "Split"},
    {Op::outer_, "Mul"},
    {Op::dropout_, "Mul"},
    {Op::relu6_, "Hardtanh"},
    {Op::selu_, "Elu"},
    {Op::gelu_tanh_, "Gelu"},
    {Op::logsigmoid_, "LogSigmoid"},
    {Op::norm_, "LinalgVectorNorm"},
    {Op::vector_norm_, "LinalgVectorNorm"},
    {Op::conv1d_, "Convolution"},
    {Op::conv2d_, "Convolution"},
    {Op::conv3d_, "Convolution"},
    {Op::conv_transpose1d_, "Convolution"},
    {Op::conv_transpose2d_, "Convolution"},
    {Op::conv_transpose3d_, "Convolution"},
    {Op::batch_norm_, "NativeBatchNorm"},
    {Op::group_norm_, "NativeGroupNorm"},
    {Op::layer_norm_, "NativeLayerNorm"},
    {Op::max_pool2d_, "MaxPool2DWithIndices"},
    {Op::max_pool3d_, "MaxPool3DWithIndices"},
    {Op::scaled_dot_product_attention_, "ScaledDotProductFlashAttentionForCpu"},
    {Op::inverse_, "LinalgInvEx"},
    {Op::linalg_inv_, "LinalgInvEx"},
    {Op::linalg_cholesky_, "LinalgCholeskyEx"},
    {Op::linalg_solve_, "LinalgSolveEx"},
    {Op::det_, "LinalgDet"},
};

// The number behind a name counts the forms that PyTorch gives a gradient: of all elements and of some dimensions.
int form(Op op, const Node& n) {
  auto lists_dims = [&] {
    for (int i = 0; i < n.nargs; ++i)
      if (n.args[i].kind == Arg::Kind::ints && n.args[i].n) return true;
    return false;
  };
  switch (op) {
    case Op::sum_:
    case Op::mean_:
    case Op::prod_:
      return lists_dims();
    case Op::max_:
    case Op::min_:
    case Op::clamp_below_:
    case Op::clamp_above_:
    case Op::clamp_between_:
      return 1;
    case Op::pow_:
      return n.meta[1].ndim > 0;
    default:
      return 0;
  }
}

// "max_pool2d" is MaxPool2D.
std::string camel(std::string_view name) {
  std::string out;
  bool upper = true;
  for (char c : name) {
    if (c != '_') out += upper ? char(std::toupper(c)) : c;
    upper = c == '_' || (std::isdigit(c) && out.size() > 1);
  }
  return out;
}

}  // namespace

std::string shown_name(const Node& n) {
  if (n.extra && !n.extra->name.empty()) return n.extra->name + "Backward";
  const Op op = n.shown;
  if (op == Op::copy_) return "CopyBackwards";
  if (op == Op::strided_scatter_) return "CopySlices";
  for (const Name& name : kNames)
    if (name.op == op)
      return std::string(name.by_call && n.id == op ? name.by_call(n) : name.name) + "Backward" + std::to_string(form(op, n));
  std::string_view own = op_name(op);
  for (std::string_view form : {"_dim", "_other"})  // max.dim
    if (own.ends_with(form)) own.remove_suffix(form.size());
  return camel(own) + "Backward" + std::to_string(form(op, n));
}

std::string Tensor::grad_fn() const { return is_leaf() ? "" : shown_name(*p_->node); }

}  // namespace dyadic::inline v1
