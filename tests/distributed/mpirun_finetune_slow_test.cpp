// dyadic finetune under mpirun: an adapter on a base of 4 bits, the same bits on any number of ranks.
#include <algorithm>

#include "tests/distributed/mpirun.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

// Texts that are longer than a row: some rows are full, which is what predictions are of.
std::string tuning_data(const TestFolder& f) {
  std::string all;
  for (int i = 0; i < 40; ++i) {
    std::string text;
    for (int j = 0; j < 30; ++j) text += fmt::format("w{} lives in town {} ", i * j % 97, j);
    all += nlohmann::json{{"text", text}}.dump() + "\n";
  }
  write_file(f / "data.jsonl", all);
  return f / "data.jsonl";
}

std::vector<std::string> tuning(int ranks, const TestFolder& f, const std::string& out, const std::vector<std::string>& more) {
  std::vector<std::string> args = {
      "finetune", small_model(), "--data", f / "data.jsonl", "--context", "64",    "--batch", "3",     "--accumulate",
      "2",        "--shards",    "4",      "--lr",           "0.01",      "--out", out,       "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return launched(ranks, args);
}
const std::vector<std::string> kQlora = {"--lora", "rank=4,dropout=0.1", "--base", "nf4", "--steps"};
std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// Trained by 1, 2, 3 and 4 ranks with each spread: equal files, and memory as it was predicted, to the byte.
TEST(MpiFinetune, EqualAdaptersOnAnyNumberOfRanks) {
  NEEDS_MPIRUN();
  TestFolder f;
  tuning_data(f);
  for (const char* state : {"f32", "dynamic8"}) {
    std::string alone;
    nlohmann::json one;
    for (const int ranks : {1, 2, 3, 4})
      for (const char* spread : {"none", "states", "gradients", "parameters"}) {
        if (ranks == 1 && std::string_view(spread) != "none") continue;
        const std::string where = fmt::format("{} ranks, {} spread, states {}", ranks, spread, state);
        const std::string out = f / (where + "/out");
        std::filesystem::create_directories(f / where);
        const Outcome o =
            run(tuning(ranks, f, out, with(kQlora, {"50", "--state", state, "--spread", spread, "--eval-split", "0.1"})));
        ASSERT_EQ(o.code, 0) << where << o.err;
        const auto j = o.json();
        const std::string adapter = read_file(out + "/adapter_model.safetensors");
        if (ranks == 1) alone = adapter, one = j;
        EXPECT_GT(adapter.size(), 1000u);
        EXPECT_TRUE(adapter == alone) << where;
        for (const char* what : {"train_loss", "eval_loss", "eval_loss_before"}) EXPECT_EQ(j[what], one[what]) << where;
        EXPECT_EQ(j["ranks"], ranks);
        EXPECT_EQ(j["predicted_bytes"], j["measured_bytes"]) << where;
        // All but one rank's share of the adapter's gradients goes, and comes back.
        const double least = 2.0 * (ranks - 1) / ranks * 4 * j["trained_parameters"].get<double>();
        if (std::string_view(spread) == "none" && ranks != 3) { EXPECT_LE(j["bytes_sent_per_step"], 1.05 * least) << where; }
        if (ranks > 1 && std::string_view(spread) == "parameters") {
          EXPECT_LT(j["measured_bytes"]["parameters"], one["measured_bytes"]["parameters"]) << where;
        }
      }
    EXPECT_LT(one["train_loss"], 0.5 * one["eval_loss_before"].get<double>());
  }
}

// All weights, in bf16 with compensated steps, and states in 8 bits.
TEST(MpiFinetune, EqualWeightsOnAnyNumberOfRanks) {
  NEEDS_MPIRUN();
  TestFolder f;
  tuning_data(f);
  std::string alone;
  for (const auto& [ranks, spread] :
       std::initializer_list<std::pair<int, const char*>>{{1, "none"}, {2, "parameters"}, {3, "gradients"}, {4, "states"}}) {
    const std::string out = f / fmt::format("out{}", ranks);
    const Outcome o =
        run(tuning(ranks, f, out, {"--base", "bf16", "--state", "dynamic8", "--steps", "20", "--spread", spread}));
    ASSERT_EQ(o.code, 0) << o.err;
    if (ranks == 1) alone = read_file(out + "/model.safetensors");
    EXPECT_TRUE(read_file(out + "/model.safetensors") == alone) << ranks << " ranks, " << spread;
    EXPECT_EQ(o.json()["predicted_bytes"], o.json()["measured_bytes"]) << ranks << " ranks, " << spread;
  }
}

// Interrupted on two ranks, gone on with on three and on one: the files of an unbroken run.
TEST(MpiFinetune, GoesOnOnAnotherNumberOfRanks) {
  NEEDS_MPIRUN();
  TestFolder f;
  tuning_data(f);
  const std::vector<std::string> options = with(kQlora, {"400", "--checkpoint-every", "10", "--merge", "dequantized"});
  ASSERT_EQ(run(tuning(1, f, f / "whole", options)).code, 0);
  int stopped = 0;
  for (const auto& [ranks, spread] : std::initializer_list<std::pair<int, const char*>>{{2, "parameters"}, {3, "none"}}) {
    std::vector<std::string> again = with(options, {"--spread", spread});
    if (stopped) again.emplace_back("--resume");
    Program p(tuning(ranks, f, f / "broken", again));
    const auto checkpoints = [&] {
      std::error_code none;
      std::string newest;
      for (auto& entry : std::filesystem::directory_iterator(f / "broken/checkpoints", none))
        newest = std::max(newest, entry.path().filename().native());
      return newest;
    };
    const std::string before = checkpoints();
    for (int wait = 0; wait < 2000 && checkpoints() == before; ++wait) usleep(10000);
    for (const pid_t rank : ranks_of(f / "broken")) kill(rank, SIGKILL);
    stopped += p.wait().code != 0;
  }
  EXPECT_EQ(stopped, 2);
  const Outcome rest = run(tuning(1, f, f / "broken", with(options, {"--resume"})));
  ASSERT_EQ(rest.code, 0) << rest.err;
  for (const char* file : {"adapter_model.safetensors", "history.csv", "merged/model.safetensors"})
    EXPECT_TRUE(read_file(f / "broken/" + file) == read_file(f / "whole/" + file)) << file;
}

TEST(MpiFinetune, Refuses) {
  NEEDS_MPIRUN();
  TestFolder f;
  tuning_data(f);
  const auto words = [&](int ranks, const std::vector<std::string>& more) {
    const Outcome o = run(tuning(ranks, f, f / "out", with(kQlora, with({"5"}, more))));
    EXPECT_EQ(o.code, 1) << o.err;
    return o.err;
  };
  const std::string many = words(2, {"--shards", "7"});
  EXPECT_NE(many.find("finetune: a step of 6 rows is cut into 7 shards; take fewer, or more rows"), many.npos) << many;
  const std::string few = words(3, {"--shards", "2"});
  EXPECT_NE(few.find("finetune: 3 ranks share 2 shards of a step's 6 rows; start at most as many"), few.npos) << few;
  write_file(f / "data.jsonl", "{\"text\": \"short\"}\n");
  const std::string data = words(2, {});
  EXPECT_NE(data.find("finetune: the data makes 1 rows, fewer than the 4 shards of a step"), data.npos) << data;
  tuning_data(f);
  std::vector<std::string> line = tuning(1, f, f / "out", with(kQlora, {"5"}));
  const std::vector<std::string> other = tuning(1, f, f / "out", with(kQlora, {"5", "--state", "dynamic8"}));
  line.insert(line.end(), {":", "-n", "1"});
  line.insert(line.end(), other.begin() + 4, other.end());
  const Outcome o = run(line);
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("ranks do not agree on the run: rank 0 has state none, rank 1 state dynamic8"), o.err.npos) << o.err;
}

// The first rank's bar alone on standard error; the others' steps where they were asked for.
TEST(MpiFinetune, LogsByRank) {
  NEEDS_MPIRUN();
  TestFolder f;
  tuning_data(f);
  std::vector<std::string> line = tuning(3, f, f / "out", with(kQlora, {"5"}));
  line.insert(line.begin() + 1, {"--logs", f / "logs"});
  const Outcome o = run(line);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  const std::string one = read_file(f / "logs/rank-1.log"), two = read_file(f / "logs/rank-2.log");
  EXPECT_EQ(std::ranges::count(one, '\n'), 5) << one;
  EXPECT_TRUE(one.starts_with("finetune: step 1/5, loss ")) << one;
  EXPECT_EQ(two.substr(0, two.find(" tokens/s")).size() > 20, true) << two;
  EXPECT_FALSE(std::filesystem::exists(f / "logs/rank-0.log"));
}

}  // namespace
}  // namespace dyadic::testing
