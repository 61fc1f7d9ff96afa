// An architecture's keys in a GGUF file, "<architecture>.<key>": read, and written.
#pragma once
#include "dyadic/gguf.h"
#include "models/config.h"

namespace dyadic::inline v1::models {

class KeyReader {
  const io::GgufFile& file_;
  std::string prefix_;

 public:
  KeyReader(const io::GgufFile& file, const char* architecture) : file_(file), prefix_(std::string(architecture) + ".") {}
  const io::GgufFile& file() const { return file_; }
  bool has(const char* key) const { return file_.has_key(prefix_ + key); }
  bool has_list(const char* key) const;
  int64_t whole(const char* key) const { return file_.integer(prefix_ + key); }
  int64_t whole(const char* key, int64_t otherwise) const { return has(key) ? whole(key) : otherwise; }
  double real(const char* key) const;  // the number of the shortest text that is this float
  double real(const char* key, double otherwise) const { return has(key) ? real(key) : otherwise; }
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key) const { return has(key) ? file_.text(prefix_ + key) : ""; }
  // A number for each layer: a list's, or one for all.
  std::vector<int64_t> by_layer(const char* key, int64_t layers) const;
  // Its own layers: those that guess several tokens ahead come after them and are no part of the model.
  int64_t layers() const { return std::max<int64_t>(whole("block_count") - whole("nextn_predict_layers", 0), 0); }
  bool has_tensor(const std::string& name) const { return file_.has(name); }
  const io::TensorInfo& tensor(const std::string& name) const;
  json numbers_of_tensor(const std::string& name) const;  // f32, as real()
  // Which layers have a window, where the file says so: a bool for each, or how many of them follow one that sees all.
  std::optional<std::vector<bool>> windows(int64_t layers, int64_t every) const;
};

class KeyWriter {
  std::string prefix_;

 public:
  io::GgufMetadata keys;
  explicit KeyWriter(const char* architecture) : prefix_(std::string(architecture) + ".") {}
  void whole(const char* key, int64_t v) { put(key, uint32_t(v)); }
  void real(const char* key, double v) { put(key, float(v)); }
  void text(const char* key, std::string v) { put(key, std::move(v)); }
  void put(const char* key, io::GgufValue v);  // in place of one of that name
};

}  // namespace dyadic::inline v1::models
