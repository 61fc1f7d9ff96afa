// What tests of models in GGUF files share.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "dyadic/gguf.h"
#include "dyadic/model_files.h"
#include "io/gguf.h"
#include "tensor/impl.h"
#include "tests/io/helpers.h"
#include "tests/models/apart.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {

using nlohmann::json;

inline Tensor ids_of(const std::string& family) {
  for (auto& [name, t] : io::load_safetensors(model_data(family) + "/expected.safetensors").tensors)
    if (name == "ids") return t;
  return {};
}

// A copy without the small files that it carries: what llama.cpp's converter leaves of a model.
inline void strip(const std::string& from, const std::string& to) {
  const auto file = io::GgufFile::open(from);
  io::GgufMetadata keys;
  for (auto& [key, value] : file->values())
    if (!key.starts_with("dyadic.") && key != "tokenizer.huggingface.json") keys.emplace_back(key, value);
  io::save_gguf(to, file->tensors(), [&](size_t i) { return file->get(i); }, keys);
}

// Numbers in [-1, 1) of a name and of elements' numbers, as data/make_gguf.py's.
inline Tensor hashed(const std::string& name, IntList sizes) {
  uint64_t h = 14695981039346656037u;
  for (const char c : name) h = (h ^ uint8_t(c)) * 1099511628211u;
  std::vector<double> all(size_t(zeros(sizes, f32, meta).numel()));
  for (size_t i = 0; i < all.size(); ++i) {
    uint64_t x = (i + h) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    all[i] = double(x >> 40) / double(1 << 23) - 1;
  }
  return from_data(all.data(), sizes, f64);
}
// A test model with its tensors changed, in a folder.
inline void write_changed(const std::string& family, const std::string& folder,
                          const std::function<void(io::NamedTensors&)>& change) {
  fs::create_directories(folder);
  io::NamedTensors all = io::load_safetensors(model_data(family) + "/model.safetensors").tensors;
  change(all);
  io::save(folder + "/model.safetensors", all);
  fs::copy_file(model_data(family) + "/config.json", folder + "/config.json");
}
inline void expect_same_weights(const std::string& a, const std::string& b) {
  const auto want = io::open(a), got = io::open(b);
  ASSERT_EQ(got->tensors().size(), want->tensors().size());
  for (size_t i = 0; i < want->tensors().size(); ++i) {
    ASSERT_EQ(got->tensors()[i].name, want->tensors()[i].name);
    ASSERT_EQ(got->tensors()[i].dtype, want->tensors()[i].dtype) << want->tensors()[i].name;
    EXPECT_TRUE(equal(got->get(i), want->get(i))) << want->tensors()[i].name;
  }
}

// Names, types, shapes and bytes of all tensors, and the values of all keys that are llama.cpp's: data/gguf.json.
inline void expect_llama_cpps(const std::string& file, const std::string& family) {
  const json all = json::parse(text_of_file(model_data("gguf.json")));
  ASSERT_TRUE(all["converted"].contains(family));
  const json& want = all["converted"][family];
  const auto got = io::GgufFile::open(file);
  EXPECT_EQ(got->tensors().size(), want["tensors"].size());
  for (size_t i = 0; i < got->tensors().size(); ++i) {
    const io::TensorInfo& t = got->tensors()[i];
    ASSERT_TRUE(want["tensors"].contains(t.name)) << t.name;
    const json& w = want["tensors"][t.name];
    EXPECT_EQ(t.stored, w[0]) << t.name;
    EXPECT_EQ(json(t.shape), w[1]) << t.name;
    const Tensor values = got->get(i).contiguous();
    std::string bytes;
    if (t.dtype == nvfp4)
      bytes = io::write_nvfp4(values, [](const std::string& why) { FAIL() << why; });
    else
      bytes.assign(static_cast<const char*>(values.impl()->data()), size_t(values.nbytes()));
    Sha256 sum;
    sum.update(bytes.data(), bytes.size());
    EXPECT_EQ(sum.hex().substr(0, 16), w[2]) << t.name;
  }
  const json keys = json::parse(got->metadata());
  for (auto& [key, value] : want["keys"].items()) {
    ASSERT_TRUE(keys.contains(key)) << key;
    if (value.is_number_float())
      EXPECT_EQ(keys[key].get<float>(), value.get<float>()) << key;
    else
      EXPECT_EQ(keys[key], value) << key;
  }
}

// All tensors of two files, as they lie there.
inline void expect_same_files(const std::string& a, const std::string& b) {
  auto want = io::load_safetensors(a).tensors, got = io::load_safetensors(b).tensors;
  ASSERT_EQ(got.size(), want.size());
  const auto name = [](auto& item) { return item.first; };
  const auto bytes = [](const Tensor& t) { return view_as(t.reshape({-1}), u8); };
  std::ranges::sort(want, {}, name), std::ranges::sort(got, {}, name);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].first, want[i].first);
    ASSERT_EQ(got[i].second.dtype(), want[i].second.dtype()) << got[i].first;
    ASSERT_EQ(got[i].second.sizes(), want[i].second.sizes()) << got[i].first;
    EXPECT_TRUE(equal(bytes(got[i].second), bytes(want[i].second))) << got[i].first;
  }
}

}  // namespace dyadic::testing
