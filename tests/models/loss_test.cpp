// The loss of a language model, whole and in bands.
#include "models/loss.h"

#include <gtest/gtest.h>

#include "dyadic/dyadic.h"
#include "dyadic/models.h"
#include "tests/models/apart.h"
#include "tests/tune/small_world.h"

namespace dyadic::testing {
namespace {

class LogitBytes {
  const int64_t before_ = models::g_most_logit_bytes;

 public:
  explicit LogitBytes(int64_t most) { models::g_most_logit_bytes = most; }
  ~LogitBytes() { models::g_most_logit_bytes = before_; }
};

struct Found {
  double loss;
  std::vector<std::pair<std::string, Tensor>> gradients;
  int64_t activations;
};

Found found(const std::string& path, DType dtype, int64_t most, bool mean, const Tensor& ids, const Tensor& labels) {
  const LogitBytes bytes(most);
  const models::Model m = models::load(path, {.dtype = dtype});
  m->train();
  const MemoryStats before = memory_stats();
  reset_peak_memory_stats();
  const Tensor loss = mean ? m->loss(ids, labels) : m->summed_loss(ids, labels);
  loss.backward();
  Found f{loss.item(), {}, memory_stats().peak[size_t(Category::activation)] - before.live[size_t(Category::activation)]};
  for (auto& [name, p] : m->named_parameters())
    if (p.grad().defined()) f.gradients.emplace_back(name, p.grad());
  return f;
}

TEST(LanguageModelLoss, InBandsIsTheWhole) {
  const std::string path = small_model();
  manual_seed(1);
  const Tensor ids = randint(0, 300, {3, 70}, i64), labels = where(rand({3, 70}) < 0.3, full_like(ids, -100), ids);
  for (const bool mean : {false, true}) {
    const Found whole = found(path, f32, int64_t(1) << 40, mean, ids, labels), bands = found(path, f32, 1, mean, ids, labels);
    EXPECT_NEAR(bands.loss, whole.loss, 1e-6 * std::abs(whole.loss));
    EXPECT_LT(bands.activations, whole.activations);
    ASSERT_EQ(bands.gradients.size(), whole.gradients.size());
    for (size_t i = 0; i < whole.gradients.size(); ++i) {
      EXPECT_EQ(bands.gradients[i].first, whole.gradients[i].first);
      EXPECT_LT(apart(bands.gradients[i].second, whole.gradients[i].second), 1e-5) << whole.gradients[i].first;
    }
  }
  const NoGrad guard;
  const models::Model m = models::load(path, {.dtype = f32});
  const double whole = m->loss(ids, labels).item();
  const LogitBytes bytes(1);
  EXPECT_NEAR(m->loss(ids, labels).item(), whole, 1e-6 * whole);
}

TEST(LanguageModelLoss, OfBf16IsItsDtype) {
  manual_seed(1);
  const Tensor ids = randint(0, 300, {2, 90}, i64);
  const models::Model m = models::load(small_model(), {.dtype = bf16});
  const Tensor whole = m->loss(ids, ids);
  const LogitBytes bytes(1);
  const Tensor bands = m->loss(ids, ids);
  EXPECT_EQ(bands.dtype(), whole.dtype());
  EXPECT_NEAR(bands.item(), whole.item(), 0.02 * whole.item());
  EXPECT_EQ(m->summed_loss(ids, ids).dtype(), f32);
}

TEST(LanguageModelLoss, RefusesLabelsOfOtherSizes) {
  const models::Model m = models::load(small_model(), {.dtype = f32});
  EXPECT_THROW(m->summed_loss(zeros({1, 4}, i64), zeros({1, 5}, i64)), ValueError);
}

}  // namespace
}  // namespace dyadic::testing
