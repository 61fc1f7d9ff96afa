// Errors under one recipe or format, and Ctrl-C.
#include <gtest/gtest.h>

#include <csignal>

#include "base/check.h"
#include "own_study.h"
#include "study/report_json.h"
#include "study/words.h"

namespace dyadic::inline v1::study {
namespace {

// Its middle layer is for weights, or results of the one before, of f32 alone.
bool g_picky = true;
struct Picky : Net {
  struct Middle : nn::Linear {
    Middle() : nn::Linear(64, 64) {}
    Tensor forward(const Tensor& x) override {
      DY_CHECK_AS(TypeError, !g_picky || x.dtype() != bf16, "picky: bf16 is not for me\nand this is why");
      DY_CHECK_AS(TypeError, !g_picky || weight.dtype() != DType::parse("q8_0"), "picky: no blocks");
      return nn::Linear::forward(x);
    }
  } own;
  Picky() { add("own", own); }
  Tensor forward(const Tensor& x) override { return out(relu(own(relu(norm(in(x)))))); }
};

TEST(OwnStudy, AnErrorUnderOneRecipeOrFormatIsItsRows) {
  StudyFolder f;
  Loader l;
  StudyOptions o = small(f / "a");
  const Study found = study([] { return std::make_shared<Picky>(); }, l.loader, losses, o);
  const StudyResult& s = found.result;
  EXPECT_TRUE(s.complete);
  const RecipeResult* r = s.recipe("bf16");
  EXPECT_EQ(r->status, Status::failed);
  EXPECT_EQ(r->error, "at step 0: in own: picky: bf16 is not for me");
  EXPECT_FALSE(r->bytes.peak.measured);
  EXPECT_EQ(s.recipe("f16")->status, Status::done);
  EXPECT_EQ(s.recipe("f32")->status, Status::done);
  EXPECT_EQ(s.format("q8_0")->status, Status::failed);
  EXPECT_EQ(s.format("q8_0")->error, "in own: picky: no blocks");
  EXPECT_EQ(s.format("bf16")->status, Status::done);
  EXPECT_FALSE(fs::exists(f / "a/checkpoints/bf16-seed0.safetensors"));
  EXPECT_NE(found.text(300).find("bf16 failed at step 0: in own: picky: bf16 is not for me"), std::string::npos)
      << found.text();
  EXPECT_NE(found.html().find("failed: in own: picky: no blocks"), std::string::npos);
  EXPECT_NE(s.recommendation.why.find("bf16 ended in an error"), std::string::npos) << s.recommendation.why;
  EXPECT_EQ(report_json(parse_report(found.json())), found.json());
  // What is mended is made up for.
  o.resume = true, g_picky = false;
  const Study mended = study([] { return std::make_shared<Picky>(); }, l.loader, losses, o);
  EXPECT_EQ(mended.result.recipe("bf16")->status, Status::done);
  EXPECT_TRUE(mended.result.recipe("bf16")->error.empty());
  EXPECT_EQ(mended.result.format("q8_0")->status, Status::done);
}

TEST(OwnStudy, AnErrorInF32IsThrown) {
  StudyFolder f;
  Loader l;
  int64_t calls = 0;
  const Loss breaks = [&](nn::Module& model, const Value& batch) {
    DY_CHECK_AS(TypeError, ++calls < 20, "mine: the twentieth");
    return losses(model, batch);
  };
  EXPECT_THROW(study(make, l.loader, breaks, small(f / "a")), TypeError);
  Net net;
  int64_t evaluations = 0;
  const auto judge = [&](nn::Module&) {
    DY_CHECK_AS(TypeError, ++evaluations != 3, "mine: the third");
    return ones({4}) * double(evaluations == 1 ? 1 : 2);
  };
  const Study found = formats(net, judge, {.formats = {"bf16", "f16"}});
  EXPECT_EQ(found.result.format("bf16")->error, "mine: the third");
  EXPECT_EQ(found.result.format("f16")->status, Status::done);
  evaluations = 2;
  EXPECT_THROW(formats(net, judge, {.formats = {"bf16"}}), TypeError);
}

TEST(OwnStudy, AnErrorAfterTrainingCostsTheTimesAlone) {
  StudyFolder f;
  Loader l;
  StudyOptions o = small(f / "a");
  o.recipes = {recipe("bf16")};
  bool mended = false;
  const Loss late = [&](nn::Module& model, const Value& batch) {
    const bool trained = fs::exists(f / "a/checkpoints/bf16-seed0.losses.safetensors");
    DY_CHECK_AS(TypeError, mended || !trained || !model.training(), "mine: no more\nand why");
    return losses(model, batch);
  };
  const Study found = study(make, l.loader, late, o);
  EXPECT_TRUE(found.result.complete);
  for (const RecipeResult& r : found.result.recipes) {
    EXPECT_EQ(r.status, Status::done) << r.name;
    EXPECT_EQ(r.turns, 0) << r.name;
    EXPECT_TRUE(r.bytes.peak.measured && !r.resident_peak) << r.name;
    EXPECT_GT(r.step_ms, 0) << r.name;
  }
  ASSERT_EQ(found.result.notes.size(), 2u);
  EXPECT_EQ(
      found.result.notes[1],
      "After training a step could not be repeated under bf16: mine: no more; its time is the median of training's steps.");
  o.resume = true, mended = true;
  const Study again = study(make, l.loader, late, o);
  EXPECT_TRUE(again.result.notes.empty());
  for (const RecipeResult& r : again.result.recipes) EXPECT_TRUE(r.turns == 3 && r.resident_peak) << r.name;
}

TEST(OwnStudy, CtrlCEndsItWithTheReportSoFar) {
  StudyFolder f;
  Loader l;
  install_interrupt_handler();
  int64_t calls = 0;
  const Loss pressed = [&](nn::Module& model, const Value& batch) {
    if (++calls == 30) std::raise(SIGINT);
    return losses(model, batch);
  };
  const Study found = study(make, l.loader, pressed, small(f / "a"));
  remove_interrupt_handler();
  clear_interrupt();
  EXPECT_TRUE(found.interrupted);
  EXPECT_EQ(found.result.recipes[0].status, Status::running);
  EXPECT_TRUE(fs::exists(f / "a/report.json"));
}

TEST(OwnStudy, ErrorsInOneLine) {
  EXPECT_EQ(in_one_line("add: no\nbecause\n  of this"), "add: no");
  EXPECT_EQ(
      in_one_line("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\n  File \"b.py\", line 7, in g\n"
                  "TypeError: no\nbecause"),
      "TypeError: no (File \"b.py\", line 7, in g)");
  EXPECT_EQ(in_one_line("ValueError: x"), "ValueError: x");
  g_package_folder = "/x/dyadic/";
  EXPECT_EQ(in_one_line("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\n"
                        "  File \"/x/dyadic/nn.py\", line 7, in g\nTypeError: no"),
            "TypeError: no (File \"a.py\", line 3, in f)");
  g_package_folder = "/x/dyadic/python/dyadic/";  // a program beside it, in a folder of that name
  EXPECT_EQ(in_one_line("Traceback (most recent call last):\n  File \"/x/dyadic/a.py\", line 3, in f\n    g()\n"
                        "  File \"/x/dyadic/python/dyadic/nn.py\", line 7, in g\nTypeError: no"),
            "TypeError: no (File \"/x/dyadic/a.py\", line 3, in f)");
  g_package_folder.clear();
}

}  // namespace
}  // namespace dyadic::inline v1::study
