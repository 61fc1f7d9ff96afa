// Checkpoints: a sealed safetensors file whose metadata holds the JSON document, and the folder they live in.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"
#include "io/safetensors.h"

namespace dyadic::inline v1::io {
namespace {

namespace fs = std::filesystem;
constexpr char kCheckpointKey[] = "dyadic.checkpoint", kJsonKey[] = "dyadic.json";
constexpr std::string_view kExtension = ".safetensors";
constexpr int kMaxDepth = 64;  // of the document

bool is_object(const std::string& text) {
  try {
    return nlohmann::json::parse(text,
                                 [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
                                   DY_CHECK(depth < kMaxDepth, "too deep");
                                   return true;
                                 })
        .is_object();
  } catch (const std::exception&) { return false; }
}

void check_group(std::string_view group) {
  DY_CHECK_AS(ValueError, !group.empty() && group.find('.') == group.npos,
              "checkpoint: a group's name has no dot and is not empty: it is {}", quote_name(group));
}
std::string prefix_of(std::string_view group) { return std::string(group) + "."; }

}  // namespace

void Checkpoint::set(std::string_view group, const NamedTensors& tensors) {
  check_group(group);
  const std::string prefix = prefix_of(group);
  std::erase_if(tensors_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
  for (auto& [name, t] : tensors) tensors_.emplace_back(prefix + name, t);
}

bool Checkpoint::has(std::string_view group) const {
  const std::string prefix = prefix_of(group);
  return std::any_of(tensors_.begin(), tensors_.end(), [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

NamedTensors Checkpoint::get(std::string_view group) const {
  check_group(group);
  const std::string prefix = prefix_of(group);
  NamedTensors out;
  std::vector<std::string> groups;
  for (auto& [name, t] : tensors_) {
    if (name.starts_with(prefix)) out.emplace_back(name.substr(prefix.size()), t);
    std::string own = name.substr(0, name.find('.'));
    if (std::find(groups.begin(), groups.end(), own) == groups.end()) groups.push_back(own);
  }
  DY_CHECK(!out.empty(), "checkpoint: no group {}; there are: {}", quote_name(group),
           groups.empty() ? "none" : join(groups, ", "));
  return out;
}

void Checkpoint::save(const std::string& path) const {
  DY_CHECK_AS(ValueError, is_object(json), "checkpoint: json is not an object: it begins {}",
              quote_name(std::string_view(json).substr(0, 40)));
  Metadata metadata = {{kCheckpointKey, "1"}, {kJsonKey, json}};
  write_safetensors_file("checkpoint", path, tensors_, metadata, Seal::sha256);
}

Checkpoint Checkpoint::load(const std::string& path) {
  SafeTensors file;
  try {
    file = read_safetensors_file(path, Seal::sha256);
    if (!file.metadata.count(kCheckpointKey) || !is_object(file.metadata[kJsonKey]))
      bad(path, "it is sealed but holds no document");
  } catch (const BadFile& e) {
    fail<ValueError>("checkpoint {}: damaged: {}; delete it or pass an older one", path, e.reason);
  } catch (const ValueError& e) {  // a newer version; begins with the path
    fail<ValueError>("checkpoint {}", e.what());
  } catch (const OutOfMemoryError&) { throw; } catch (const Error& e) {  // the system's reason; begins with the path
    fail("checkpoint {}", e.what());
  }
  Checkpoint c;
  c.tensors_ = std::move(file.tensors);
  c.json = file.metadata[kJsonKey];
  return c;
}

CheckpointFolder::CheckpointFolder(std::string folder, std::string name, int keep)
    : folder_(std::move(folder)), name_(std::move(name)), keep_(keep) {
  DY_CHECK_AS(ValueError, keep_ >= 1, "checkpoint: at least one file is kept: keep is {}", keep_);
  DY_CHECK_AS(ValueError, !name_.empty() && name_.find('/') == name_.npos,
              "checkpoint: a plain file name is needed: name is {}", quote_name(name_));
}

std::string CheckpointFolder::save(const Checkpoint& checkpoint, int64_t step) const {
  DY_CHECK_AS(ValueError, step >= 0, "checkpoint: the step is negative: step is {}", step);
  std::error_code error;
  fs::create_directories(folder_, error);
  DY_CHECK(!error, "checkpoint: cannot make the folder {}: {}", folder_, error.message());
  std::string path = (fs::path(folder_) / fmt::format("{}-{:08d}{}", name_, step, kExtension)).native();
  checkpoint.save(path);
  std::vector<File> files = list();
  for (size_t i = size_t(keep_); i < files.size(); ++i) {
    if (files[i].path == path) continue;
    fs::remove(files[i].path, error);
    if (error) warn(fmt::format("checkpoint: cannot remove {}: {}", files[i].path, error.message()));
  }
  return path;
}

std::vector<CheckpointFolder::File> CheckpointFolder::list() const {
  std::vector<File> files;
  std::error_code error;
  const std::string prefix = name_ + "-";
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::string file = it->path().filename().native();
    std::string_view rest = file;
    if (!rest.starts_with(prefix) || !rest.ends_with(kExtension) || rest.size() <= prefix.size() + kExtension.size()) continue;
    rest = rest.substr(prefix.size(), rest.size() - prefix.size() - kExtension.size());
    int64_t step = -1;
    auto [stop, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), step);
    if (problem == std::errc() && stop == rest.data() + rest.size() && step >= 0) files.push_back({it->path().native(), step});
  }
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

}  // namespace dyadic::inline v1::io
