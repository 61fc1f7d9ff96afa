// Which modules lie in memory, and which on disk.
#include <algorithm>
#include <map>
#include <set>

#include "account/disk.h"
#include "base/check.h"
#include "base/text.h"
#include "dyadic/offload.h"
#include "io/mapped_file.h"
#include "offload/spill.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace {

// "a.b" begins "a.b.c", and itself, and not "a.bc".
bool begins(std::string_view path, std::string_view name) {
  return path.empty() || (name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.'));
}
std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

class Inference {
  const std::vector<std::string>& no_split_;
  std::map<TensorImpl*, std::string> homes_;  // of parameters: the first name, which says where they lie
  int64_t cpu_, disk_, on_disk_ = 0;
  bool full_ = false;  // memory is: what follows lies on disk

 public:
  DeviceMap map;

  Inference(nn::Module& model, int64_t cpu, int64_t disk, const std::vector<std::string>& no_split)
      : no_split_(no_split), cpu_(cpu), disk_(disk) {
    for (auto& [name, p] : model.named_parameters()) homes_.emplace(p.impl(), name);
    place(model, "", false);
  }

 private:
  bool is_at_home(const std::string& name, const Tensor& p) const { return homes_.at(p.impl()) == name; }
  void place(nn::Module& m, const std::string& path, bool whole) {
    int64_t bytes = 0;
    bool empty = true;
    for (auto& [name, p] : m.named_parameters(path))
      if (empty = false; is_at_home(name, p)) bytes += p.nbytes();
    if (empty) return;
    const bool kept = whole || m.children().empty() || std::ranges::find(no_split_, m.kind()) != no_split_.end();
    if (put(path, bytes, full_ || kept)) return;
    for (auto& [name, slot] : m.own_parameters())
      if (slot->defined() && is_at_home(joined(path, name), *slot)) put(joined(path, name), slot->nbytes(), true);
    for (auto& [name, child] : m.children())
      if (child) place(*child, joined(path, name), std::string_view(m.kind()) == "ModuleList");
  }
  // In memory, or, if it may be, on disk; false: in neither.
  bool put(const std::string& path, int64_t bytes, bool may_be_on_disk) {
    if (!full_ && bytes <= cpu_) {
      cpu_ -= bytes, map.emplace_back(path, "cpu");
      return true;
    }
    if (!may_be_on_disk) return false;
    full_ = true, on_disk_ += bytes, map.emplace_back(path, "disk");
    DY_CHECK_AS(OutOfMemoryError, disk_ < 0 || on_disk_ <= disk_,
                "device_map: {} of weights and more are for the disk, whose limit is {}: allow more of it, or of memory",
                human_bytes(on_disk_), human_bytes(disk_));
    return true;
  }
};

// The most that parameters of one module take, of those that count.
template <class F> int64_t largest_part(nn::Module& model, F counts) {
  int64_t largest = 0;
  for (auto& [path, m] : model.named_modules()) {
    int64_t own = 0;
    for (auto& [name, slot] : m->own_parameters())
      if (slot->defined() && counts(joined(path, name), *slot)) own += slot->nbytes();
    largest = std::max(largest, own);
  }
  return largest;
}

}  // namespace

bool is_on_disk(const DeviceMap& map, std::string_view parameter) {
  const std::pair<std::string, std::string>* found = nullptr;
  for (auto& entry : map)
    if (begins(entry.first, parameter) && (!found || entry.first.size() > found->first.size())) found = &entry;
  DY_CHECK_AS(ValueError, found, "device_map: it says of no part of {} where that lies; \"\" stands for all the rest",
              parameter);
  return found->second == "disk";
}

void check_device_map(const DeviceMap& map, nn::Module& model) {
  std::set<std::string> paths;
  for (auto& [name, m] : model.named_modules()) {
    paths.insert(name);
    for (auto& [key, slot] : m->own_parameters()) paths.insert(joined(name, key));
  }
  for (auto& [path, place] : map) {
    DY_CHECK_AS(ValueError, place == "cpu" || place == "disk", "device_map: \"{}\" is to lie on {}: parts lie on cpu or disk",
                path, place);
    DY_CHECK_AS(ValueError, paths.contains(path), "device_map: the model has no module or parameter {}", path);
  }
  for (auto& [name, p] : model.named_parameters()) is_on_disk(map, name);
}

DeviceMap infer_auto_device_map(nn::Module& model, const MaxMemory& max_memory, const std::vector<std::string>& no_split) {
  const int64_t cpu = max_memory.cpu ? max_memory.cpu : account::available_memory();
  DY_CHECK_AS(ValueError, cpu >= 0, "device_map: {} bytes of memory", cpu);
  // What is on disk is read into memory a module at a time, for which there must be room, so that more may be on disk.
  for (int64_t window = 0;;) {
    const DeviceMap map = Inference(model, std::max<int64_t>(cpu - window, 0), max_memory.disk, no_split).map;
    const int64_t reads = std::max(window, offloaded_window(model, map));
    DY_CHECK_AS(OutOfMemoryError, reads <= cpu, "device_map: {} of memory are too few: one module alone reads weights of {}",
                human_bytes(cpu), human_bytes(reads));
    if (reads == window) return map.empty() ? DeviceMap{{"", "cpu"}} : map;
    window = reads;
  }
}

bool is_offloaded(const Tensor& t) { return io::is_mapped(t) || offload::is_spilled(t); }

int64_t offloaded_bytes(const nn::Module& model) {
  int64_t sum = 0;
  for (auto& [name, p] : model.named_parameters())
    if (is_offloaded(p)) sum += p.nbytes();
  return sum;
}
int64_t offloaded_window(nn::Module& model) {
  return largest_part(model, [](const std::string&, const Tensor& p) { return is_offloaded(p); });
}
int64_t offloaded_window(nn::Module& model, const DeviceMap& map) {
  return largest_part(model, [&](const std::string& name, const Tensor&) { return is_on_disk(map, name); });
}

}  // namespace dyadic::inline v1
