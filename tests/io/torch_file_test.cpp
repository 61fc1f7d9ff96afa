// Files that PyTorch wrote (data/make_torch.py), as values and as files of tensors, and what is written for it.
#include "dyadic/torch_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dyadic/tensor_file.h"
#include "io/zip.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using io::Value;
using Kind = Value::Kind;

std::string torch_stored(const std::string& name) { return test_data("io/data/" + name); }

std::vector<double> numbers(const Tensor& t) { return t.to(f64).to_vector(); }

void expect_values(const Value& v) {
  const Value::List& views = v["views"].items();
  ASSERT_EQ(views.size(), 4u);
  EXPECT_EQ(numbers(views[1].tensor()), (std::vector<double>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(views[2].tensor().strides(), IntList({1, 4}));
  EXPECT_EQ(views[3].tensor().dim(), 0);
  for (const Value& t : views) EXPECT_EQ(t.tensor().impl()->storage, views[0].tensor().impl()->storage);
  views[0].tensor().fill_(9);  // their own memory, not the file's
  EXPECT_EQ(numbers(views[3].tensor()), std::vector<double>{9});
  EXPECT_EQ(numbers(v["expanded"].tensor()), std::vector<double>(6, 1));
  EXPECT_EQ(v["empty"].tensor().sizes(), IntList({0, 3}));
  EXPECT_TRUE(v["parameter"].node()->parameter && v["parameter"].tensor().requires_grad());
  EXPECT_TRUE(v["frozen"].node()->parameter && !v["frozen"].tensor().requires_grad());
  EXPECT_TRUE(!v["leaf"].node()->parameter && v["leaf"].tensor().requires_grad());

  const Value::List& n = v["numbers"].items();
  EXPECT_EQ(n[0].boolean(), true);
  EXPECT_EQ(n[2].kind(), Kind::none);
  const std::vector<int64_t> integers = {0, -1, 255, 65536, -(int64_t(1) << 31), int64_t(1) << 40};
  for (size_t i = 0; i < integers.size(); ++i) EXPECT_EQ(n[3 + i].integer(), integers[i]);
  EXPECT_EQ(n[13].node()->im, 1);
  EXPECT_EQ(n[11].real(), 1.5);
  EXPECT_EQ(v["texts"].items()[1].text(), "na\xc3\xafve");
  EXPECT_EQ(v["texts"].items()[3].node()->text, std::string("\0\xff", 2));
  EXPECT_EQ(v["size"].node()->text, "torch.Size");
  EXPECT_EQ(v["dtype"].node()->dtype, f8e5m2);
  EXPECT_EQ(v["device"].node()->text, "cuda:1");
  EXPECT_EQ(v["ordered"].node()->text, "collections.OrderedDict");
  EXPECT_EQ(v["shared"].items()[0].node(), v["shared"].items()[1].node());
  const Value::List& numpy = v["numpy"].items();
  EXPECT_EQ(numpy[0].real(), 1.5);
  EXPECT_EQ(numpy[1].integer(), 3);
  EXPECT_EQ(numpy[2].boolean(), true);
  EXPECT_EQ(numpy[3].node()->im, 2);
}

TEST(TorchFile, ReadsValuesOfEveryProtocolAndForm) {
  for (const char* which : {"", "_legacy", "_1", "_3", "_4", "_5"}) {
    SCOPED_TRACE(which);
    const Value v = io::load_torch(torch_stored(fmt::format("torch_values{}.pt", which)));
    expect_values(v);
    const Value::List& n = v["numbers"].items();
    EXPECT_EQ(n[9].kind(), Kind::big);
    EXPECT_EQ(n[9].node()->text, std::string("\0\0\0\0\0\0\0\0\x40", 9));
    EXPECT_EQ(n[10].node()->text, std::string("\0\0\0\0\0\0\0\0\xc0", 9));
  }
}

TEST(TorchFile, ReadsEveryDtype) {
  for (const char* which : {"torch_dtypes.pt", "torch_dtypes_legacy.pt"}) {
    const Value v = io::load_torch(torch_stored(which));
    EXPECT_EQ(v.entries().size(), 20u);
    for (auto& [name, t] : v.entries()) {
      EXPECT_EQ(t.tensor().dtype(), DType::parse(name.text()));
      const bool f8e8 = t.tensor().dtype() == f8e8m0fnu;  // has no zero
      if (f8e8 || t.tensor().dtype().is_complex()) continue;
      const double most = t.tensor().dtype() == boolean ? 1 : 3;
      EXPECT_EQ(numbers(t.tensor()), (std::vector<double>{0, 1, std::min(2.0, most), most})) << name.text();
    }
  }
}

TEST(TorchFile, ReadsBothByteOrders) {
  const Value little = io::load_torch(torch_stored("torch_little.pt")), big = io::load_torch(torch_stored("torch_big.pt"));
  const auto file = io::open(torch_stored("torch_big.pt"));
  for (auto& [name, t] : little.entries()) {
    EXPECT_EQ(content(big[name.text()].tensor()), content(t.tensor())) << name.text();
    EXPECT_EQ(content(file->get(name.text())), content(t.tensor())) << name.text();
  }
  EXPECT_EQ(nlohmann::json::parse(file->metadata())["byteorder"], "big");
}

// What PyTorch has conjugated or negated without touching memory.
TEST(TorchFile, ReadsTurnedNumbers) {
  const Value v = io::load_torch(torch_stored("torch_bits.pt"));
  const auto file = io::open(torch_stored("torch_bits.pt"));
  EXPECT_EQ(numbers(v["imag"].tensor()), (std::vector<double>{-2, 4}));
  EXPECT_EQ(numbers(file->get("imag")), (std::vector<double>{-2, 4}));
  const std::pair<const char*, std::vector<double>> kWanted[] = {
      {"conj", {1, -2, 3, 4}}, {"both", {-3, -4}}, {"plain", {1, 2, 3, -4}}};
  for (auto& [name, want] : kWanted) {
    EXPECT_EQ(numbers(view_as_real(v[name].tensor())), want) << name;
    EXPECT_EQ(numbers(view_as_real(file->get(name))), want) << name;
  }
}

// Codes stay what they are where a dtype has such; the values are PyTorch's to the rounding of their last bit.
TEST(TorchFile, ReadsQuantizedTensors) {
  const std::string path = torch_stored("torch_quantized.pt"),
                    saved = std::string(::testing::TempDir()) + "/quantized.safetensors";
  const Value v = io::load_torch(path);
  const auto file = io::open(path);
  io::save(saved, *file);
  const auto again = io::open(saved);
  const std::map<std::string, std::string> dtypes = {
      {"quint8", "i8(tensor,zero)"}, {"qint8", "i8(tensor)"}, {"qint32", "f32"}, {"rows", "i8(row,zero)"},
      {"columns", "i8(row,zero)"},   {"floats", "f32"},       {"conv", "f32"},   {"view", "i8(tensor,zero)"},
      {"scalar", "i8(tensor,zero)"}, {"empty", "i8(tensor)"}};
  EXPECT_EQ(v["quantized"].entries().size(), dtypes.size());
  for (const auto& [name, dtype] : dtypes) {
    const Tensor want = v["values"][name].tensor();
    for (const Tensor& t : {v["quantized"][name].tensor(), file->get("quantized." + name), again->get("quantized." + name)}) {
      EXPECT_EQ(t.dtype().name(), dtype) << name;
      ASSERT_EQ(t.sizes().vec(), want.sizes().vec()) << name;
      const std::vector<double> a = numbers(t.to(f32)), b = numbers(want);
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 3e-7 * std::abs(b[i]) + 1e-6 * (dtype == "f32")) << name;
    }
  }
}

TEST(TorchFile, IsAFileOfNamedTensors) {
  const auto file = io::open(torch_stored("torch_optimizer.pt"));
  EXPECT_EQ(file->kind(), "torch");
  EXPECT_EQ(file->tensors().size(), 4u + 4 * 3);
  EXPECT_EQ(file->tensors()[0].name, "model.0.weight");
  EXPECT_EQ(file->tensors()[0].stored, "torch.FloatStorage");
  EXPECT_EQ(file->tensors()[0].bytes, 48u);
  const auto said = nlohmann::json::parse(file->metadata());
  EXPECT_EQ(said["form"], "zip");
  EXPECT_EQ(said["version"], "3");
  EXPECT_EQ(said["values"]["epoch"], 7);
  EXPECT_EQ(said["values"]["best"], 0.25);
  EXPECT_TRUE(said["globals"].empty());
  const auto older = io::open(torch_stored("torch_optimizer_legacy.pt"));
  const Value v = io::load_torch(torch_stored("torch_optimizer.pt"));
  EXPECT_EQ(older->tensors().size(), file->tensors().size());
  for (size_t i = 0; i < file->tensors().size(); ++i)
    EXPECT_EQ(content(older->get(i)), content(file->get(file->tensors()[i].name))) << file->tensors()[i].name;
  EXPECT_EQ(content(file->get("model.1.bias")), content(v["model"]["1.bias"].tensor()));
  EXPECT_TRUE(file->get("model.0.weight").impl()->storage->read_only);  // mapped
}

TEST(TorchFile, ListsWhatItDoesNotRun) {
  const std::string path = torch_stored("torch_module.pt");
  const auto file = io::open(path);
  std::vector<std::string> names;
  for (const auto& t : file->tensors()) names.push_back(t.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"weights", "object.weight", "layer._parameters.weight", "layer._parameters.bias"}));
  const auto globals = nlohmann::json::parse(file->metadata())["globals"];
  EXPECT_EQ(globals, (nlohmann::json{"__main__.Mine", "torch.nn.modules.linear.Linear"}));
  EXPECT_EQ(error_of([&] { io::load_torch(path); }), path +
                                                         ": it asks for \"__main__.Mine\", \"torch.nn.modules.linear.Linear\", "
                                                         "which is no data and is not run; save the model's "
                                                         "state_dict() instead");
  const Value v = io::read_torch(path, {"*"}).value;
  EXPECT_EQ(v["object"].kind(), Kind::object);
  EXPECT_TRUE(v["object"].node()->raw);
  EXPECT_EQ(numbers(v["object"].node()->state["weight"].tensor()), std::vector<double>(3, 1));
}

TEST(TorchFile, WritesWhatItReads) {
  const Folder f;
  for (const char* which : {"values", "dtypes", "optimizer"}) {
    const Value v = io::load_torch(torch_stored(fmt::format("torch_{}.pt", which)));
    io::save_torch(f / "again.pt", v);
    const Value again = io::load_torch(f / "again.pt");
    if (which == std::string("values")) expect_values(again);
    const auto a = io::open(torch_stored(fmt::format("torch_{}.pt", which))), b = io::open(f / "again.pt");
    ASSERT_EQ(a->tensors().size(), b->tensors().size());
    for (size_t i = 0; i < a->tensors().size(); ++i) {
      EXPECT_EQ(a->tensors()[i].name, b->tensors()[i].name);
      EXPECT_EQ(a->tensors()[i].stored, b->tensors()[i].stored);
      EXPECT_EQ(content(a->get(i)), content(b->get(i)));
    }
    EXPECT_EQ(a->metadata(), b->metadata());
  }
  const Tensor w = arange(64).to(f32);
  io::save_torch(f / "w.pt", Value::dict({{"w", w}, {"part", w.narrow(0, 3, 2)}}));
  const std::string bytes = read_bytes(f / "w.pt");
  const io::ZipFile zip("w", bytes);
  EXPECT_EQ(zip.find("w/data/0")->begin % 64, 0u);
  EXPECT_EQ(zip.find("w/data/0")->size, 256u);
  EXPECT_EQ(zip.find("w/data/1"), nullptr);
  EXPECT_EQ(zip.read(*zip.find("w/version"), io::ZipFile::Checksum::checked), "3\n");
}

TEST(TorchFile, RefusesWhatPyTorchHasNot) {
  const Folder f;
  EXPECT_EQ(error_of([&] { io::save_torch(f / "x.pt", zeros({2, 64}).to(nf4)); }),
            "save_torch: PyTorch has no nf4(block=64,double): a tensor is nf4(block=64,double)[2, 64]; convert it with .to");
  Value self = Value::list({});
  self.node()->items.push_back(self);
  EXPECT_EQ(error_of([&] { io::save_torch(f / "x.pt", self); }),
            "save_torch: lists in lists, deeper than 256, or one in itself");
  self.node()->items.clear();
  EXPECT_EQ(f.files(), 0u);
}

}  // namespace
}  // namespace dyadic::testing
