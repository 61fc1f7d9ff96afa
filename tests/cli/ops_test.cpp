// dyadic ops: the records as a list, one by one, and as a page.
#include <map>

#include "corridor/signature.h"
#include "dyadic/dtype.h"
#include "dyadic/lr_scheduler.h"
#include "dyadic/nn_layers.h"
#include "dyadic/optim.h"
#include "tests/cli/program.h"

namespace dyadic::testing {
namespace {

const nlohmann::json& everything() {
  static const nlohmann::json all = run({"ops", "--json"}).json();
  return all;
}
nlohmann::json entry(const std::string& name) { return run({"ops", name, "--json"}).json(); }

TEST(Ops, EveryRecordIsInTheReference) {
  std::map<std::string, size_t> records;
  for (auto& e : everything()["ops"])
    for (auto& r : e["records"]) ++records[r["signature"].get<std::string>()];
  for (int i = 0; i < kOps; ++i) EXPECT_EQ(records[op_def(Op(i)).sig], 1u) << op_name(Op(i));
  EXPECT_GE(everything()["modules"].size(), nn::layer_defs().size() + 5);  // Linear and others are classes
  EXPECT_EQ(everything()["optimizers"].size(), optim::optimizer_defs().size());
  EXPECT_EQ(everything()["schedules"].size(), optim::scheduler_defs().size());
  EXPECT_EQ(everything()["formats"].size(), registered_dtypes().size());
}

TEST(Ops, OneOpIsShownAsItsRecordSays) {
  auto softmax = entry("softmax");
  EXPECT_EQ(softmax["family"], "nn");
  EXPECT_FALSE(softmax["internal"]);
  auto r = softmax["records"][0];
  EXPECT_EQ(r["python"][1], "x.softmax(dim=-1, *, dtype=None)");
  EXPECT_EQ(r["examples"][0].get<std::string>().find("dyadic.softmax(dyadic."), 0u);
  EXPECT_EQ(softmax["cpp"][0], "Tensor softmax(const Tensor& self, int64_t dim = -1, DType dtype = {})");

  auto exp = entry("exp")["records"][0];
  EXPECT_EQ(exp["result_dtype"], "the inputs', of integers the default float");
  EXPECT_EQ(exp["gradient"], "yes, and its own gradient");
  EXPECT_EQ(exp["computes_in"], "f32 f64");
  EXPECT_EQ(exp["complex"], "yes");
  EXPECT_TRUE(exp["in_place"]);
  EXPECT_TRUE(exp["out"]);
  EXPECT_GT(exp["flops_per_element"], 0);
  EXPECT_EQ(entry("isnan")["records"][0]["gradient"], "none");
  EXPECT_EQ(entry("matmul")["records"][0]["autocast"], "runs in the low type (bf16, f16)");
  EXPECT_TRUE(entry("bernoulli")["records"][0]["random"]);
  EXPECT_EQ(entry("max")["records"].size(), 3u);
  EXPECT_EQ(entry("max_dim"), entry("max"));

  const std::string text = run({"ops", "softmax"}).out;
  for (const char* row : {"\nPython ", "\nautocast ", "\ngradient ", "\nexample ", "\nC++ "})
    EXPECT_NE(text.find(row), text.npos) << row;
}

TEST(Ops, NamesAreFoundAsTheyAreTyped) {
  for (const char* name : {"linalg.svd", "linalg_svd", "torch.linalg.svd", "dyadic.linalg.svd"})
    EXPECT_EQ(entry(name)["name"], "linalg.svd") << name;
  EXPECT_EQ(entry("absolute")["name"], "abs");
  EXPECT_EQ(entry("Linear")["name"], "nn.Linear");
  EXPECT_EQ(entry("Linear")["doc"].get<std::string>().find("y = x W^T + b"), 0u);
  EXPECT_EQ(entry("Linear")["python"][0], "dyadic.nn.Linear(in_features, out_features, bias=True)");
  EXPECT_EQ(entry("nn.Conv2d")["calls"], "conv2d");
  EXPECT_EQ(entry("AdamW")["kind"], "optimizer");
  EXPECT_EQ(entry("OneCycleLR")["kind"], "schedule");
  const std::string said = complaint(run({"ops", "sofmax"}), 2);
  EXPECT_EQ(said.find("ops: unknown name \"sofmax\"; the nearest are softmax, "), 0u) << said;
  EXPECT_NE(complaint(run({"ops", "exp", "--html", "x"}), 2).find("leave exp out"), std::string::npos);
}

// An op that no public header declares is a part of others. PyTorch has none of these, nor do the docs of C++.
TEST(Ops, PartsOfOtherOpsAreLeftOut) {
  for (const char* name : {"softmax_backward", "fft_along", "sort_rows", "lstm_scan_backward"})
    EXPECT_TRUE(entry(name)["internal"]) << name;
  for (const char* name : {"softmax", "exp", "max", "view", "linalg.svd", "fft.rfft", "conv2d", "t", "index_put", "stft"})
    EXPECT_FALSE(entry(name)["internal"]) << name;
  const std::string list = run({"ops"}).out;
  EXPECT_NE(list.find("\n  softmax "), list.npos);
  EXPECT_EQ(list.find("\n  softmax_backward "), list.npos);
  EXPECT_NE(run({"ops", "--all"}).out.find("\n  softmax_backward "), std::string::npos);
}

TEST(Ops, ThePageHoldsEverythingByItself) {
  TestFolder f;
  ASSERT_EQ(run({"ops", "--html", f / "ops.html"}).code, 0);
  const std::string page = read_file(f / "ops.html");
  auto holds = [&](const std::string& text) { return page.find(text) != page.npos; };
  for (auto& e : everything()["ops"]) {
    const std::string name = e["name"];
    EXPECT_EQ(holds("<article id=\"" + name + "\""), !e["internal"].get<bool>()) << name;
  }
  for (const char* section : {"modules", "optimizers", "schedules"})
    for (auto& e : everything()[section])
      EXPECT_TRUE(holds("<article id=\"" + e["name"].get<std::string>() + "\"")) << e["name"];
  for (DType d : registered_dtypes()) EXPECT_TRUE(holds("id=\"dtype." + d.name() + "\"")) << d.name();
  for (const char* ignored :
       {"<td>Tensor.to</td><td>non_blocking</td><td>there is one device</td>", "<td>dyadic::Tensor::to</td>",
        "<td>nn.functional.embedding</td><td>sparse</td>", "<td>once</td>",
        "<td>Tensor.to</td><td>memory_format</td><td>results are dense in the order of their sizes</td><td>once</td>",
        "<td>mode</td><td>The place is the last one"})
    EXPECT_TRUE(holds(ignored)) << ignored;
  for (const char* loaded : {"src=", "<link", "@import", "url("}) EXPECT_FALSE(holds(loaded)) << loaded;
}

}  // namespace
}  // namespace dyadic::testing
