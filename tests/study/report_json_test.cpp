// report.json: its schema, nulls, hostile text, and that what is written reads back.
#include "study/report_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dyadic/error.h"
#include "sample_result.h"

namespace dyadic::study {
namespace {

using Json = nlohmann::ordered_json;

void expect_keys(const Json& j, std::initializer_list<const char*> keys) {
  for (const char* key : keys) EXPECT_TRUE(j.contains(key)) << key;
}

TEST(ReportJson, Schema) {
  const Json j = Json::parse(report_json(sample_result()));
  expect_keys(j, {"dyadic", "machine", "corpus", "model", "recipes", "formats", "recommendation"});
  expect_keys(j["corpus"], {"bytes", "sha256", "unigram_nats"});
  expect_keys(j["recommendation"], {"recipe", "format", "why"});
  ASSERT_EQ(j["recipes"].size(), 6u);
  ASSERT_EQ(j["formats"].size(), 9u);
  for (const Json& r : j["recipes"]) {
    expect_keys(
        r, {"name", "weights_sha256", "val_loss", "val_loss_delta", "val_loss_delta_se", "step_ms", "tokens_per_s",
            "flops_per_s", "mfu", "bytes", "resident_peak", "skipped_steps", "lost_updates", "overflows", "flushed", "curve"});
    ASSERT_EQ(r["bytes"].size(), 6u);
    for (const char* key : {"parameters", "gradients", "optimizer", "activations", "workspace", "peak"}) {
      EXPECT_TRUE(r["bytes"][key]["predicted"].is_number_integer()) << key;
      EXPECT_TRUE(r["bytes"][key]["measured"].is_number_integer()) << key;
      EXPECT_EQ(r["bytes"][key].size(), 2u);
    }
    EXPECT_EQ(r["curve"].size(), 1000u);
    expect_keys(r["curve"][0], {"step", "train_loss", "val_loss"});
  }
  for (const Json& f : j["formats"]) {
    expect_keys(f, {"name", "bits_per_weight", "bytes", "val_loss", "val_loss_delta", "val_loss_delta_se", "kl",
                    "top1_agreement", "tokens_per_s"});
  }
  EXPECT_EQ(j["recipes"][0]["name"], "f32");
  EXPECT_EQ(j["recipes"][0]["val_loss_delta"], 0.0);
}

TEST(ReportJson, UnknownAndNotFiniteAreNull) {
  StudyResult s = sample_result();
  RecipeResult& r = s.recipes[1];
  r.val_loss = INFINITY, r.vs_f32 = LossDelta{}, r.overflows.reset(), r.weights_sha256.clear(), r.bytes.peak = {};
  r.curve.assign(1, CurvePoint{3, NAN, -INFINITY});
  s.recommendation = {};
  const Json j = Json::parse(report_json(s));
  const Json& out = j["recipes"][1];
  for (const char* key : {"val_loss", "val_loss_delta", "val_loss_delta_se", "overflows", "weights_sha256", "nan"})
    EXPECT_TRUE(out[key].is_null()) << key;
  EXPECT_TRUE(out["bytes"]["peak"]["predicted"].is_null());
  EXPECT_TRUE(out["bytes"]["peak"]["measured"].is_null());
  EXPECT_TRUE(out["curve"][0]["train_loss"].is_null());
  EXPECT_TRUE(out["curve"][0]["val_loss"].is_null());
  EXPECT_TRUE(j["recommendation"]["recipe"].is_null());
}

StudyResult full() {
  StudyResult s = sample_result(20);
  s.complete = false;
  s.options.time_s = 120, s.options.seed = ~uint64_t{0}, s.options.seeds = 3, s.options.minimize = Minimize::time;
  s.recipes[2].status = Status::stopped;
  s.recipes[2].nan = FirstNaN{"exp", "blocks.1.mlp", 17};
  s.recipes[3].status = Status::running;
  s.recipes[4] = RecipeResult{};
  s.recipes[4].name = "pure-bf16-sr";
  s.recipes[1].dtype_calls = {{"matmul", "bf16", 12}, {"matmul", "f32", 3}, {"attention", "bf16", 4}};
  s.recipes[1].seed_val_losses = {2.1, NAN, 2.3};
  s.corpus.notes = {"b.bin was left out: not text"};
  return s;
}

TEST(ReportJson, RoundTrip) {
  const StudyResult s = full();
  const std::string text = report_json(s);
  const StudyResult back = parse_report(text);
  EXPECT_EQ(report_json(back), text);  // every figure bit for bit: shortest round-trip decimals
  EXPECT_EQ(back.recipes[2].nan->module, "blocks.1.mlp");
  EXPECT_EQ(back.recipes[3].status, Status::running);
  EXPECT_EQ(back.options.seed, ~uint64_t{0});
  EXPECT_EQ(*back.recipes[0].bytes.peak.measured, *s.recipes[0].bytes.peak.measured);
  EXPECT_EQ(back.recipes[1].curve[7].train_loss, s.recipes[1].curve[7].train_loss);
  EXPECT_TRUE(std::isnan(back.recipes[1].curve[0].val_loss));
  EXPECT_EQ(back.options.minimize, Minimize::time);
}

TEST(ReportJson, HostileTextStaysJson) {
  StudyResult s = sample_result(20);
  s.corpus.files = {{"a\xff\xfe\"\\\n.txt", 1}};
  s.corpus.source = "\xc3";
  EXPECT_TRUE(Json::accept(report_json(s)));
}

std::string message(const std::string& json) {
  try {
    parse_report(json);
  } catch (const ValueError& e) { return e.what(); }
  return "accepted";
}

TEST(ReportJson, DamageIsNamed) {
  const std::string good = report_json(full());
  EXPECT_EQ(message(good.substr(0, good.size() / 2)),
            "report: not valid JSON; is this a report.json of dyadic study? Write it anew without --resume");
  EXPECT_EQ(message("[]"),
            "report: report is not an object; is this a report.json of dyadic study? Write it anew without --resume");
  EXPECT_EQ(message("{}"),
            "report: there is no report_version; is this a report.json of dyadic study? Write it anew without --resume");
  EXPECT_EQ(message(R"({"report_version": 99})"),
            "report: written by a newer dyadic: report_version is 99, this program reads up to 1; use the newer program");
  Json j = Json::parse(good);
  j["recipes"][0]["bytes"]["peak"]["measured"] = "much";
  EXPECT_NE(message(j.dump()).find("report.recipes[0].bytes.peak.measured is not an integer"), std::string::npos);
  j["recipes"] = 3;
  EXPECT_NE(message(j.dump()).find("report.recipes is not a list"), std::string::npos);
}

TEST(ReportJson, AnyDamageIsAnErrorNotACrash) {
  // Each value in turn replaced by each kind of thing.
  StudyResult s = full();
  for (RecipeResult& r : s.recipes) r.curve.resize(std::min<size_t>(r.curve.size(), 1));
  s.formats.resize(1);
  const Json whole = Json::parse(report_json(s)), good = whole.flatten();
  const Json kinds[] = {nullptr, true, -1, 1e300, "x", Json::array({1}), Json::object()};
  int refused = 0;
  for (const auto& [path, value] : good.items()) {
    for (const Json& kind : kinds) {
      Json bad = whole;
      bad[Json::json_pointer(path)] = kind;
      try {
        parse_report(bad.dump());
      } catch (const ValueError&) { ++refused; }
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace dyadic::study
