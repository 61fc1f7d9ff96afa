// The file of a checkpoint: sealed safetensors whose metadata holds the JSON document; in several files, with an index.
#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "io/atomic_file.h"
#include "io/checkpoint_files.h"
#include "io/safetensors.h"

namespace dyadic::inline v1::io {
namespace {

using nlohmann::json;
constexpr char kCheckpointKey[] = "dyadic.checkpoint", kJsonKey[] = "dyadic.json", kShardsKey[] = "dyadic.shards";
constexpr int kMaxDepth = 63;  // of the document

bool is_object(const std::string& text) { return bounded_json(text, kMaxDepth).is_object(); }

void check_group(std::string_view group) {
  DY_CHECK_AS(ValueError, !group.empty() && group.find('.') == group.npos,
              "checkpoint: a group's name has no dot and is not empty: it is {}", quote_name(group));
}
std::string prefix_of(std::string_view group) { return std::string(group) + "."; }

std::vector<NamedTensors> cut(const NamedTensors& tensors, int64_t shard_bytes) {
  std::vector<NamedTensors> shards(1);
  int64_t bytes = 0;
  for (auto& entry : tensors) {
    const int64_t more = entry.second.defined() ? entry.second.nbytes() : 0;
    if (bytes > 0 && bytes + more > shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(entry);
    bytes += more;
  }
  return shards;
}

// {"metadata": {..., "dyadic.sha256": seal}, "weight_map": {name: file}}; the seal is of the text with zeros in its place.
std::string sealed(json index) {
  index["metadata"][kSealKey] = std::string(kSealDigits, '0');
  std::string text = dump_json(index, 1);
  const std::string digits = sha256_hex(text);
  const std::string key = fmt::format("\"{}\": \"", kSealKey);
  return text.replace(text.rfind(key) + key.size(), kSealDigits, digits);
}

json parse_index(const std::string& path, bool check_seal) {
  std::string text = read_text(path);
  if (!is_object(text)) bad(path, "it is not JSON");
  json index = parse_json(text);
  json& metadata = index["metadata"];
  const bool whole = metadata.is_object() && metadata.contains(kSealKey) && metadata[kSealKey].is_string() &&
                     metadata.contains(kJsonKey) && metadata[kJsonKey].is_string() && metadata.contains(kShardsKey) &&
                     metadata[kShardsKey].is_object() && index["weight_map"].is_object();
  if (!whole) bad(path, "it holds no document and no list of its parts");
  if (!check_seal) return index;
  const std::string digits = metadata[kSealKey].get<std::string>();
  const size_t at = text.rfind(fmt::format("\"{}\": \"{}\"", kSealKey, digits));
  if (at == text.npos || digits.size() != kSealDigits) bad(path, "its checksum is missing");
  text.replace(at + std::string_view(kSealKey).size() + 5, kSealDigits, kSealDigits, '0');
  if (sha256_hex(text) != digits) bad(path, "its content does not match its checksum");
  return index;
}

bool is_index(const std::string& path) { return path.ends_with(kIndexExtension); }

NamedTensors load_shards(const std::string& path, const json& index) {
  NamedTensors all;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (auto& [file, seal] : index["metadata"][kShardsKey].items()) {  // sorted by name: in the order they were cut
    if (file.find('/') != file.npos || !seal.is_string()) bad(path, "{} is no part of it", quote_name(file));
    SafeTensors shard = map_sealed((folder / file).native());
    if (shard.metadata[kSealKey] != seal.get<std::string>()) bad(path, "{} is a part of another one", quote_name(file));
    for (auto& entry : shard.tensors) all.push_back(std::move(entry));
  }
  if (all.size() != index["weight_map"].size())
    bad(path, "its parts hold {} tensors, its index lists {}", all.size(), index["weight_map"].size());
  return all;
}

// The errors of reading, as a checkpoint's.
template <class F> auto reading(const std::string& path, F&& read) {
  try {
    return read();
  } catch (const BadFile& e) {
    const std::string of = std::string_view(e.what()).starts_with(path + ":") ? e.reason : e.what();
    fail<ValueError>("checkpoint {}: damaged: {}; delete it or pass an older one", path, of);
  } catch (const ValueError& e) {  // a newer version; begins with the path
    fail<ValueError>("checkpoint {}", e.what());
  } catch (const OutOfMemoryError&) { throw; } catch (const Error& e) {  // the system's reason; begins with the path
    fail("checkpoint {}", e.what());
  }
}

std::string document_of(Metadata metadata, const std::string& path) {
  if (!metadata.count(kCheckpointKey) || !is_object(metadata[kJsonKey])) bad(path, "it is sealed but holds no document");
  return metadata[kJsonKey];
}

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

std::string Checkpoint::save(const std::string& path, int64_t shard_bytes) const {
  DY_CHECK_AS(ValueError, is_object(json), "checkpoint: json is not an object: it begins {}",
              quote_name(std::string_view(json).substr(0, 40)));
  std::vector<NamedTensors> shards;
  if (shard_bytes > 0) shards = cut(tensors_, shard_bytes);
  if (shards.size() <= 1) {
    write_safetensors_file("checkpoint", path, tensors_, {{kCheckpointKey, "1"}, {kJsonKey, json}}, Seal::sha256);
    return path;
  }
  std::vector<WrittenPart> parts;
  const std::vector<std::string> files = shard_paths(path, shards.size());
  for (size_t i = 0; i < shards.size(); ++i) {
    WrittenPart& part = parts.emplace_back();
    part.file = std::filesystem::path(files[i]).filename().native();
    part.seal = write_safetensors_file("checkpoint", files[i], shards[i], {{kCheckpointKey, "1"}}, Seal::sha256);
    for (auto& [tensor, t] : shards[i]) part.names.push_back(tensor), part.bytes += t.nbytes();
  }
  return write_index(path, json, parts);
}

std::string write_index(const std::string& path, const std::string& document, const std::vector<WrittenPart>& parts) {
  nlohmann::json index = {
      {"metadata", {{"total_size", 0}, {kCheckpointKey, "1"}, {kJsonKey, document}, {kShardsKey, nlohmann::json::object()}}},
      {"weight_map", nlohmann::json::object()}};
  int64_t total = 0;
  for (const WrittenPart& part : parts) {
    index["metadata"][kShardsKey][part.file] = part.seal;
    for (const std::string& name : part.names) index["weight_map"][name] = part.file;
    total += part.bytes;
  }
  index["metadata"]["total_size"] = total;
  write_whole("checkpoint", path + kIndexExtension, sealed(std::move(index)));
  return path + kIndexExtension;
}

WrittenPart written_part(const std::string& path) {
  return reading(path, [&] {
    WrittenPart part{std::filesystem::path(path).filename().native(), read_metadata(path)[kSealKey], {}, 0};
    const auto file = open(path);
    for (const TensorInfo& t : file->tensors()) part.names.push_back(t.name), part.bytes += int64_t(stored_bytes(t));
    return part;
  });
}

Checkpoint Checkpoint::load(const std::string& path) {
  return reading(path, [&] {
    Checkpoint c;
    if (is_index(path)) {
      const nlohmann::json index = parse_index(path, true);
      c.tensors_ = load_shards(path, index);
      c.json = index["metadata"][kJsonKey].get<std::string>();
    } else {
      SafeTensors file = map_sealed(path);
      c.json = document_of(std::move(file.metadata), path);
      c.tensors_ = std::move(file.tensors);
    }
    return c;
  });
}

std::string Checkpoint::document(const std::string& path) {
  return reading(path, [&] {
    if (is_index(path)) return parse_index(path, false)["metadata"][kJsonKey].get<std::string>();
    return document_of(read_metadata(path), path);
  });
}

bool is_checkpoint(const std::string& path) {
  try {
    return !Checkpoint::document(path).empty();
  } catch (const Error&) { return false; }
}

// By their runs' steps, as train::Checkpoint writes them.
static int64_t step_of(const std::string& path) {
  const auto document = parse_json(Checkpoint::document(path));
  return document.value("step", int64_t(0));
}
std::string checkpoint_at(const std::string& path) {
  const std::string index = path + kIndexExtension;
  const bool one = std::filesystem::exists(path), parts = std::filesystem::exists(index);
  if (one && parts) return step_of(index) >= step_of(path) ? index : path;
  return one ? path : parts ? index : "";
}

// Parts that another tool has written, or that were fetched without their index, are no leftovers.
static bool is_ours(const std::string& path) {
  try {
    return read_metadata(path).contains(kFormatKey);
  } catch (const Error&) { return false; }
}

std::set<std::string> named_by(const std::string& index_path) {
  std::set<std::string> named;
  const json index = bounded_json(read_text(index_path));
  for (auto& [tensor, file] : index.at("weight_map").items()) named.insert(file.get<std::string>());
  if (const json all = index.value("metadata", json::object()); all.contains(kShardsKey))
    for (auto& [file, seal] : all[kShardsKey].items()) named.insert(file);
  return named;
}

void remove_others(const std::string& path, const std::string& kept, const std::set<std::string>& replaced) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  const std::string stem = fs::path(stem_of(path)).filename().native();
  std::error_code error;
  for (const std::string& whole : {path, path + kIndexExtension})
    if (whole != kept) fs::remove(whole, error);
  std::vector<std::string> parts;
  std::set<std::string> named;  // by the index of this one, or of another whose name begins so
  for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().native();
    if (!name.starts_with(stem)) continue;
    if (name.starts_with(stem + "-") && name.ends_with(".tmp"))
      remove_leftover(it->path().native().substr(0, it->path().native().size() - 4));
    if (is_part(std::string_view(name).substr(stem.size()))) parts.push_back(name);
    if (!name.ends_with(kIndexExtension)) continue;
    try {
      named.merge(named_by(it->path().native()));
    } catch (const std::exception&) { return; }  // what it names is not known
  }
  for (const std::string& file : parts)
    if (!named.contains(file) && (replaced.contains(file) || is_ours((folder / file).native())))
      fs::remove(folder / file, error);
}

std::set<std::string> shards_of(const std::string& path) {
  std::set<std::string> files;
  if (!is_index(path)) return files;
  const json index = parse_index(path, false);
  for (auto& [file, seal] : index["metadata"][kShardsKey].items()) files.insert(file);
  return files;
}

}  // namespace dyadic::inline v1::io
