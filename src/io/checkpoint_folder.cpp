// A folder of checkpoints: which there are, which is the newest and the best, and which go.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/json.h"
#include "base/log.h"
#include "io/atomic_file.h"
#include "io/checkpoint_files.h"
#include "io/safetensors.h"

namespace dyadic::inline v1::io {
namespace {

namespace fs = std::filesystem;

// A name as one of ours: <name>-<step><rest>, where rest is .safetensors, .safetensors.index.json or what a shard has.
struct Name {
  int64_t step = -1;
  std::string rest;
};
std::optional<Name> parse_name(std::string_view file, const std::string& name) {
  if (!file.starts_with(name + "-")) return std::nullopt;
  file.remove_prefix(name.size() + 1);
  Name n;
  auto [stop, problem] = std::from_chars(file.data(), file.data() + file.size(), n.step);
  if (problem != std::errc() || n.step < 0) return std::nullopt;
  n.rest = file.substr(size_t(stop - file.data()));
  return n;
}
bool is_complete(const Name& n) {
  return n.rest == kExtension || n.rest == std::string(kExtension) + std::string(kIndexExtension);
}
void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) warn(fmt::format("checkpoint: cannot remove {}: {}", path.native(), error.message()));
}

std::optional<double> metric_of(const std::string& path, const std::string& metric) {
  try {
    const auto document = parse_json(Checkpoint::document(path));
    auto metrics = document.find("metrics");
    if (metrics == document.end() || !metrics->is_object() || !metrics->contains(metric)) return std::nullopt;
    const auto& value = (*metrics)[metric];
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  } catch (const Error&) { return std::nullopt; }
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().native());
  return names;
}

// Of steps that have none, all parts; of those that have, the parts that they do not name; what killed processes began.
void remove_leftovers(const std::string& folder, const std::string& name, const std::vector<CheckpointFolder::File>& there) {
  std::map<int64_t, std::set<std::string>> parts;
  for (const CheckpointFolder::File& f : there) {
    try {
      parts[f.step].merge(shards_of(f.path));
    } catch (const Error&) { parts[f.step].insert("*"); }  // unreadable: left alone
  }
  for (const std::string& file : names_in(folder)) {
    const auto n = parse_name(file, name);
    if (!n) continue;
    const fs::path path = fs::path(folder) / file;
    if (file.ends_with(".tmp")) remove_leftover(path.native().substr(0, path.native().size() - 4));
    if (!is_part(n->rest)) continue;
    auto known = parts.find(n->step);
    if (known == parts.end() || (!known->second.contains(file) && !known->second.contains("*"))) remove_file(path);
  }
}

}  // namespace

// -00001-of-00003.safetensors, -b1-00001-of-00003.safetensors
bool is_part(std::string_view rest) {
  if (!rest.ends_with(kExtension)) return false;
  rest.remove_suffix(kExtension.size());
  const auto take = [&](std::string_view begin, size_t least) {
    if (!rest.starts_with(begin)) return false;
    const size_t end = std::min(rest.find_first_not_of("0123456789", begin.size()), rest.size());
    const bool good = end - begin.size() >= least;
    if (good) rest.remove_prefix(end);
    return good;
  };
  take("-b", 1);
  return take("-", 5) && take("-of-", 5) && rest.empty();
}
std::string stem_of(const std::string& path) {
  return path.ends_with(kExtension) ? path.substr(0, path.size() - kExtension.size()) : path;
}

std::vector<std::string> shard_paths(const std::string& path, size_t count) {
  const std::string stem = stem_of(path);
  for (int generation = 0;; ++generation) {
    std::vector<std::string> paths;
    bool free = true;
    for (size_t i = 0; i < count && free; ++i) {
      paths.push_back(fmt::format("{}{}-{:05d}-of-{:05d}{}", stem, generation ? fmt::format("-b{}", generation) : "", i + 1,
                                  count, kExtension));
      free = !fs::exists(paths.back());
    }
    if (free) return paths;
  }
}

CheckpointFolder::CheckpointFolder(std::string folder, CheckpointFolderOptions options)
    : folder_(std::move(folder)), o_(std::move(options)) {
  DY_CHECK_AS(ValueError, o_.keep >= 1, "checkpoint: at least one file is kept: keep is {}", o_.keep);
  DY_CHECK_AS(ValueError, !o_.name.empty() && o_.name.find('/') == o_.name.npos,
              "checkpoint: a plain file name is needed: name is {}", quote_name(o_.name));
  DY_CHECK_AS(ValueError, o_.shard_bytes >= 0, "checkpoint: shard_bytes is negative: {}; 0 is for one file", o_.shard_bytes);
}

std::string CheckpointFolder::path(int64_t step) const {
  return (fs::path(folder_) / fmt::format("{}-{:08d}{}", o_.name, step, kExtension)).native();
}

std::string CheckpointFolder::save(const Checkpoint& checkpoint, int64_t step) const {
  DY_CHECK_AS(ValueError, step >= 0, "checkpoint: the step is negative: step is {}", step);
  std::error_code error;
  fs::create_directories(folder_, error);
  DY_CHECK(!error, "checkpoint: cannot make the folder {}: {}", folder_, error.message());
  const std::string written = checkpoint.save(path(step), o_.shard_bytes);
  const std::string other = written == path(step) ? path(step) + std::string(kIndexExtension) : path(step);
  if (fs::exists(other)) remove_file(other);
  tidy(written);
  return written;
}

void CheckpointFolder::tidy(const std::string& written) const {
  std::vector<File> files = list();
  const std::optional<File> best_one = o_.best.empty() ? std::nullopt : best();
  std::vector<File> kept;
  for (size_t i = 0; i < files.size(); ++i) {
    if (i < size_t(o_.keep) || files[i].path == written || (best_one && files[i].path == best_one->path))
      kept.push_back(files[i]);
    else
      remove_file(files[i].path);
  }
  remove_leftovers(folder_, o_.name, kept);
}

std::vector<CheckpointFolder::File> CheckpointFolder::list() const {
  std::vector<File> files;
  for (const std::string& file : names_in(folder_))
    if (const auto n = parse_name(file, o_.name); n && is_complete(*n))
      files.push_back({(fs::path(folder_) / file).native(), n->step});
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return std::pair(b.step, b.path) < std::pair(a.step, a.path); });
  return files;
}

std::optional<CheckpointFolder::Found> CheckpointFolder::latest() const {
  std::string newest;
  for (const File& f : list()) {
    try {
      return Found{f.path, f.step, Checkpoint::load(f.path)};
    } catch (const OutOfMemoryError&) { throw; } catch (const Error& e) {
      if (newest.empty()) newest = e.what();
      warn(e.what());
    }
  }
  DY_CHECK(newest.empty(), "{}", newest);
  return std::nullopt;
}

std::optional<CheckpointFolder::File> CheckpointFolder::best() const {
  DY_CHECK_AS(ValueError, !o_.best.empty(), "checkpoint: best() needs the name of a metric; none was given");
  std::optional<File> found;
  double value = 0;
  std::vector<File> files = list();
  std::reverse(files.begin(), files.end());
  for (const File& f : files) {
    const auto metric = metric_of(f.path, o_.best);
    if (!metric || (found && !(o_.maximize ? *metric > value : *metric < value))) continue;
    found = f;
    value = *metric;
  }
  return found;
}

}  // namespace dyadic::inline v1::io
