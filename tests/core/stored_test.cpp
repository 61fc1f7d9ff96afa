// Module::to of scaled formats: which weights it stores, and states that hold them.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"

namespace dyadic::test {
namespace {

using nn::Layer;

std::string stored_message(auto&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

// One of each kind of parameter: matrices wide and narrow, a table, filters, norms of one and two dimensions, biases.
struct Everything : nn::Module {
  nn::Linear wide{64, 3}, narrow{63, 64};
  nn::Embedding table{5, 128};
  nn::Conv2d filters{8, 4, 3};
  nn::LayerNorm norm{{2, 64}};
  nn::RMSNorm rms{{2, 64}};
  nn::BatchNorm1d batch{128};
  nn::MultiheadAttention attention{64, 2, {.add_bias_kv = true}};
  nn::LSTM lstm{64, 16};
  Tensor position = randn({1, 4, 64}), own_weight = randn({2, 64});
  Everything() : nn::Module("Everything") {
    add("wide", wide);
    add("narrow", narrow);
    add("table", table);
    add("filters", filters);
    add("norm", norm);
    add("rms", rms);
    add("batch", batch);
    add("attention", attention);
    add("lstm", lstm);
    add_parameter("position", position);
    add_parameter("own_weight", own_weight);
  }
};

TEST(Stored, WeightsThatProductsAndLookupsReadAreQuantizable) {
  Everything m;
  const std::vector<std::string> flat = {"own_weight",
                                         "wide.weight",
                                         "table.weight",
                                         "filters.weight",
                                         "attention.in_proj_weight",
                                         "attention.out_proj.weight",
                                         "lstm.weight_ih_l0"};
  EXPECT_EQ(nn::quantizable(m, nf4).keys(), flat);
  // Blocks of one row: a filter's row is three numbers wide, the LSTM's second matrix 16.
  const std::vector<std::string> rows = {
      "own_weight",       "wide.weight", "table.weight", "attention.in_proj_weight", "attention.out_proj.weight",
      "lstm.weight_ih_l0"};
  EXPECT_EQ(nn::quantizable(m, q8_0).keys(), rows);
  EXPECT_EQ(nn::quantizable(m, DType::parse("nf4(block=128)")).keys(), std::vector<std::string>{"table.weight"});
  EXPECT_EQ(nn::quantizable(m, i8_row).size(), 9u);  // a row is a block, however short
  EXPECT_EQ(stored_message([&] { nn::quantizable(m, bf16); }),
            "quantizable: bf16 has no scales: any parameter can be stored in it");
}

TEST(Stored, ToTouchesNothingElse) {
  Everything m;
  const nn::NamedTensors before = m.state_dict();
  m.to(nf4);
  const std::vector<std::string> stored = nn::quantizable(m, nf4).keys();
  EXPECT_EQ(stored.size(), 7u);
  const nn::NamedTensors kept = m.state_dict();
  const std::map<std::string, Tensor> after(kept.begin(), kept.end());
  for (auto& [name, t] : before) {
    const Tensor now = after.at(name);
    const bool chosen = std::find(stored.begin(), stored.end(), name) != stored.end();
    EXPECT_EQ(now.dtype(), chosen ? nf4 : t.dtype()) << name;
    if (!chosen) { EXPECT_EQ(now.to_vector(), t.to_vector()) << name; }
  }
  EXPECT_TRUE(m.norm.weight.requires_grad() && m.wide.bias.requires_grad() && !m.wide.weight.requires_grad());
  EXPECT_EQ(m.wide(randn({2, 64})).dtype(), f32);
  // Back to floats: values stay those of the format.
  const std::vector<double> values = m.wide.weight.to_vector();
  m.to(f32);
  EXPECT_EQ(m.wide.weight.dtype(), f32);
  EXPECT_EQ(m.wide.weight.to_vector(), values);
}

TEST(Stored, OneTensorOfTwoModulesStaysOne) {
  nn::Linear head(64, 5, false);
  nn::Embedding table(5, 64);
  head.weight = table.weight;
  struct Both : nn::Module {
  } both;
  both.add("table", table);
  both.add("head", head);
  EXPECT_EQ(nn::quantizable(both, nf4).keys(), std::vector<std::string>{"table.weight"});
  both.to(nf4);
  EXPECT_TRUE(head.weight.is_same(table.weight) && head.weight.dtype() == nf4);
}

TEST(Stored, SaysWhereNothingGains) {
  nn::Linear narrow(32, 8);
  EXPECT_EQ(
      stored_message([&] { narrow.to(nf4); }),
      "Linear: nothing here gains from nf4(block=64,double): it is for weights that products or lookups read, of rows with at "
      "least 64 elements and a multiple of 1; weight is f32[8, 32]");
  EXPECT_EQ(narrow.weight.dtype(), f32);
  EXPECT_EQ(stored_message([&] { narrow.to(i32); }),
            "Linear: to: parameters are floating-point or complex numbers, or in a scaled format: dtype is i32");
  nn::ReLU without;
  without.to(nf4);
}

TEST(Stored, StatesKeepTheirFormatOrSayThatTheyCannot) {
  manual_seed(1);
  nn::Linear stored(64, 3), plain(64, 3);
  stored.to(nf4);
  const nn::NamedTensors state = stored.state_dict();
  EXPECT_EQ(stored_message([&] { plain.load_state_dict(state); }),
            "load_state_dict: 1 keys do not fit:\n  weight is f32[3, 64] here and nf4(block=64,double)[3, 64] there: assign "
            "takes it as "
            "it is stored, to(dtype) of either makes them the same");
  EXPECT_NE(stored_message([&] { stored.load_state_dict(plain.state_dict(), false); }).find("weight is nf4"),
            std::string::npos);
  plain.load_state_dict(state, true, true);
  EXPECT_EQ(plain.weight.dtype(), nf4);
  EXPECT_EQ(plain.weight.to_vector(), stored.weight.to_vector());
  EXPECT_TRUE(plain.bias.requires_grad() && plain.bias.is_leaf() && !plain.weight.requires_grad());
  // The same format is copied, to the bit.
  nn::Linear other(64, 3);
  other.to(nf4);
  other.load_state_dict(state);
  EXPECT_EQ(other.weight.to_vector(), stored.weight.to_vector());
  // Onto meta: nothing else has room for values.
  nn::Linear shape(64, 3, true, {f32, meta});
  shape.load_state_dict(state, true, true);
  EXPECT_EQ(shape(ones({1, 64})).to_vector(), stored(ones({1, 64})).to_vector());
}

}  // namespace
}  // namespace dyadic::test
