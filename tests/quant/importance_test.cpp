// Importance matrices and their files.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"
#include "dyadic/gguf.h"
#include "dyadic/models.h"
#include "dyadic/quant.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using namespace models;
using quant::Importance;

std::string file(const char* name) { return ::testing::TempDir() + name; }
template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const ValueError& e) { return e.what(); }
  return "no error";
}

std::vector<Tensor> batches() {
  manual_seed(1);
  return {randint(3, 64, {2, 40}), randint(3, 64, {2, 40})};
}

TEST(ImportanceFile, HasLlamasNamesAndComesBack) {
  for (const char* family : {"llama", "qwen3_moe"}) {
    Model m = models::load(model_data(family), {.dtype = f32});
    quant::Batches data(batches());
    Importance all = quant::measure_importance(*m, data);
    all.datasets = {"a text"}, all.chunks = 2, all.chunk_size = 40;
    const std::string path = file("importance.gguf");
    quant::save_importance(path, all, *m);
    const auto gguf = io::GgufFile::open(path);
    EXPECT_EQ(gguf->text("general.type"), "imatrix");
    EXPECT_EQ(gguf->strings("imatrix.datasets")[0], "a text");
    EXPECT_EQ(gguf->integer("imatrix.chunk_count"), 2);
    EXPECT_EQ(gguf->integer("imatrix.chunk_size"), 40);
    const Tensor squares = gguf->get("blk.0.attn_q.weight.in_sum2");
    EXPECT_EQ(gguf->get("blk.0.attn_q.weight.counts").reshape({-1})[0].item(), 160);
    EXPECT_TRUE(equal(squares.reshape({-1}), all.entries.at("model.layers.0.self_attn.q_proj.weight").squares));
    if (family == std::string("qwen3_moe")) {
      const Tensor experts = gguf->get("blk.0.ffn_up_exps.weight.in_sum2");
      EXPECT_GT(experts.size(0), 1);
      EXPECT_EQ(gguf->get("blk.0.ffn_up_exps.weight.counts").size(0), experts.size(0));
    }
    const Importance again = quant::load_importance(path, *m);
    EXPECT_EQ(again.datasets, all.datasets);
    EXPECT_EQ(again.chunks, 2);
    for (auto& [name, entry] : again.entries) {
      EXPECT_EQ(entry.rows, all.entries.at(name).rows) << name;
      EXPECT_TRUE(equal(entry.squares, all.entries.at(name).squares)) << name;
    }
    EXPECT_GE(again.entries.size(), 14u);
  }
}

// The model is unquantized while it is measured, and quantized layer by layer while it is calibrated: the first layer's inputs
// are the same. Their squares are summed in another order: scales differ in their last bits, and of choices that are nearly
// even a few.
TEST(ImportanceFile, IsWhatCalibrationTeaches) {
  quant::Batches data(batches());
  const DType format = DType::parse("i2(group=8)");
  Model a = models::load(model_data("llama"), {.dtype = f32}), b = models::load(model_data("llama"), {.dtype = f32});
  const Importance known = quant::measure_importance(*b, data);
  const std::vector<std::string> first = {"model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.v_proj.weight"};
  quant::quantize(*a, {.weights = format, .method = "imatrix", .calibration = &data, .include = first});
  const quant::Report r = quant::quantize(*b, {.weights = format, .method = "imatrix", .importance = &known, .include = first});
  for (const std::string& name : first) {
    const Tensor x = a->named_parameters()[name].to(f32), y = b->named_parameters()[name].to(f32);
    const Tensor same = le(abs(x - y), 1e-5 * amax(abs(x)).item()).to(f32);
    EXPECT_GT(mean(same).item(), 0.98) << name;
  }
  for (const quant::LayerReport& l : r.layers) EXPECT_LT(l.error, l.error_rtn);
  EXPECT_NE(error_of([&] {
              quant::quantize(*b, {.weights = format, .method = "rtn", .importance = &known});
            }).find("an importance matrix is for imatrix"),
            std::string::npos);
}

TEST(ImportanceFile, OfAnotherModelIsRefused) {
  Model m = models::load(model_data("llama"), {.dtype = f32});
  const auto message = [&](const nn::NamedTensors& tensors, const char* type) {
    io::save_gguf(file("bad.gguf"), tensors, {{"general.type", type}});
    return error_of([&] { quant::load_importance(file("bad.gguf"), *m); });
  };
  const std::string name = "blk.0.attn_q.weight";
  EXPECT_NE(message({{"x", ones({4})}}, "model").find("it is no importance matrix: general.type is model"), std::string::npos);
  EXPECT_NE(message({{"x", ones({4})}}, "imatrix").find("none of its tensors is of this one"), std::string::npos);
  EXPECT_NE(message({{name + ".in_sum2", ones({1, 32})}}, "imatrix").find("and no counts"), std::string::npos);
  EXPECT_NE(message({{name + ".in_sum2", ones({1, 64})}, {name + ".counts", ones({1, 1})}}, "imatrix").find("another model's"),
            std::string::npos);
  EXPECT_NE(message({{name + ".in_sum2", full({1, 32}, -1.0)}, {name + ".counts", ones({1, 1})}}, "imatrix")
                .find("no sums of squares"),
            std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
