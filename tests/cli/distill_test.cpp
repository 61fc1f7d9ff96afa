// dyadic distill: a teacher live and from a file; what it refuses.
#include "tests/cli/program.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

TEST(DistillCommand, LearnsFromATeacherLiveAndFromAFile) {
  const TestFolder f;
  write_file(f / "data.jsonl",
             "{\"prompt\": \"Ada\", \"completion\": \" sings in Rome.\"}\n{\"prompt\": \"Ben\", \"completion\": \" waits in "
             "Lima.\"}\n");
  const std::vector<std::string> line = {"distill",   small_model(), "--base",  "f32", "--data", f / "data.jsonl",
                                         "--context", "32",          "--steps", "2",   "--json"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), line.begin(), line.end());
    return more;
  };
  const auto live = run(with({"--teacher", small_model(), "--teacher-format", "i4(group=32)", "--out", f / "out", "--relations",
                              "model.layers.0.self_attn.q_proj=model.layers.1.self_attn.q_proj", "--heads", "4"}))
                        .json();
  EXPECT_EQ(live["finished"], true);
  EXPECT_TRUE(fs::exists(f / "out/model.safetensors"));
  const auto first = run(with({"--teacher", small_model(), "--cache", f / "logits.safetensors", "--top-k", "64"})).json();
  EXPECT_EQ(run(with({"--cache", f / "logits.safetensors", "--top-k", "64"})).json()["train_loss"], first["train_loss"]);
  EXPECT_NE(complaint(run(with({})), 2).find("Give --teacher"), std::string::npos);
  EXPECT_NE(complaint(run(with({"--teacher", small_model(), "--hidden", "model.norm"})), 2).find("no STUDENT=TEACHER"),
            std::string::npos);
  EXPECT_NE(complaint(run(with({"--cache", f / "logits.safetensors", "--no-packing"})), 1).find("of other data"),
            std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
