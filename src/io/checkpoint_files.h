// Names of the files that make a checkpoint.
//
// Note [Parts of a checkpoint]: saving a step a second time must not touch the parts of the first before the second is
// complete, so the parts of a checkpoint get names that are not in use: <stem>-00001-of-00003, else <stem>-b1-00001-of-00003,
// -b2 ... What no index names is removed after the next save.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1::io {

inline constexpr std::string_view kExtension = ".safetensors";
inline constexpr char kIndexExtension[] = ".index.json";

std::vector<std::string> shard_paths(const std::string& path, size_t count);
std::set<std::string> shards_of(const std::string& path);  // file names; none of a checkpoint that is one file

}  // namespace dyadic::inline v1::io
