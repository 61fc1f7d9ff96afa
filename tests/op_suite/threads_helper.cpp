// The same bits, forward and backward, for any number of threads.
#include "base/parallel.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

struct Threads {
  int before = num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
};

#ifdef __SANITIZE_ADDRESS__  // which looks at the pieces' memory; bits are compared without it
constexpr int kCounts[] = {1, 7};
#else
constexpr int kCounts[] = {1, 2, 3, 7};
#endif

}  // namespace

void check_threads(Op op, DType dtype, Layout) {
  for (const Case& c : large_cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype);
    std::string forward, backward;
    for (int n : kCounts) {
      Threads scope(n);
      Outcome o;
      {
        NoGrad guard;
        o = run(c, inputs);
      }
      if (o.failed()) break;  // values says whether it may
      const std::string f = bits(o.out), b = differentiable(op_def(op)) ? bits(gradients(c, inputs)) : "";
      if (n == 1) forward = f, backward = b;
      EXPECT_TRUE(f == forward) << "the result with " << n << " threads";
      EXPECT_TRUE(b == backward) << "the gradients with " << n << " threads";
      compared();
    }
  }
}

}  // namespace dyadic::op_suite
