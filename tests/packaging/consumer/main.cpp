// A program outside the project: a product with its gradient, a conversion, an error that is caught.
#include <dyadic/dyadic.h>
#include <dyadic/version.h>

#include <cstdio>

namespace dy = dyadic;

int main() {
  dy::Tensor x = dy::ones({2, 3}).requires_grad_();
  dy::Tensor y = dy::matmul(x, dy::full({3, 4}, 0.5));
  dy::sum(y).backward();
  const char* caught = "nothing";
  try {
    dy::matmul(x, x);
  } catch (const dy::Error&) { caught = "Error"; }
  std::printf("dyadic %s: %g %g %s %s\n", DYADIC_VERSION, y.index({1, 3}).item(), x.grad().index({1, 2}).item(),
              y.to(dy::bf16).dtype().name().c_str(), caught);
}
