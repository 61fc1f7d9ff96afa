// Importance matrices: sums of squares of inputs, and the GGUF files that llama.cpp's tools keep them in: for each weight
// "<name>.in_sum2" [matrices, columns] and "<name>.counts" [matrices, 1], under the weight's name there; experts are matrices
// of one tensor (https://github.com/ggml-org/llama.cpp/tree/master/tools/imatrix).
#include <algorithm>
#include <map>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/gguf.h"
#include "dyadic/models.h"
#include "io/bad_file.h"
#include "models/config.h"
#include "models/gguf/names.h"
#include "quant/targets.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr const char *kSquares = ".in_sum2", *kCounts = ".counts";

const models::Architecture& architecture_of(const models::CausalLM& m) {
  const std::string type = models::Config(m.config).model_type();
  const models::Architecture* a = models::find_architecture_of(type);
  DY_CHECK_AS(ValueError, a, "importance: GGUF files have no names for the tensors of model_type \"{}\"", type);
  return *a;
}

class Squares : public nn::Hook {
  Importance::Entry& entry_;
  const std::string& name_;

 public:
  Squares(Importance::Entry& entry, const std::string& name) : entry_(entry), name_(name) {}
  void before(nn::Module&, std::vector<Tensor>& inputs) override {
    if (inputs.empty() || inputs[0].numel() == 0) return;
    const Tensor x = inputs[0].detach().reshape({-1, inputs[0].size(-1)}).to(f32), squares = sum(square(x), {0});
    DY_CHECK_AS(ValueError, all(isfinite(squares)).item<bool>(), "importance: {}: NaN or infinities are among its inputs",
                name_);
    entry_.squares = entry_.squares.defined() ? entry_.squares + squares : squares;
    entry_.rows += double(x.size(0));
  }
};

}  // namespace

Importance measure_importance(nn::Module& model, Calibration& data) {
  const NoGrad guard;
  const Evaluating evaluating(model);
  Importance all;
  std::vector<std::unique_ptr<Watching>> watching;
  for (auto& [path, m] : model.named_modules())
    if (m->as<nn::Linear>()) {
      auto& [name, entry] = *all.entries.try_emplace(path.empty() ? "weight" : path + ".weight").first;
      watching.push_back(std::make_unique<Watching>(data, *m, std::make_shared<Squares>(entry, name)));
    }
  data.run(model);
  std::erase_if(all.entries, [](auto& e) { return e.second.rows == 0; });
  DY_CHECK_AS(ValueError, !all.entries.empty(), "importance: the data reached no linear layer of {}", model.kind());
  return all;
}

void save_importance(const std::string& path, const Importance& importance, const models::CausalLM& m) {
  const NoGrad guard;
  const models::Architecture& a = architecture_of(m);
  struct Rows {
    std::vector<std::pair<int64_t, const Importance::Entry*>> matrices;  // by number
    int64_t count = 1;
  };
  std::map<std::string, Rows> by_name;
  for (auto& [name, entry] : importance.entries) {
    const auto named = models::of_own(a, name);
    if (!named) continue;  // it has no place in such a file
    Rows& r = by_name[named->gguf];
    r.matrices.emplace_back(std::max<int64_t>(named->expert, 0), &entry);
    r.count = std::max(r.count, named->expert + 1);
  }
  nn::NamedTensors tensors;
  for (auto& [name, r] : by_name) {
    const Tensor squares = zeros({r.count, r.matrices[0].second->squares.size(0)}), counts = zeros({r.count, 1});
    for (auto& [number, entry] : r.matrices) squares[number].copy_(entry->squares), counts[number].fill_(entry->rows);
    tensors.emplace_back(name + kSquares, squares), tensors.emplace_back(name + kCounts, counts);
  }
  io::save_gguf(path, tensors,
                {{"general.type", "imatrix"},
                 {"imatrix.datasets", io::GgufArray(importance.datasets)},
                 {"imatrix.chunk_count", uint32_t(importance.chunks)},
                 {"imatrix.chunk_size", uint32_t(importance.chunk_size)}});
}

Importance load_importance(const std::string& path, models::CausalLM& m) {
  const auto file = io::GgufFile::open(path);
  if (!file->has_key("general.type") || file->text("general.type") != "imatrix")
    io::bad(path, "it is no importance matrix: general.type is {}",
            file->has_key("general.type") ? file->text("general.type") : "not there");
  Importance importance;
  if (file->has_key("imatrix.datasets"))
    for (std::string_view name : file->strings("imatrix.datasets")) importance.datasets.emplace_back(name);
  if (file->has_key("imatrix.chunk_count")) importance.chunks = file->integer("imatrix.chunk_count");
  if (file->has_key("imatrix.chunk_size")) importance.chunk_size = file->integer("imatrix.chunk_size");
  const models::Architecture& a = architecture_of(m);
  for (auto& [name, weight] : m.named_parameters()) {
    const auto named = weight.dim() == 2 ? models::of_own(a, name) : std::nullopt;
    if (!named || !file->has(named->gguf + kSquares)) continue;
    if (!file->has(named->gguf + kCounts)) io::bad(path, "it has {}{}, and no counts", named->gguf, kSquares);
    const Tensor squares = file->get(named->gguf + kSquares).to(f32),
                 counts = file->get(named->gguf + kCounts).to(f32).reshape({-1});
    const int64_t cols = weight.size(1), matrix = std::max<int64_t>(named->expert, 0);
    if (squares.size(-1) != cols || squares.numel() != cols * counts.numel() || matrix >= counts.numel())
      io::bad(path, "it is another model's: {}{} is {} with {} counts, and {} is {}", named->gguf, kSquares, describe(squares),
              counts.numel(), name, describe(weight));
    Importance::Entry entry{squares.reshape({-1, cols})[matrix].clone(), double(counts[matrix].item())};
    if (!all(isfinite(entry.squares)).item<bool>() || !(entry.rows >= 0) || amin(entry.squares).item() < 0)
      io::bad(path, "{}{} has values that are no sums of squares", named->gguf, kSquares);
    if (entry.rows > 0) importance.entries.emplace(name, std::move(entry));
  }
  if (importance.entries.empty()) io::bad(path, "it is another model's: none of its tensors is of this one");
  return importance;
}

}  // namespace dyadic::inline v1::quant
