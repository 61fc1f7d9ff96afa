// Parameters of which each rank steps some.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "distributed/flat.h"
#include "dyadic/data_parallel.h"
#include "dyadic/ops.h"
#include "optim/grad_ops.h"

namespace dyadic::inline v1::distributed {
namespace {

// Which rank steps each of a layout's parameters.
std::vector<int> owners(const Flat& layout, int ranks) {
  const std::vector<Range> slices = layout.spread(ranks);
  std::vector<int> out;
  int64_t at = 0;
  int rank = 0;
  for (const Tensor& p : layout.params()) {
    while (rank < ranks - 1 && at >= slices[size_t(rank)].end) ++rank;
    out.push_back(rank);
    at += p.numel();
  }
  return out;
}

std::string described(const nn::NamedTensors& tensors) {
  std::string text;
  for (auto& [name, t] : tensors) {
    text += fmt::format("{}\t{}", name, t.dtype().name());
    for (const int64_t n : t.sizes()) text += fmt::format("\t{}", n);
    text += "\n";
  }
  return text;
}
Tensor like(std::string_view line, std::string& name) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find('\t', begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<int64_t> sizes;
  for (size_t i = 2; i < words.size(); ++i) sizes.push_back(std::stoll(words[i]));
  name = words[0];
  return empty(sizes, DType::parse(words[1]));
}

// Named tensors of all ranks, on the first; elsewhere none.
nn::NamedTensors gathered(Group& group, const nn::NamedTensors& mine) {
  const std::vector<std::string> lists = group.all_gather(described(mine));
  nn::NamedTensors all = mine;
  if (group.rank() != 0) {
    for (auto& [name, t] : mine) group.send(t, 0);
    return {};
  }
  for (int r = 1; r < group.size(); ++r) {
    std::string_view list = lists[size_t(r)];
    while (!list.empty()) {
      const size_t end = list.find('\n');
      std::string name;
      const Tensor t = like(list.substr(0, end), name);
      group.receive(t, r);
      all.emplace_back(std::move(name), t);
      list.remove_prefix(end + 1);
    }
  }
  return all;
}

}  // namespace

double DataParallel::grad_norm(const nn::NamedTensors& params) {
  if (!spread_) return optim::grad_norm(params);
  const Tensor squares = zeros({int64_t(params.size())}, f64);
  auto* s = squares.data<double>();
  bool real = true;
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor g = params[i].second.grad();
    if (g.defined()) s[i] = optim::grad_squares(g);
    real = real && !params[i].second.is_meta();
  }
  if (real) group_.all_reduce(squares);  // of each one rank has it: nothing is rounded
  double total = 0;
  for (size_t i = 0; i < params.size(); ++i) total += s[i];
  return std::sqrt(total);
}

void DataParallel::share() {
  if (!spread_) return;
  const Flat layout(model_.parameters(), {});
  if (layout.device().is_meta()) return;
  const std::vector<int> owner = owners(layout, group_.size());
  for (size_t i = 0; i < owner.size(); ++i) group_.broadcast(layout.params()[i], owner[i]);
}

void DataParallel::keep_own(optim::Optimizer& optimizer) {
  if (!spread_) return;
  const Flat layout(model_.parameters(), {});
  const std::vector<int> owner = owners(layout, group_.size());
  for (size_t i = 0; i < owner.size(); ++i)
    if (owner[i] != group_.rank()) optimizer.states().erase(layout.params()[i].impl());
}

void DataParallel::collect(optim::Optimizer& optimizer) {
  if (!spread_) return;
  const nn::NamedTensors all = gathered(group_, optimizer.state_dict());
  if (group_.rank() == 0) optimizer.load_state_dict(all, optimizer.steps());
}

}  // namespace dyadic::inline v1::distributed
