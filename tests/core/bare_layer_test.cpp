// Layers without parameters, whose parts are set afterwards; layers in the default dtype.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"

namespace dyadic::test {
namespace {

TEST(BareLayer, ComputesWithWhatItIsGiven) {
  nn::Layer conv(nn::layer_def("Conv2d"), nn::Bare());
  EXPECT_EQ(conv.num_parameters(), 0);
  EXPECT_FALSE(conv.is_set(0));
  EXPECT_THROW((void)conv.integer("in_channels"), TypeError);
  EXPECT_ANY_THROW(conv(ones({1, 1, 2, 2})));
  conv.register_parameter("weight", ones({1, 1, 1, 1}) * 3);
  EXPECT_EQ(conv(ones({1, 1, 1, 2})).to_vector(), (std::vector<double>{3, 3}));
  conv.set_argument(0, int64_t(1));
  EXPECT_EQ(conv.integer("in_channels"), 1);
}

TEST(BareLayer, SaysWhatIsMissing) {
  nn::Layer pool(nn::layer_def("MaxPool2d"), nn::Bare());
  EXPECT_THROW(pool(ones({1, 1, 2, 2})), TypeError);
  nn::Layer lstm(nn::layer_def("LSTM"), nn::Bare());
  EXPECT_THROW(lstm.call(ones({1, 1, 2})), TypeError);
  nn::Linear linear{nn::Bare()};
  EXPECT_ANY_THROW(linear(ones({1, 2})));
  EXPECT_TRUE(linear.parameters().empty());
}

TEST(DefaultDType, OfParametersAndBuffers) {
  const DefaultDType scope(f64);
  nn::BatchNorm1d norm(2);
  EXPECT_EQ(norm.tensor("weight")->dtype(), f64);
  EXPECT_EQ(norm.tensor("running_var")->dtype(), f64);
  EXPECT_EQ(nn::Linear(2, 2).weight.dtype(), f64);
  EXPECT_EQ(nn::Linear(2, 2, {.dtype = f32}).weight.dtype(), f32);
}

}  // namespace
}  // namespace dyadic::test
