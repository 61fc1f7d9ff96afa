// The backward engine.
#pragma once
#include "corridor/tape.h"
#include "dyadic/autograd.h"

namespace dyadic::inline v1 {

// Gradient of a pointwise record: its gradient lambdas as tiles, or as ops when the gradient is itself recorded.
void pointwise_backward(const OpDef& op, Grad& g);

// Brings a gradient to the shape and dtype of what it belongs to: sums over broadcast dimensions, casts.
Tensor fit_gradient(Tensor g, const Meta& meta);

// A function's backward that gets undefined gradients as they are; others get zeros in their place.
struct BackwardOfSome {
  std::function<std::vector<Tensor>(std::span<const Tensor>)> run;
  std::vector<Tensor> operator()(std::span<const Tensor> gradients) const { return run(gradients); }
};

// Runs the backward of a function of its own: it gets zeros for outputs that nothing depends on (unless it is a
// BackwardOfSome), and owes a gradient to each input, of its shape or of one that it broadcasts to.
void run_function(Node& n, Tensor* gradients, Tensor* results);

// In a function's own backward: `output`, saved without history, as output j of that function. A function that saved what has
// its history would hold itself.
Tensor as_own_output(int j, const Tensor& output);

// `written` with the history of `result`, which was made over it: returns it.
Tensor adopt_history(const Tensor& written, const Tensor& result);

}  // namespace dyadic::inline v1
