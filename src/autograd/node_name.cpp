// What a tensor's grad_fn is called: as PyTorch calls it, so that what notebooks print is the same.
#include <cctype>
#include <iterator>

#include "corridor/tape.h"

namespace dyadic::inline v1 {
namespace {

const char* product(const Node& n) {
  if (n.id != Op::matmul_) return "Mm";
  const int a = n.meta[0].ndim, b = n.meta[1].ndim;
  if (a > 2 || b > 2) return "UnsafeView";
  return a == 2 && b == 2 ? "Mm" : a == 2 ? "Mv" : b == 2 ? "Squeeze4" : "Dot";
}
const char* affine(const Node& n) {
  if (n.id == Op::matmul_) return product(n);
  const bool bias = n.nin > 2 && n.meta[2].dtype;
  if (n.id != Op::linear_ || n.meta[0].ndim == 2) return bias ? "Addmm" : "Mm";
  return n.meta[0].ndim == 1 && !bias ? "Squeeze4" : "UnsafeView";
}

// Where PyTorch's node has not the op's own name: it calls an op of another name. A digit at the end is the form's (below).
struct Name {
  Op op;
  const char* name;
  const char* (*by_call)(const Node&) = nullptr;
};
constexpr Name kNames[] = {
    {Op::matmul_, "", product},
    {Op::linear_, "", affine},
    {Op::cross_entropy_, "NllLoss"},
    {Op::add_scaled_, "Add"},
    {Op::square_, "Pow"},
    {Op::clamp_below_, "Clamp1"},
    {Op::clamp_above_, "Clamp1"},
    {Op::clamp_between_, "Clamp1"},
    {Op::clamp_tensors_, "Clamp"},
    {Op::reshape_, "View"},
    {Op::flatten_, "View"},
    {Op::unflatten_, "View"},
    {Op::contiguous_, "Clone"},
    {Op::cast_, "ToCopy"},
    {Op::to_, "ToCopy"},
    {Op::pad_, "ConstantPadNd"},
    {Op::einsum_, "View"},
    {Op::max_pool1d_, "Squeeze1"},
    {Op::avg_pool1d_, "Squeeze1"},
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
  for (const Name& known : kNames) {
    if (known.op != op) continue;
    std::string name = known.by_call ? known.by_call(n) : known.name;
    const char form = std::isdigit(name.back()) ? name.back() : '0';
    if (form != '0') name.pop_back();
    return name + "Backward" + form;
  }
  std::string_view own = op_name(op);
  for (std::string_view form : {"_dim", "_other"})  // max.dim
    if (own.ends_with(form)) own.remove_suffix(form.size());
  return camel(own) + "Backward" + std::to_string(form(op, n));
}

NodeName Tensor::grad_fn() const { return is_leaf() ? NodeName() : NodeName(shown_name(*p_->node)); }

}  // namespace dyadic::inline v1
