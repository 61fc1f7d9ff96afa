// A file of torch.save, opened: its values with tensors that are not read yet, and where each one's memory lies in the file.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/mapped_file.h"
#include "io/pickle.h"
#include "io/zip.h"

namespace dyadic::inline v1::io {

struct TorchQuantizer {
  DType to;  // with scales; f32: decoded
  double scale = 1;
  int64_t zero = 0, axis = 0;
  int32_t scales = -1, zeros = -1;  // of channels: those tensors
};

struct TorchView {  // a tensor
  int32_t storage = -1;
  DType dtype;
  bool whole = false;                        // a storage itself, of one dimension
  bool conj = false, neg = false;            // the memory has the values' conjugates, or the negated
  bool pairs = false;                        // of f16, the last dimension, that are one number of c64
  std::string stored;                        // "torch.FloatStorage"
  int64_t offset = 0, numel = 0, reach = 0;  // elements: before the first; of the tensor; from the first to behind the last
  std::vector<int64_t> sizes, strides;
  std::shared_ptr<const TorchQuantizer> quantizer;  // dtype is that of its codes

  DType result() const { return quantizer ? quantizer->to : pairs ? c64 : dtype; }
  std::vector<int64_t> shape() const { return {sizes.begin(), sizes.end() - (pairs ? 1 : 0)}; }
};

class TorchReader {
  struct Stored {  // memory that tensors share
    std::string key;
    uint64_t bytes = 0, begin = 0;
    int64_t itemsize = 1;
    const ZipEntry* entry = nullptr;  // of a zip
  };
  std::shared_ptr<const MappedFile> file_;
  std::optional<ZipFile> zip_;
  std::string prefix_;  // of the zip's names: "archive/"
  bool big_endian_ = false;
  std::vector<Stored> stored_;
  std::unordered_map<std::string, int32_t> by_key_;
  std::vector<TorchView> views_;
  std::vector<std::shared_ptr<Node>> tensors_;  // those that are not read yet
  std::vector<std::string> globals_;
  Value root_;

 public:
  // Reads the pickle, and checks of every tensor that it lies in memory that the file has.
  explicit TorchReader(std::shared_ptr<const MappedFile> file);
  TorchReader(const TorchReader&) = delete;
  static bool is_zip(const MappedFile& file);
  static bool is_older(const MappedFile& file);

  const Value& root() const { return root_; }
  const std::vector<std::string>& globals() const { return globals_; }
  const TorchView& view(const Node& n) const { return views_[size_t(n.index)]; }
  bool big_endian() const { return big_endian_; }
  bool zipped() const { return zip_.has_value(); }
  std::string version() const;                                    // of the zip's form
  Tensor map(const std::string& name, const TorchView& v) const;  // in the file where that can be
  void read_all();                                                // gives every tensor memory of its own, shared as it was

 private:
  void open_zip();
  void open_older();
  Value run(const std::string& what, uint64_t& at, const Pickle::Host& host);
  Value persistent(const Value& id);
  Value call(const std::string& name, const Value& args);
  Value tensor(TorchView v, bool requires_grad, bool parameter);
  Value strided(const Value::List& args, DType dtype);
  Value foreign(const Value::List& args);
  Value quantized(const Value::List& args);
  Tensor with_scales(const Tensor& codes, const TorchView& v) const;
  Tensor values_of(const Tensor& t, const TorchView& v) const;
  Tensor read(const Stored& s, DType dtype) const;  // all of it, in memory of its own
  [[noreturn]] void wrong(const std::string& why) const;
};

}  // namespace dyadic::inline v1::io
