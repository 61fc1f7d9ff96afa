// Samples in rows, rows in batches.
#pragma once
#include "dyadic/data.h"
#include "dyadic/finetune.h"
#include "models/loss.h"

namespace dyadic::inline v1::tune {

constexpr int64_t kNotLearned = models::kNoLabel;  // a label that the loss passes over

struct Row {
  std::vector<int64_t> ids, labels, starts;  // labels: the token that follows, or kNotLearned; starts: where its sample begins
};
// At most `context` tokens each. several: samples are packed, the longest first into the fullest row that has room; else one
// each, in their order.
std::vector<Row> rows_of(const std::vector<Sample>& samples, int64_t context, bool several);

// Named values: ids, labels and, of several samples in a row, starts: i64 [B, T], padded on the right by samples of their own
// that nothing is learned of; "count", how many labels are learned.
data::Value batch_of(const std::vector<const Row*>& rows, bool several);
// The same without memory: full rows.
data::Value blank_batch(int64_t rows, int64_t context, bool several);

class RowDataset : public data::Dataset {  // samples are rows' numbers: collate() makes batches of them
  std::vector<Row> rows_;
  bool several_;

 public:
  RowDataset(std::vector<Row> rows, bool several) : rows_(std::move(rows)), several_(several) {}
  int64_t size() override { return int64_t(rows_.size()); }
  data::Value get(int64_t index) override { return Scalar(index); }
  int64_t count() const { return int64_t(rows_.size()); }
  const Row& row(int64_t i) const { return rows_[size_t(i)]; }
  // batch_of, and "rows": their numbers, i64 [B]. Where there are fewer than `least`, rows follow that nothing is learned of,
  // numbered -1.
  data::Value collate(const std::vector<data::Value>& samples, int64_t least = 0) const;
};

}  // namespace dyadic::inline v1::tune
