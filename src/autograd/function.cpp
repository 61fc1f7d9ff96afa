// Functions with a backward of their own.
#include "autograd/engine.h"
#include "base/check.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

thread_local Node* t_function = nullptr;  // whose own backward runs

bool expands(IntList from, IntList to) {
  const size_t more = to.size() - from.size();
  for (size_t d = 0; d < from.size() && from.size() <= to.size(); ++d)
    if (from[d] != to[more + d] && from[d] != 1) return false;
  return from.size() <= to.size();
}

}  // namespace

FunctionContext::FunctionContext(std::span<const Tensor> inputs) {
  for (const Tensor& t : inputs) needs_.push_back(t.defined() && t.requires_grad());
}
void FunctionContext::save_for_backward(std::vector<Tensor> tensors) {
  saved_ = std::move(tensors);
  versions_.clear();
  output_of_.assign(saved_.size(), -1);
  for (const Tensor& t : saved_) versions_.push_back(t.defined() ? t.version() : 0);
}
const std::vector<Tensor>& FunctionContext::saved_tensors() const {
  for (size_t i = 0; i < saved_.size(); ++i)
    DY_CHECK(!saved_[i].defined() || saved_[i].version() == versions_[i],
             "saved_tensors: a tensor needed for backward was overwritten: saved tensor {} was written in place after the "
             "forward; clone it before writing",
             i);
  if (given_.empty())
    for (size_t i = 0; i < saved_.size(); ++i)
      given_.push_back(output_of_[i] < 0 ? saved_[i] : as_own_output(output_of_[i], saved_[i]));
  return given_;
}
void FunctionContext::let_go_of(std::span<const Tensor> outputs) {
  for (size_t i = 0; i < saved_.size(); ++i)
    for (size_t j = 0; j < outputs.size(); ++j)
      if (saved_[i].defined() && saved_[i].is_same(outputs[j])) output_of_[i] = int(j);
  for (size_t i = 0; i < saved_.size(); ++i)
    if (output_of_[i] >= 0) saved_[i] = saved_[i].detach();
}

std::vector<Tensor> detail::record_function(const char* name, std::span<const Tensor> inputs, std::vector<Tensor> outputs,
                                            std::shared_ptr<FunctionContext> context, FunctionCall backward) {
  bool any = false;
  for (const Tensor& t : inputs) any |= t.defined() && t.requires_grad();
  if (!any || !GradMode::enabled()) return outputs;
  NodeExtra function;
  function.name = name;
  FunctionContext& c = *context;
  function.backward = [context = std::move(context), backward](std::span<const Tensor> g) {
    const struct End {
      FunctionContext& context;
      ~End() { context.end_backward(); }
    } end{*context};
    return backward(*context, g);
  };
  dyadic::record_function(inputs, outputs, std::move(function));
  c.let_go_of(outputs);
  return outputs;
}

void run_function(Node& n, Tensor* gradients, Tensor* results) {
  for (int j = 0; j < n.nout && !n.extra->backward.target<BackwardOfSome>(); ++j)
    if (const Meta& m = n.meta[n.nin + j]; !gradients[j].defined() && m.dtype)
      gradients[j] = zeros(m.shape(), m.dtype, m.device);
  const struct Running {
    Node* before;
    explicit Running(Node& n) : before(std::exchange(t_function, &n)) {}
    ~Running() { t_function = before; }
  } running(n);
  std::vector<Tensor> given = n.extra->backward({gradients, n.nout});
  DY_CHECK(given.size() == n.nin, "{}: its backward returns the wrong number of gradients: {} for {} inputs", node_name(n),
           given.size(), n.nin);
  for (int i = 0; i < n.nin; ++i) {
    if (!n.edges[i].used() || !given[size_t(i)].defined()) continue;
    DY_CHECK(expands(n.meta[i].shape(), given[size_t(i)].sizes()),
             "{}: its backward returns a gradient of the wrong shape: {} for input {} of shape {}", node_name(n),
             describe(given[size_t(i)]), i, shape_text(n.meta[i].shape()));
    results[i] = given[size_t(i)];
  }
}

Tensor as_own_output(int j, const Tensor& output) {
  if (!t_function || !GradMode::enabled()) return output;
  Tensor t = output.detach();
  t_function->refs.fetch_add(1, std::memory_order_relaxed);
  t.impl()->node = t_function;
  t.impl()->output = uint16_t(j);
  t.impl()->flags |= kRequiresGrad;
  return t;
}

Tensor adopt_history(const Tensor& written, const Tensor& result) {
  TensorImpl &to = *written.impl(), &from = *result.impl();
  if (!from.node) return written;
  from.node->refs.fetch_add(1, std::memory_order_relaxed);
  if (Node* before = std::exchange(to.node, from.node)) release(before);
  to.output = from.output;
  to.flags |= kRequiresGrad;
  return written;
}

}  // namespace dyadic::inline v1
