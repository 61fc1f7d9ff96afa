// Keys and values in formats: what they cost in bytes and in scores, and that every family reads them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "dyadic/dyadic.h"
#include "dyadic/eval.h"
#include "dyadic/models.h"
#include "models/rotation.h"
#include "tests/models/apart.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using namespace models;

DType format(const char* text) { return DType::parse(text); }
double norm_of(const Tensor& x) { return std::sqrt(sum(x.to(f64) * x.to(f64)).item()); }

TEST(Rotation, IsOrthogonalAndItsOwnInverse) {
  manual_seed(1);
  for (int64_t n : {1, 2, 4, 7, 12, 64, 80, 96, 128, 256}) {
    const Tensor h = rotated(eye(n, {}, f64));
    const auto power = double(n & -n);
    EXPECT_LT(amax(abs(matmul(h, h) - eye(n, {}, f64))).item(), 1e-14) << n;
    EXPECT_LT(amax(abs(h - h.transpose(0, 1))).item(), 1e-15) << n;
    EXPECT_NEAR(amax(abs(h)).item(), 1 / std::sqrt(power), 1e-15) << n;  // all entries of a block are as large
    const Tensor x = randn({3, 5, n}, f64);
    EXPECT_LT(amax(abs(rotated(x) - matmul(x, h))).item(), 1e-13) << n;
  }
  const Tensor sixteen = randn({4, 64}).to(bf16);
  EXPECT_EQ(rotated(sixteen).dtype(), bf16);
}

// Scores of queries with keys of which four channels are 20 times as large.
double score_error(const KvFormats& kv) {
  manual_seed(2);
  Tensor keys = randn({1, 2, 256, 128});
  const Tensor queries = randn({1, 2, 64, 128});
  for (int64_t channel : {5, 40, 77, 111}) narrow(keys, 3, channel, 1).mul_(20);
  Cache cache(0, kv);
  const Cache::Seen seen = cache.append(0, keys, randn({1, 2, 256, 128}), 0);
  const Tensor want = matmul(queries, keys.transpose(2, 3));
  const Tensor asked = seen.rotated ? rotated(queries) : queries;
  return norm_of(matmul(asked, seen.keys.to(f32).transpose(2, 3)) - want) / norm_of(want);
}

TEST(KvCache, RotatedKeysStandOutliers) {
  for (const char* name : {"q4_0", "i4(group=32)", "i4(row)"}) {
    const double plain = score_error({.keys = format(name), .rotate_keys = false}),
                 turned = score_error({.keys = format(name)});
    RecordProperty(name, std::to_string(plain / turned));
    EXPECT_GE(plain / turned, 2) << name << ": " << plain << " and " << turned;
  }
  EXPECT_TRUE((KvFormats{.keys = q4_0}).rotates());
  EXPECT_FALSE((KvFormats{.keys = f8e4m3fn}).rotates());  // whose numbers share nothing
  EXPECT_FALSE((KvFormats{.values = q4_0}).rotates());
}

TEST(KvCache, HoldsWhatEncodingAtOnceGives) {
  manual_seed(3);
  const Tensor keys = randn({2, 3, 90, 32}), values = randn({2, 3, 90, 16});
  for (const char* name : {"i8(row)", "i4(group=16)", "i4(group=8,zero)", "f8e4m3fn", "bf16"}) {
    for (int64_t window : {0, 9}) {
      Cache cache(4, {.keys = format(name), .values = format(name), .rotate_keys = false});
      Cache::Seen seen;
      int64_t at = 0;
      for (int64_t step : {1, 40, 1, 1, 7, 20, 1, 19}) {
        seen = cache.append(0, narrow(keys, 2, at, step), narrow(values, 2, at, step), window);
        cache.advance(step), at += step;
        const int64_t count = seen.keys.size(2);
        ASSERT_EQ(seen.first, at - count);
        ASSERT_EQ(count, window ? std::min(at, window - 1 + step) : at);
        const auto as_kept = [&](const Tensor& t) { return narrow(t, 2, seen.first, count).to(format(name)).to(f32); };
        ASSERT_TRUE(equal(seen.keys.to(f32), as_kept(keys))) << name << " " << window << " " << at;
        ASSERT_TRUE(equal(seen.values.to(f32), as_kept(values))) << name << " " << window << " " << at;
      }
    }
  }
}

TEST(KvCache, TakesTheBytesOfItsFormats) {
  const Tensor x = ones({1, 2, 64, 64});
  const auto bytes = [&](const KvFormats& kv) {
    Cache cache(256, kv);
    cache.append(0, x, x, 0);
    return cache.nbytes();
  };
  const int64_t numbers = 2 * 256 * 64;  // of keys, and of values
  EXPECT_EQ(bytes({}), 2 * 4 * numbers);
  EXPECT_EQ(bytes({.keys = q8_0, .values = q8_0}), 2 * numbers / 32 * 34);
  EXPECT_EQ(bytes({.keys = q8_0, .values = q4_0}), numbers / 32 * (34 + 18));
  EXPECT_EQ(bytes({.keys = f8e4m3fn}), numbers + 4 * numbers);
  EXPECT_EQ(bytes({.keys = format("i4(group=32)"), .values = format("i8(row)")}),
            numbers / 2 + numbers / 32 * 4 + numbers + numbers / 64 * 4);
}

TEST(KvCache, TextSaysBoth) {
  const KvFormats one = KvFormats::parse("i4(group=32,zero)"), two = KvFormats::parse("q8_0:q4_0");
  EXPECT_EQ(one.keys, one.values);
  EXPECT_EQ(two.keys, q8_0);
  EXPECT_EQ(two.values, q4_0);
  EXPECT_THROW(KvFormats::parse("q8_0:"), ValueError);
}

class KvFamilies : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, KvFamilies,
                         ::testing::Values("llama", "gpt2", "mistral", "gemma2", "gemma3", "gemma4", "gpt_oss", "deepseek_v3",
                                           "phi3", "olmo3", "qwen3_5", "mixtral"),
                         [](auto& info) { return std::string(info.param); });

TEST_P(KvFamilies, ReadFormatsAlikeInPiecesOfAnySize) {
  Model m = models::load(model_data(GetParam()), {.dtype = f64});
  NoGrad guard;
  manual_seed(3);
  const Tensor ids = randint(3, 64, {2, 40}), plain = m(ids);
  std::map<std::string, double> losses;
  for (const char* name : {"i8(row)", "i4(row)", "f8e4m3fn"}) {
    const auto logits = [&](int64_t step) {
      Cache cache(0, {.keys = format(name), .values = format(name)});
      cache.expect(40);
      std::vector<Tensor> parts;
      for (int64_t at = 0; at < 40; at += step) parts.push_back(m(narrow(ids, 1, at, std::min(step, 40 - at)), cache));
      return cat(parts, 1);
    };
    const Tensor whole = logits(40);
    const double lost = norm_of(whole - plain) / norm_of(plain);
    losses[name] = lost;
    // What is kept is the same in either case. A sum that rounds otherwise may choose another code of a later layer, rarely.
    for (int64_t step : {1, 7}) EXPECT_LT(norm_of(logits(step) - whole) / norm_of(whole), lost / 2) << name << " " << step;
  }
  EXPECT_GT(losses["i8(row)"], 0);
  EXPECT_LT(losses["i8(row)"], losses["f8e4m3fn"]);  // of 8 bits, three are for an exponent
  EXPECT_LT(losses["f8e4m3fn"], losses["i4(row)"]);
}

// One token reads what is stored as it lies; several read it decoded.
TEST(KvCache, SixteenBitsAreReadAlike) {
  for (const DType dtype : {bf16, f16, f32}) {
    Model m = models::load(model_data("llama"), {.dtype = dtype});
    NoGrad guard;
    const Tensor ids = full({1, 9}, 7, i64);
    const auto logits = [&](int64_t step) {
      Cache cache(0, {.keys = format("i8(row)"), .values = format("i8(row)")});
      Tensor last;
      for (int64_t at = 0; at < 9; at += step) last = m(narrow(ids, 1, at, step), cache);
      return narrow(last, 1, step - 1, 1);
    };
    const Tensor alone = logits(1);
    EXPECT_EQ(alone.dtype(), dtype);
    EXPECT_LT(apart(alone.to(f32), logits(9).to(f32)), dtype == bf16 ? 2e-2 : dtype == f16 ? 3e-3 : 1e-2) << dtype.name();
  }
}

TEST(KvCache, GenerationAndPerplexityUseIt) {
  Model m = models::load(model_data("llama"), {.dtype = f32});
  const Tensor ids = full({2, 5}, 7, i64);
  const GenerateOptions plain{.max_new_tokens = 12, .eos_token_id = std::vector<int64_t>{}};
  GenerateOptions o = plain;
  o.kv = KvFormats{.keys = f32, .values = f32};
  EXPECT_TRUE(equal(m.generate(ids, plain), m.generate(ids, o)));
  o.kv = KvFormats{.keys = format("i2(row)"), .values = format("i2(row)")};
  const Tensor coarse = m.generate(ids, o);
  EXPECT_FALSE(equal(m.generate(ids, plain), coarse));
  m->kv = *o.kv;
  EXPECT_TRUE(equal(m.generate(ids, plain), coarse));
  m->kv = {};
  std::vector<int64_t> text;
  for (int64_t i = 0; i < 64; ++i) text.push_back(3 + i * i % 60);
  const auto loss = [&](const char* f) {
    return perplexity(*m, text, {.window = 32, .kv = KvFormats{.keys = format(f), .values = format(f)}, .base = &*m});
  };
  EXPECT_EQ(loss("f32").divergence->kl_mean, 0);
  const double eight = loss("i8(row)").divergence->kl_mean, two = loss("i2(row)").divergence->kl_mean;
  EXPECT_GT(eight, 0);
  EXPECT_GT(two, 20 * eight);
}

TEST(KvCache, RefusesWhatDoesNotFit) {
  Model m = models::load(model_data("llama"), {.dtype = f32});
  const auto message = [&](const KvFormats& kv) -> std::string {
    try {
      m.generate(full({1, 4}, 7, i64), {.max_new_tokens = 2, .kv = kv});
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  const Tensor x = ones({1, 1, 1, 48});
  try {
    Cache(0, {.keys = q4_0}).append(0, x, x, 0);
    ADD_FAILURE();
  } catch (const ValueError& e) {
    EXPECT_STREQ(
        e.what(),
        "KV cache: keys of 48 numbers a head do not fit q4_0, which keeps 32 together; take i8(group=16), i4(group=16) or "
        "i8(row)");
  }
  EXPECT_NE(message({.values = format("i8(tensor)")}).find("whose scales cover several tokens"), std::string::npos);
  EXPECT_NE(message({.keys = i8}).find("keys cannot be kept in i8: it has no scales"), std::string::npos);
  EXPECT_NE(message({.values = iq2_xs}).find("its codes come from files"), std::string::npos);
  Cache cache;
  EXPECT_THROW(m.generate(full({1, 4}, 7, i64), {.cache = &cache, .kv = KvFormats{}}), ValueError);
}

}  // namespace
}  // namespace dyadic::testing
