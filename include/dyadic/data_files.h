// Files of data as tensors and datasets: CSV, IDX (the MNIST family), npy, text, tokens.
#pragma once
#include "dyadic/data.h"

namespace dyadic::inline v1::data {

struct CsvOptions {
  char delimiter = ',';
  int64_t skip_rows = 0;  // lines of a header
  DType dtype = f32;
};
// One row of numbers per line: [rows, columns]. Empty lines are passed over; an empty field is NaN. ValueError naming the line.
// Compressed by gzip or not, as all readers here. (Mapped files: memmap.h.)
Tensor read_csv(const std::string& path, CsvOptions options = {});
// u8, i8, i16, i32, f32 or f64 of any shape, as the file says.
Tensor read_idx(const std::string& path);
Tensor load_npy(const std::string& path);
void save_npy(const std::string& path, const Tensor& t);
std::string read_text(const std::string& path);

// The lines of a text file, without their ends.
class TextLines : public IterableDataset {
  std::string path_;

 public:
  explicit TextLines(std::string path) : path_(std::move(path)) {}
  std::unique_ptr<ValueStream> iter() override;
};

// Windows of a mapped file of token ids: sample i is (t[i s : i s + block], the same one further on), int64.
class TokenDataset : public Dataset {
  Tensor tokens_;
  int64_t block_, stride_;

 public:
  TokenDataset(const std::string& path, int64_t block_size, DType dtype = u16, std::optional<int64_t> stride = {});
  TokenDataset(Tensor tokens, int64_t block_size, std::optional<int64_t> stride = {});
  int64_t size() override;
  Value get(int64_t index) override;
};

}  // namespace dyadic::inline v1::data
