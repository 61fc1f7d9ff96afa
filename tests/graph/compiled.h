// A compiled function beside the eager one.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "corridor/run.h"
#include "dyadic/compile.h"
#include "dyadic/generator.h"
#include "dyadic/ops.h"
#include "graph/fed.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {

inline std::string bits(const Tensor& t) {
  const Tensor c = t.detach().contiguous();
  return c.dtype().name() + shape_text(c.sizes()) +
         std::string(static_cast<const char*>(c.data_ptr()), size_t(c.numel() * c.dtype().itemsize()));
}
inline std::string bits(const std::vector<Tensor>& all) {
  std::string s;
  for (const Tensor& t : all) s += bits(t);
  return s;
}

// f(), then three runs of its compiled form.
template <class F> void expect_same(F f) {
  manual_seed(5);
  const std::string eager = bits(f());
  const std::string state = bits(randn({8}));
  auto compiled = compile(f);
  for (int run = 0; run < 3; ++run) {
    manual_seed(5);
    EXPECT_TRUE(bits(compiled()) == eager) << "run " << run << "\n" << compiled.explain();
    EXPECT_TRUE(bits(randn({8})) == state) << "the generator, run " << run;
  }
}

// Steps that ran again without their program.
inline int64_t replays(const std::string& explained) {
  return std::stoll(explained.substr(explained.find("whole steps: ") + 13));
}

struct PutOffAll {
  int64_t before = std::exchange(g_least_deferred, 1);
  ~PutOffAll() { g_least_deferred = before; }
};

// And feeds all to calls, in small bands.
struct FeedAll : PutOffAll {
  int64_t least = std::exchange(graph::g_least_fed, 1), band = std::exchange(graph::g_band, 1024);
  ~FeedAll() { graph::g_least_fed = least, graph::g_band = band; }
};

}  // namespace dyadic::inline v1
