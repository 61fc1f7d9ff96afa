// Parameters of which each rank steps some.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "distributed/units.h"
#include "dyadic/data_parallel.h"
#include "dyadic/fully_shard.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::distributed {
namespace {

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

void begin_equal(nn::Module& model, Group& group) {
  std::vector<Tensor> all = model.parameters();
  for (const Tensor& b : model.buffers()) all.push_back(b);
  std::erase_if(all, [](const Tensor& t) { return t.is_meta() || t.impl()->storage->read_only; });
  group.broadcast(all, std::vector<int>(all.size(), 0));
}

double DataParallel::grad_norm(const nn::NamedTensors& params) {
  return spread_ == Spread::none ? optim::grad_norm(params) : spread_norm(params, group_);
}

int DataParallel::owner(const Tensor& parameter) const {
  const auto in = [&](const std::vector<Tensor>& params, const std::vector<int>& owners) {
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].is_same(parameter)) return owners[i];
    return -1;
  };
  int found = in(trained_, owners_);
  for (size_t i = 0; i < units_.size() && found < 0 && spread_ == Spread::parameters; ++i)
    found = in(units_[i]->params(), units_[i]->owners());
  return std::max(found, 0);
}

nn::NamedTensors DataParallel::wire_state() const {
  nn::NamedTensors all;
  for (auto& [name, p] : model_.named_parameters())
    for (const auto& unit : units_)
      for (size_t i = 0; i < unit->params().size(); ++i)
        for (int64_t k = 0; unit->params()[i].is_same(p) && k < shards_; ++k)
          if (const Tensor lost = unit->lost(k, i); lost.defined()) all.emplace_back(fmt::format("{}.{}", k, name), lost);
  return all;
}

void DataParallel::load_wire_state(const nn::NamedTensors& state) {
  NoGrad guard;
  std::map<std::string, Tensor, std::less<>> params;
  for (auto& [name, p] : model_.named_parameters()) params[name] = p;
  for (auto& [key, lost] : state) {
    const size_t dot = key.find('.');
    const auto p = params.find(std::string_view(key).substr(dot + 1));
    const int64_t shard = std::stoll(key);
    if (p == params.end() || shard % group_.size() != group_.rank()) continue;
    for (const auto& unit : units_)
      for (size_t i = 0; i < unit->params().size(); ++i)
        if (unit->params()[i].is_same(p->second)) unit->set_lost(shard, i, lost);
  }
}

void DataParallel::share() {
  if (spread_ != Spread::none && spread_ != Spread::parameters) group_.broadcast(trained_, owners_);
}

void DataParallel::keep_own(optim::Optimizer& optimizer) {
  for (size_t i = 0; i < owners_.size(); ++i)
    if (owners_[i] != group_.rank()) optimizer.states().erase(trained_[i].impl());
}

void DataParallel::collect(optim::Optimizer& optimizer) {
  if (spread_ == Spread::none) return;
  const nn::NamedTensors all = gathered(group_, optimizer.state_dict());
  if (group_.rank() == 0) optimizer.load_state_dict(all, optimizer.steps());
}

}  // namespace dyadic::inline v1::distributed
