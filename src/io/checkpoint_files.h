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

std::string stem_of(const std::string& path);  // without .safetensors
std::vector<std::string> shard_paths(const std::string& path, size_t count);
bool is_part(std::string_view rest);                       // of a name, behind the stem
std::set<std::string> shards_of(const std::string& path);  // file names; none of a checkpoint that is one file

// A part of a checkpoint, as it was written; several processes may each write one.
struct WrittenPart {
  std::string file, seal;          // without its folder
  std::vector<std::string> names;  // of tensors
  int64_t bytes = 0;
};
WrittenPart written_part(const std::string& path);  // one that is there: a checkpoint's file, or a part
// The index of parts, beside them: from here on they are the checkpoint of that path. Returns the index's path.
std::string write_index(const std::string& path, const std::string& document, const std::vector<WrittenPart>& parts);

bool is_checkpoint(const std::string& path);  // a file that is one, or its index

// A checkpoint of one path that is a file at times and parts at others. The one that is there, of two (a process ended between
// writing the one and removing the other) the later; "" where there is none.
std::string checkpoint_at(const std::string& path);
std::set<std::string> named_by(const std::string& index_path);  // file names; an error where it is no index
// What else there is of it: the other kind, what was begun, and parts that no index names: ours, as a killed process may have
// left them, and `replaced`, which the index before named.
void remove_others(const std::string& path, const std::string& kept, const std::set<std::string>& replaced = {});

}  // namespace dyadic::inline v1::io
