#include "train/parted.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/checkpoint_files.h"
#include "train/parts.h"

namespace dyadic::inline v1::train {
namespace {

class Partly : public Part {
  std::unique_ptr<Part> whole_;
  data::Callback<bool(std::string_view)> here_;
  bool loads_;

  State cut(State s) const {
    std::erase_if(s.tensors, [this](auto& entry) { return !here_(entry.first); });
    return s;
  }

 public:
  Partly(std::unique_ptr<Part> whole, data::Callback<bool(std::string_view)> here, bool loads)
      : whole_(std::move(whole)), here_(std::move(here)), loads_(loads) {}
  State state() override { return cut(whole_->state()); }
  void compare(const std::string& part, const State& saved, Differences& differences) override {
    whole_->compare(part, saved, differences);
  }
  void load(const State& saved) override { whole_->load(loads_ ? cut(saved) : saved); }
};

// What f(), or any other rank's, has thrown.
template <class F> void on_all(distributed::Group& group, F&& f) {
  std::string failed;
  try {
    f();
  } catch (const std::exception& e) { failed = e.what(); }
  for (const std::string& theirs : group.all_gather(failed))
    if (!theirs.empty()) throw Error(theirs);
}

}  // namespace

std::unique_ptr<Part> partly(std::unique_ptr<Part> whole, data::Callback<bool(std::string_view)> here, bool loads) {
  return std::make_unique<Partly>(std::move(whole), std::move(here), loads);
}

void add_trained(Checkpoint& run, Trained t, distributed::DataParallel& parallel, nn::Module& model) {
  using distributed::Spread;
  if (parallel.spread() != Spread::none) {
    // Names that are not known are of what every rank has.
    std::map<std::string, int, std::less<>> owners;
    for (auto& [name, tensor] : model.state_dict()) owners[name] = 0;
    for (auto& [path, m] : model.named_modules())
      for (auto& [key, slot] : m->own_parameters())
        if (slot->defined()) owners[path.empty() ? key : path + "." + key] = parallel.owner(*slot);
    const auto here = [owners, rank = parallel.group().rank()](std::string_view name) {
      const auto at = owners.find(name);
      return (at == owners.end() ? 0 : at->second) == rank;
    };
    t.weights = partly(std::move(t.weights), here, parallel.spread() == Spread::parameters);
    t.states = partly(
        std::move(t.states),
        [here, before = "." + t.prefix](std::string_view key) {
          const size_t at = key.find(before);
          return at == key.npos || here(key.substr(at + before.size()));
        },
        true);
  }
  run.add(t.name, std::move(t.weights)).add("optimizer", std::move(t.states));
  if (parallel.wire())
    run.add("wire", std::make_unique<Plain>([&parallel] { return State{parallel.wire_state()}; },
                                            [&parallel](const State& s) { parallel.load_wire_state(s.tensors); }));
}

void save_in_folder(Checkpoint& run, int64_t step, distributed::Group& group, bool parted) {
  const std::string path = run.folder().path(step);
  group.on_first([&] { std::filesystem::create_directories(std::filesystem::path(path).parent_path()); });
  save_at(run, path, step, group, parted);
  group.on_first([&] { run.folder().tidy(saved_at(path)); });
}

void save_at(Checkpoint& run, const std::string& path, int64_t step, distributed::Group& group, bool parted) {
  if (!parted) {
    group.on_first([&] {
      run.save_file(path, step);
      io::remove_others(path, path);
    });
    return;
  }
  std::string files;
  if (group.rank() == 0)
    for (const std::string& file : io::shard_paths(path, size_t(group.size()))) files += file + '\n';
  files = group.broadcast(files);
  const auto file_of = [&](int rank) {
    size_t begin = 0;
    for (; rank > 0; --rank) begin = files.find('\n', begin) + 1;
    return files.substr(begin, files.find('\n', begin) - begin);
  };
  on_all(group, [&] { run.save_file(file_of(group.rank()), step); });
  group.on_first([&] {
    std::vector<io::WrittenPart> parts;
    for (int r = 0; r < group.size(); ++r) parts.push_back(io::written_part(file_of(r)));
    io::remove_others(path, io::write_index(path, io::Checkpoint::document(file_of(0)), parts));
  });
}

std::string saved_at(const std::string& path) { return io::checkpoint_at(path); }

}  // namespace dyadic::inline v1::train
