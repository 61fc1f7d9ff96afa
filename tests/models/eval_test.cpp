// Perplexity and questions, against plain sums over the logits of whole windows.
#include "dyadic/eval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using namespace models;

// -log p of each token but the first, in f64.
std::vector<double> surprises(const Model& m, const std::vector<int64_t>& ids) {
  NoGrad guard;
  const auto n = int64_t(ids.size());
  const Tensor logits = m(from_data(ids.data(), {1, n}, i64))[0].to(f64).contiguous();
  std::vector<double> all;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const double* row = logits.data<double>() + i * logits.size(1);
    double sum = 0;
    for (int64_t v = 0; v < logits.size(1); ++v) sum += std::exp(row[v]);
    all.push_back(std::log(sum) - row[ids[size_t(i) + 1]]);
  }
  return all;
}

struct Eval : ::testing::Test {
  Tokenizer t = Tokenizer::load(small_model());
  Model m = models::load(small_model(), {.dtype = f32});
  std::vector<int64_t> ids = [] {
    manual_seed(5);
    const Tensor r = randint(2, 700, {110}).contiguous();
    return std::vector<int64_t>(r.data<int64_t>(), r.data<int64_t>() + 110);
  }();
};

TEST_F(Eval, LlamaPerplexitysRule) {
  double sum = 0, squares = 0;
  int64_t n = 0;
  for (size_t at = 0; at + 32 <= ids.size(); at += 32) {  // what is left after three windows does not count
    std::vector<int64_t> w(ids.begin() + int64_t(at), ids.begin() + int64_t(at) + 32);
    w[0] = 0;
    const auto s = surprises(m, w);
    for (size_t i = 16; i < 31; ++i) sum += s[i], squares += s[i] * s[i], ++n;  // tokens 17 ... 31
  }
  const Perplexity p = perplexity(*m, ids, {.window = 32, .bos = 0});
  EXPECT_EQ(p.tokens, n);
  EXPECT_EQ(n, 45);
  EXPECT_NEAR(p.nll, sum / double(n), 1e-5);
  EXPECT_NEAR(p.perplexity, std::exp(sum / double(n)), 1e-4 * p.perplexity);
  const double mean = sum / double(n), var = squares / double(n) - mean * mean;
  EXPECT_NEAR(p.nll_stderr, std::sqrt(var / double(n - 1)), 1e-5);
  EXPECT_NEAR(p.perplexity_stderr, p.perplexity * p.nll_stderr, 1e-9);
  EXPECT_NE(perplexity(*m, ids, {.window = 32}).nll, p.nll);  // the first token is seen
  EXPECT_THROW(perplexity(*m, ids, {.window = 56}), ValueError);
  EXPECT_EQ(perplexity(*m, ids, {.window = 55}).tokens, 2 * 27);
}

TEST_F(Eval, AStrideScoresEachTokenOnce) {
  double sum = 0;
  size_t scored = 1;
  for (size_t at = 0; scored < ids.size(); at += 10) {
    const size_t end = std::min(at + 32, ids.size());
    const auto s = surprises(m, {ids.begin() + int64_t(at), ids.begin() + int64_t(end)});
    for (size_t i = scored; i < end; ++i) sum += s[i - at - 1];
    scored = end;
  }
  const Perplexity p = perplexity(*m, ids, {.window = 32, .stride = 10});
  EXPECT_EQ(p.tokens, 109);
  EXPECT_NEAR(p.nll, sum / 109, 1e-5);
  EXPECT_EQ(perplexity(*m, {ids.begin(), ids.begin() + 5}, {.stride = 512}).tokens, 4);
  EXPECT_THROW(perplexity(*m, {3}, {.stride = 512}), ValueError);
  EXPECT_THROW(perplexity(*m, ids, {.window = 32, .stride = 33}), ValueError);
}

TEST_F(Eval, DistanceFromABase) {
  const auto same = perplexity(*m, ids, {.window = 32, .bos = 0, .base = &*m}).divergence;
  ASSERT_TRUE(same);
  EXPECT_EQ(same->kl_mean, 0);
  EXPECT_EQ(same->same_top, 1);
  EXPECT_EQ(same->nll_change, 0);
  EXPECT_EQ(same->rms_dp, 0);
  const Model rough = models::load(small_model(), {.dtype = DType::parse("i4(group=32)")});
  NoGrad guard;
  std::vector<double> kls, changes;
  double dp = 0, top = 0;
  for (size_t at = 0; at + 32 <= ids.size(); at += 32) {
    std::vector<int64_t> w(ids.begin() + int64_t(at), ids.begin() + int64_t(at) + 32);
    w[0] = 0;
    const Tensor x = from_data(w.data(), {1, 32}, i64);
    const Tensor lp = log_softmax(rough(x)[0].to(f64), -1).contiguous(), lq = log_softmax(m(x)[0].to(f64), -1).contiguous();
    for (int64_t i = 16; i < 31; ++i) {
      double kl = 0;
      int64_t a = 0, b = 0;
      const double *p = lp.data<double>() + i * 704, *q = lq.data<double>() + i * 704;
      for (int64_t v = 0; v < 704; ++v) {
        kl += std::exp(q[v]) * (q[v] - p[v]);
        if (p[v] > p[a]) a = v;
        if (q[v] > q[b]) b = v;
      }
      const double d = std::exp(p[w[size_t(i) + 1]]) - std::exp(q[w[size_t(i) + 1]]);
      kls.push_back(kl), changes.push_back(q[w[size_t(i) + 1]] - p[w[size_t(i) + 1]]), dp += d * d, top += a == b;
    }
  }
  const auto far = perplexity(*rough, ids, {.window = 32, .bos = 0, .base = &*m}).divergence;
  const auto mean_of = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  };
  const auto stderr_of = [&](const std::vector<double>& values) {
    double squares = 0;
    for (double v : values) squares += (v - mean_of(values)) * (v - mean_of(values));
    return std::sqrt(squares / double(values.size() * (values.size() - 1)));
  };
  const double mean = mean_of(kls), change = mean_of(changes);
  EXPECT_NEAR(far->kl_stderr, stderr_of(kls), 1e-4 * far->kl_stderr);
  EXPECT_NEAR(far->nll_change, change, 1e-5);
  EXPECT_NEAR(far->nll_change_stderr, stderr_of(changes), 1e-3 * far->nll_change_stderr);
  EXPECT_NEAR(far->nll_change,
              perplexity(*rough, ids, {.window = 32, .bos = 0}).nll - perplexity(*m, ids, {.window = 32, .bos = 0}).nll, 1e-6);
  std::ranges::sort(kls);
  EXPECT_GT(mean, 1e-4);
  EXPECT_NEAR(far->kl_mean, mean, 1e-4 * mean);
  EXPECT_NEAR(far->kl_p99, kls[43] + 0.56 * (kls[44] - kls[43]), 1e-4 * kls[44]);
  EXPECT_NEAR(far->same_top, top / 45, 1e-9);
  EXPECT_NEAR(far->same_top_stderr, std::sqrt(far->same_top * (1 - far->same_top) / 44), 1e-9);
  EXPECT_NEAR(far->rms_dp, std::sqrt(dp / 45), 1e-4 * far->rms_dp);
  // Before it meets ids that are none of its own.
  const Model other = models::load(model_data("llama"), {.dtype = f32});
  try {
    perplexity(*m, ids, {.window = 32, .bos = 0, .base = &*other});
    ADD_FAILURE();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), "perplexity: the base has a vocabulary of 64, and the model one of 704");
  }
}

TEST_F(Eval, TextsBeginWithBos) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "word " + std::to_string(i * i) + "\n";
  std::vector<int64_t> all = t.encode(text);
  EXPECT_EQ(all[0], 0);
  const Perplexity want = perplexity(*m, all, {.window = 64, .bos = 0});
  EXPECT_EQ(perplexity(*m, t, text, {.window = 64}).nll, want.nll);
}

TEST_F(Eval, QuestionsWithChoices) {
  const auto questions = read_questions(
      "{\"context\": \"Once upon\", \"choices\": [\"a time there was\", \"the\", \"naïve\"], \"answer\": 1}\n\n"
      "{\"context\": \"It is \", \"choices\": [\"so\", \"not so at all\"], \"answer\": 0}\n",
      "q.jsonl");
  ASSERT_EQ(questions.size(), 2u);
  const TaskScore s = multiple_choice(*m, t, questions);
  int64_t right = 0, normed = 0;
  const std::vector<std::vector<std::string>> contexts{{"Once upon", " "}, {"It is", " "}};
  for (size_t q = 0; q < 2; ++q) {
    std::vector<double> sums, norms;
    for (auto& choice : questions[q].choices) {
      const auto ids = t.encode(contexts[q][0] + " " + choice);
      const size_t from = t.encode(contexts[q][0]).size();
      const auto all = surprises(m, ids);
      double sum = 0;
      for (size_t i = from; i < ids.size(); ++i) sum -= all[i - 1];
      sums.push_back(sum), norms.push_back(sum / (choice == "naïve" ? 5 : double(choice.size())));
      EXPECT_NEAR(s.log_probabilities[q][sums.size() - 1], sum, 1e-4);
    }
    right += std::ranges::max_element(sums) - sums.begin() == questions[q].answer;
    normed += std::ranges::max_element(norms) - norms.begin() == questions[q].answer;
  }
  EXPECT_EQ(s.acc, double(right) / 2);
  EXPECT_EQ(s.acc_norm, double(normed) / 2);
  EXPECT_NEAR(s.acc_stderr, std::sqrt(s.acc * (1 - s.acc)), 1e-12);  // of two
  for (const char* bad : {"{}", "[", "{\"context\": \"a\", \"choices\": [\"b\"], \"answer\": 1}",
                          "{\"context\": \"a\", \"choices\": [\"\"], \"answer\": 0}", ""})
    EXPECT_THROW(read_questions(bad, "q.jsonl"), ValueError) << bad;
}

}  // namespace
}  // namespace dyadic::testing
