// What tests of a device begin with: `there`, and a skip where there is none.
#pragma once
#include <gtest/gtest.h>

#include "dyadic/cuda.h"

namespace dyadic {

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << cuda::why_unavailable();
  }
  Device there{cuda::is_available() ? DeviceType::cuda : DeviceType::cpu};
};

}  // namespace dyadic
