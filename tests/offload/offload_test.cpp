// Modules whose weights lie in files: which, the same bits, and no more of them in memory than what runs.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "dyadic/dyadic.h"
#include "dyadic/io.h"
#include "dyadic/models.h"
#include "dyadic/offload.h"
#include "tensor/impl.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

namespace fs = std::filesystem;

std::string folder() {
  const std::string at = ::testing::TempDir() + "offload";
  fs::create_directories(at);
  return at;
}

struct Block : nn::Module {
  nn::Linear up, down;
  explicit Block(int64_t width) : up(width, 2 * width), down(2 * width, width) { add("up", up), add("down", down); }
  Tensor forward(const Tensor& x) override { return x + down(relu(up(x))); }
};
struct Net : nn::Module {
  nn::Embedding embed;
  nn::ModuleList<Block> layers;
  nn::Linear head;
  explicit Net(int64_t blocks = 3, int64_t width = 64, int64_t rows = 50) : embed(rows, width), head(width, rows, false) {
    add("embed", embed), add("layers", layers), add("head", head);
    for (int64_t i = 0; i < blocks; ++i) layers.append(std::make_shared<Block>(width));
  }
  const char* kind() const override { return "Net"; }
  Tensor forward(const Tensor& ids) override {
    Tensor x = embed(ids);
    for (Block* b : layers) x = (*b)(x);
    return head(x);
  }
};
std::shared_ptr<Net> net(int64_t blocks = 3, int64_t width = 64) {
  manual_seed(5);
  return std::make_shared<Net>(blocks, width);
}
Tensor some_ids() { return arange(24, i64).view({2, 12}); }

template <class F> std::string message(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

// Bytes of a tensor's memory that are in this process's.
int64_t resident(const Tensor& t) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = uintptr_t(t.impl()->storage->data);
  std::string line;
  bool here = false;
  while (std::getline(maps, line)) {
    uintptr_t begin = 0, end = 0;
    int64_t kib = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) here = at >= begin && at < end;
    if (here && std::sscanf(line.c_str(), "Rss: %" SCNd64 " kB", &kib) == 1) return kib * 1024;
  }
  return -1;
}

TEST(DeviceMap, TheLongestPathCounts) {
  const DeviceMap map{{"", "cpu"}, {"layers", "disk"}, {"layers.1", "cpu"}, {"layers.1.up.bias", "disk"}};
  EXPECT_FALSE(is_on_disk(map, "head.weight"));
  EXPECT_TRUE(is_on_disk(map, "layers.0.up.weight"));
  EXPECT_TRUE(is_on_disk(map, "layers.10.up.weight"));  // not in layers.1
  EXPECT_FALSE(is_on_disk(map, "layers.1.up.weight"));
  EXPECT_TRUE(is_on_disk(map, "layers.1.up.bias"));
  EXPECT_FALSE(is_on_disk(map, "layers2.weight"));
  EXPECT_EQ(message([] { is_on_disk({{"head", "disk"}}, "embed.weight"); }),
            "device_map: it says of no part of embed.weight where that lies; \"\" stands for all the rest");
}

TEST(DeviceMap, SaysWhatIsWrong) {
  const auto m = net();
  const auto said = [&](const DeviceMap& map) { return message([&] { dispatch_model(*m, map, folder()); }); };
  EXPECT_EQ(said({{"", "cuda:0"}}), "device_map: \"\" is to lie on cuda:0: parts lie on cpu or disk");
  EXPECT_EQ(said({{"", "cpu"}, {"layers.3", "disk"}}), "device_map: the model has no module or parameter layers.3");
  EXPECT_EQ(said({{"head", "disk"}}),
            "device_map: it says of no part of embed.weight where that lies; \"\" stands for all the rest");
  EXPECT_EQ(offloaded_bytes(*m), 0);
  const std::string file = folder() + "/a_file";
  std::ofstream(file) << "x";
  EXPECT_TRUE(message([&] { dispatch_model(*m, {{"", "disk"}}, file); }).starts_with(file + ": ")) << file;
  EXPECT_EQ(offloaded_bytes(*m), 0);
}

TEST(DeviceMap, FillsMemoryInTheModelsOrder) {
  const auto m = net();
  const int64_t block = 4 * (64 * 128 * 2 + 128 + 64), outer = 4 * 50 * 64, largest = 4 * (64 * 128 + 128);
  const auto at = [&](int64_t bytes, const std::vector<std::string>& no_split = {}) {
    return infer_auto_device_map(*m, {.cpu = bytes}, no_split);
  };
  EXPECT_EQ(at(3 * block + 2 * outer), (DeviceMap{{"", "cpu"}}));
  EXPECT_EQ(at(3 * block + 2 * outer - 1),
            (DeviceMap{{"embed", "cpu"}, {"layers.0", "cpu"}, {"layers.1", "cpu"}, {"layers.2", "disk"}, {"head", "disk"}}));
  EXPECT_EQ(at(outer + block + largest),
            (DeviceMap{{"embed", "cpu"}, {"layers.0", "cpu"}, {"layers.1", "disk"}, {"layers.2", "disk"}, {"head", "disk"}}));
  EXPECT_EQ(at(outer + block + largest, {"Net"}), (DeviceMap{{"", "disk"}}));
  EXPECT_EQ(at(largest)[0].second, "disk");
  EXPECT_TRUE(message([&] { at(largest - 1); }).ends_with(": one module alone reads weights of 32.5 KiB"));
  EXPECT_TRUE(message([&] {
                infer_auto_device_map(*m, {.cpu = outer + largest, .disk = block});
              }).find("are for the disk, whose limit is") != std::string::npos);
  const auto on_meta = std::make_shared<Net>();
  on_meta->head.set_parameter("weight", on_meta->embed.weight);  // tied: it lies where its first name does
  EXPECT_EQ(infer_auto_device_map(*on_meta, {.cpu = 3 * block + outer}), (DeviceMap{{"", "cpu"}}));
  struct Empty : nn::Module {
  } empty;
  EXPECT_EQ(infer_auto_device_map(empty, {.cpu = 1}), (DeviceMap{{"", "cpu"}}));
}

// The map that was found takes what it may: checked against the bytes that are in memory.
TEST(DeviceMap, KeepsItsWord) {
  const auto m = net(7, 48);
  for (int64_t limit = 64'000; limit < m->nbytes(); limit += 10'007) {
    const DeviceMap map = infer_auto_device_map(*m, {.cpu = limit});
    int64_t in_memory = offloaded_window(*m, map);
    for (auto& [name, p] : m->named_parameters())
      if (!is_on_disk(map, name)) in_memory += p.nbytes();
    EXPECT_LE(in_memory, limit);
    EXPECT_GT(in_memory, limit - 4 * (48 * 96 * 2 + 144) - 4 * 50 * 48);  // and wastes less than a layer and the head
  }
}

// Losses and weights of training, all of it in memory and with these on disk.
std::vector<Tensor> trained(const DeviceMap& map, int threads) {
  const auto m = net();
  if (!map.empty()) dispatch_model(*m, map, folder());
  set_num_threads(threads);
  optim::AdamW optimizer(m->parameters(), {.lr = 1e-2});
  std::vector<Tensor> all;
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy((*m)(some_ids()).view({-1, 50}), flip(some_ids(), {1}).view({-1}));
    loss.backward();
    optimizer.step();
    all.push_back(loss.detach().clone());
  }
  for (auto& [name, p] : m->named_parameters()) all.push_back(p.detach().clone()), all.push_back(p.grad().clone());
  return all;
}
TEST(Offload, TrainsToTheSameBits) {
  const int before = get_num_threads();
  const std::vector<Tensor> in_memory = trained({}, before);
  for (const DeviceMap& map :
       {DeviceMap{{"", "disk"}}, DeviceMap{{"", "cpu"}, {"layers", "disk"}}, DeviceMap{{"", "disk"}, {"layers.1.up", "cpu"}}})
    for (int threads : {1, 2, 3}) {
      const std::vector<Tensor> there = trained(map, threads);
      ASSERT_EQ(there.size(), in_memory.size());
      for (size_t i = 0; i < there.size(); ++i) EXPECT_TRUE(equal(there[i], in_memory[i])) << map[0].first << " " << i;
    }
  set_num_threads(before);
}

TEST(Offload, FrozenWeightsPassGradientsAndAreNotWritten) {
  const auto plain = net(), m = net();
  plain->requires_grad_(false), m->requires_grad_(false);
  for (auto* one : {&*plain, &*m}) one->layers[0].down.bias.requires_grad_();
  dispatch_model(*m, {{"layers", "disk"}, {"", "cpu"}}, folder());
  for (auto* one : {&*plain, &*m}) (*one)(some_ids()).square().sum().backward();
  EXPECT_TRUE(equal(m->layers[0].down.bias.grad(), plain->layers[0].down.bias.grad()));
  NoGrad guard;
  EXPECT_NE(message([&] { m->layers[0].up.weight.add_(1); }), "");
  m->layers[0].down.bias.add_(1);
  EXPECT_TRUE(equal(m->layers[0].up.weight, plain->layers[0].up.weight));
}

TEST(Offload, ParametersStayTheTensorsTheyAre) {
  const auto m = net();
  const Tensor p = m->layers[1].up.weight;
  const int64_t before = memory_stats().total;
  dispatch_model(*m, {{"", "disk"}}, folder());
  EXPECT_EQ(memory_stats().total, before - m->nbytes());  // the ledger has only what is in memory
  EXPECT_TRUE(p.is_same(m->layers[1].up.weight));
  EXPECT_TRUE(is_offloaded(p) && p.requires_grad());
  EXPECT_EQ(offloaded_bytes(*m), m->nbytes());
  EXPECT_TRUE(fs::is_empty(folder()) || !fs::exists(folder() + "/offload")) << "the file has no name";
  EXPECT_TRUE(equal(m->state_dict()[1].second, net()->state_dict()[1].second));
}

TEST(Offload, OnlyWhatRunsIsInMemory) {
  const auto m = net(4, 512);
  m->requires_grad_(false);
  dispatch_model(*m, {{"", "disk"}}, folder());
  const auto in_memory = [&] {
    int64_t sum = 0;
    for (const Tensor& p : m->parameters()) sum += resident(p);
    return sum;
  };
  for (int i = 0; i < 4; ++i) {
    const NoGrad guard;
    (*m)(some_ids());
    EXPECT_EQ(in_memory(), 0) << i;
  }
  for (int i = 0; i < 4; ++i) {
    Tensor x = randn({4, 512});
    x.requires_grad_();
    Tensor y = x;
    for (Block* b : m->layers) y = (*b)(y);
    y.sum().backward();
    EXPECT_EQ(in_memory(), 0) << i;
    EXPECT_TRUE(x.grad().defined());
  }
  resident(m->head.weight);
  EXPECT_NE(m->head.weight.sum().item(), 0);  // read by another way than its module: it goes with the next pass
  EXPECT_GT(in_memory(), 0);
  const NoGrad guard;
  (*m)(some_ids());
  EXPECT_EQ(in_memory(), 0);
}

// Parameters, and what an optimizer keeps of them: to the same bits, in any format of its states.
TEST(Offload, StatesFollowTheirParameters) {
  for (const char* format : {"f32", "dynamic8", "bf16"}) {
    SCOPED_TRACE(format);
    const auto train = [&](nn::Linear& m, optim::AdamW& optimizer) {
      manual_seed(9);
      for (int i = 0; i < 4; ++i) {
        optimizer.zero_grad();
        m(randn({8, 256})).square().mean().backward();
        optimizer.step();
      }
    };
    manual_seed(2);
    nn::Linear plain(256, 256), there(256, 256);
    there.load_state_dict(plain.state_dict());
    optim::AdamW a(plain.parameters(), {.state = DType::parse(format)}), b(there.parameters(), {.state = DType::parse(format)});
    dispatch_model(there, {{"", "disk"}}, folder());
    train(plain, a), train(there, b);
    EXPECT_EQ(resident(there.weight), 0);
    EXPECT_TRUE(equal(plain.weight, there.weight) && equal(plain.bias, there.bias));
    const auto states = a.state_dict(), on_disk = b.state_dict();
    ASSERT_EQ(states.size(), on_disk.size());
    int64_t moved = 0;
    for (size_t i = 0; i < states.size(); ++i) {
      EXPECT_TRUE(equal(states[i].second.to(f32), on_disk[i].second.to(f32))) << states[i].first;
      moved += is_offloaded(on_disk[i].second);
    }
    EXPECT_EQ(moved, 2) << "of the weight; the bias's are small";
    b.load_state_dict(states, 4);  // in memory at first
    train(plain, a), train(there, b);
    EXPECT_TRUE(equal(plain.weight, there.weight));
  }
}

// Every format of weights: with one plane, with several, with codebooks; the bytes in the file are the tensor's.
TEST(Offload, AnyFormat) {
  for (const char* name : {"f64", "bf16", "f8e4m3fn", "i4", "u1", "q4_0", "q4_K", "q2_K", "nf4", "i4(group=32,zero)", "i8(row)",
                           "mxfp4", "nvfp4", "e8p", "tq2_0", "aqlm(codebooks=2,bits=4)"}) {
    SCOPED_TRACE(name);
    manual_seed(3);
    nn::Linear a(256, 64), b(256, 64);
    b.load_state_dict(a.state_dict());
    const DType d = DType::parse(name);
    for (nn::Linear* one : {&a, &b}) {
      one->requires_grad_(false);
      one->set_parameter("weight", one->weight.to(d));
    }
    dispatch_model(b, {{"weight", "disk"}, {"", "cpu"}}, folder());
    EXPECT_TRUE(is_offloaded(b.weight) && !is_offloaded(b.bias));
    EXPECT_TRUE(equal(a.weight.to(f32), b.weight.to(f32)));
    if (!d.is_scaled()) continue;  // products read these where they lie
    const Tensor x = randn({3, 256});
    EXPECT_TRUE(equal(a(x), b(x)));
  }
}

TEST(Offload, OddShapesAndViews) {
  struct Odd : nn::Module {
    Tensor empty_one, scalar, turned, shared;
    Odd() {
      manual_seed(1);
      shared = randn({6, 4});
      register_parameter("empty", empty({0, 3})), register_parameter("scalar", randn({}));
      register_parameter("turned", randn({5, 7}).t()), register_parameter("part", shared.narrow(0, 2, 3));
    }
    Tensor forward(const Tensor& x) override { return x; }
  } odd, same;
  dispatch_model(odd, {{"", "disk"}}, folder());
  auto a = odd.named_parameters(), b = same.named_parameters();
  for (auto& [name, p] : a) {
    EXPECT_TRUE(p.sizes() == b[name].sizes()) << name;
    EXPECT_TRUE(equal(p, b[name])) << name;
  }
  odd(randn({2}));
}

// Memory that nobody may write is not a file's for that: nothing of it is given back to the system.
TEST(Offload, OtherReadOnlyMemoryIsLeftAlone) {
  std::vector<float> numbers(1 << 16, 3);
  nn::Linear m(256, 256, false);
  const Tensor over = make_over(numbers.data(), {256, 256}, f32);
  over.impl()->storage->read_only = true;
  m.requires_grad_(false);
  m.set_parameter("weight", over);
  EXPECT_FALSE(is_offloaded(m.weight));
  dispatch_model(m, {{"", "disk"}}, folder());
  EXPECT_TRUE(is_offloaded(m.weight));
  const NoGrad guard;
  for (int i = 0; i < 3; ++i) m(ones({1, 256}));
  EXPECT_EQ(numbers, std::vector<float>(1 << 16, 3));
}

TEST(Offload, LoadedModelsStayInTheirFiles) {
  const std::string path = model_data("llama");
  const auto plain = models::load(path);
  const Tensor ids = arange(9, i64).view({1, 9});
  const auto logits = [&](const models::LoadOptions& o) {
    const auto m = models::load(path, o);
    const NoGrad guard;
    return (*m)(ids).to(f32);
  };
  const auto lying = models::load(path, {.device_map = {{"", "disk"}}});
  EXPECT_EQ(offloaded_bytes(*lying), lying->nbytes());
  for (auto& [name, p] : lying->named_parameters()) EXPECT_FALSE(p.requires_grad()) << name;
  const DeviceMap layers{{"", "cpu"}, {"model.layers", "disk"}};
  EXPECT_TRUE(equal(logits({.device_map = layers}), logits({})));
  EXPECT_TRUE(equal(logits({.device_map = {{"", "disk"}}}), logits({})));
  const std::string refused = message([&] { logits({.dtype = q4_0, .device_map = layers}); });
  EXPECT_TRUE(refused.starts_with("load: model.layers.0.input_layernorm.weight goes to disk as f32, and ")) << refused;
  EXPECT_TRUE(refused.ends_with("has it otherwise: give offload_folder, a place for it")) << refused;
  for (DType d : {q4_0, bf16, DType::parse("i4(group=32)")})
    EXPECT_TRUE(equal(logits({.dtype = d, .device_map = layers, .offload_folder = folder()}), logits({.dtype = d})))
        << d.name();
  EXPECT_EQ(message([&] { logits({.device_map = {{"", "cpu"}, {"layers", "disk"}}}); }),
            "device_map: the model has no module or parameter layers");
}

// Stacks of experts are read in parts, turned weights are others than the file's.
TEST(Offload, FamiliesWithTheirOwnForms) {
  for (const char* family : {"gpt2", "gpt_oss", "mixtral", "qwen3_5_moe", "deepseek_v3", "gemma3"}) {
    SCOPED_TRACE(family);
    const std::string path = model_data(family);
    const Tensor ids = arange(6, i64).view({1, 6});
    const NoGrad guard;
    const auto plain = models::load(path);
    const auto lying = models::load(path, {.device_map = {{"", "disk"}}, .offload_folder = folder()});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal((*lying)(ids), (*plain)(ids)));
    EXPECT_EQ(offloaded_bytes(*lying), plain->nbytes());
  }
}

TEST(Offload, AModelOnMetaHasTheDtypesItWouldHave) {
  const std::string path = model_data("llama");
  for (DType d : {DType(), q4_0, bf16}) {
    const auto real = models::load(path, {.dtype = d}), blank = models::load(path, {.dtype = d, .device = meta});
    auto names = real->named_parameters(), on_meta = blank->named_parameters();
    for (auto& [name, p] : names) {
      EXPECT_EQ(on_meta[name].dtype(), p.dtype()) << name;
      EXPECT_TRUE(on_meta[name].sizes() == p.sizes()) << name;
      EXPECT_EQ(on_meta[name].device(), meta);
    }
  }
}

}  // namespace
}  // namespace dyadic::testing
