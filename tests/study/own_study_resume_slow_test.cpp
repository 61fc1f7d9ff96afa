// A study that was interrupted reports what an unbroken one does.
#include <gtest/gtest.h>

#include "dyadic/interrupt.h"
#include "own_study.h"

namespace dyadic::inline v1::study {
namespace {

// Interrupted in a step, in an evaluation on the way, in the last one.
TEST(OwnStudy, WhatIsMeasuredIsOfTheWholeRunAfterAResume) {
  StudyFolder f;
  Loader l;
  StudyOptions o = small(f / "whole");
  o.recipes = {recipe("f32")}, o.formats = {"bf16"};
  int64_t calls = 0, stop = 0;
  std::vector<bool> trains;  // each call
  const Loss counted = [&](nn::Module& model, const Value& batch) {
    if (++calls == stop) request_interrupt();
    trains.push_back(model.training());
    return losses(model, batch);
  };
  const Study whole = study(make, l.loader, counted, o);
  EXPECT_GT(*whole.result.recipe("f32")->bytes.peak.measured, 100'000);
  std::vector<int64_t> stops;
  for (size_t i = 1; i < trains.size() && stops.size() < 6; ++i)
    if (trains[i] != trains[i - 1]) stops.push_back(int64_t(i) + 1);
  ASSERT_EQ(stops.size(), 6u);  // the dry run; evaluations begin and end
  for (const int64_t at : stops) {
    o.out = f / ("at" + std::to_string(at)).c_str();
    o.resume = false, calls = 0, stop = at;
    const Study part = study(make, l.loader, counted, o);
    clear_interrupt();
    ASSERT_TRUE(part.interrupted) << at;
    o.resume = true, stop = -1;
    const Study rest = study(make, l.loader, counted, o);
    EXPECT_EQ(without_times(whole), without_times(rest)) << at;
    EXPECT_EQ(whole.result.model.flops_per_step, rest.result.model.flops_per_step) << at;
    EXPECT_GT(rest.result.recipes[0].step_ms, 0) << at;
  }
}

}  // namespace
}  // namespace dyadic::inline v1::study
