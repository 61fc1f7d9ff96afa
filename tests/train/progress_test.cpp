// The progress bar on a made-up terminal and clock.
#include "dyadic/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "base/text.h"
#include "train/clock_text.h"

namespace dyadic::train {
namespace {

struct Screen {
  std::vector<std::string> writes;
  double now = 0;
  int columns = 100;
  Progress::Settings settings(bool terminal) {
    return {terminal, [this] { return columns; }, [this](std::string_view t) { writes.emplace_back(t); },
            [this] { return now; }};
  }
  std::string all() const {
    std::string text;
    for (const auto& w : writes) text += w;
    return text;
  }
};

TEST(Progress, PlainLinesEveryFiveSeconds) {
  Screen s;
  Progress p(s.settings(false));
  p.begin("bf16", 100);
  for (int i = 1; i <= 100; ++i) {
    s.now += 0.12;
    p.step(i, 2.5, 131'000);
  }
  p.end("bf16 done");
  EXPECT_EQ(s.all(),
            "bf16: step 42/100, loss 2.5000, 131 k tokens/s, 0:07 left\n"
            "bf16: step 84/100, loss 2.5000, 131 k tokens/s, 0:02 left\n"
            "bf16 done\n");
}

TEST(Progress, TheBarIsRedrawnTenTimesASecondAndFits) {
  for (int columns : {20, 40, 60, 80, 100, 200}) {
    Screen s;
    s.columns = columns;
    Progress p(s.settings(true));
    p.plan(30'000);
    p.begin("pure-bf16-sr", 10'000);
    for (int i = 1; i <= 3000; ++i) {
      s.now += 0.001;
      p.step(i, 2.5, 131'000);
    }
    EXPECT_LE(s.writes.size(), 31u) << columns;
    EXPECT_GE(s.writes.size(), 28u) << columns;
    for (const std::string& w : s.writes) {
      ASSERT_TRUE(w.starts_with("\r") && w.ends_with("\x1b[K"));
      EXPECT_LT(display_width(std::string_view(w).substr(1, w.size() - 4)), columns) << w;
    }
    EXPECT_EQ(s.writes.back().find("pure-bf16-sr") != std::string::npos, columns >= 40) << s.writes.back();
    EXPECT_EQ(s.writes.back().find("study 0:27 left") != std::string::npos, columns >= 100) << s.writes.back();
  }
}

TEST(Progress, LineOnATerminal) {
  Screen s;
  Progress p(s.settings(true));
  p.begin("f32", 100, 40);  // resumed at step 40
  s.now = 10;
  p.step(70, 2.25, 73'800);
  EXPECT_EQ(s.writes.back(),
            "\rf32           ━━━━━━━━━━━━━━━━━━━━━━━━━━━╸───────────  70/100  0:10 left  loss 2.2500  73.8 k tok/s\x1b[K");
  p.note("sampled");
  ASSERT_EQ(s.writes.size(), 5u);
  EXPECT_EQ(s.writes[2] + s.writes[3], "\r\x1b[Ksampled\n");
  p.end("f32 done");
  EXPECT_EQ(s.writes[5] + s.writes[6], "\r\x1b[Kf32 done\n");
}

TEST(Progress, LeavesNoBarBehind) {
  Screen s;
  {
    Progress p(s.settings(true));
    p.begin("f32", 10);
  }
  EXPECT_EQ(s.writes.back(), "\r\x1b[K");
  Progress q(s.settings(true));
  q.step(3, 1);  // outside of a stage: nothing
  q.begin("empty", 0);
  q.end();
  EXPECT_EQ(s.writes.back(), "\r\x1b[K");
}

TEST(Progress, Clock) {
  EXPECT_EQ(clock_text(7), "0:07");
  EXPECT_EQ(clock_text(3 * 3600 + 4 * 60 + 5), "3:04:05");
  EXPECT_EQ(clock_text(NAN), "-:--");
}

}  // namespace
}  // namespace dyadic::train
