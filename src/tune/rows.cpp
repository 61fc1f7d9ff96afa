#include "tune/rows.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace dyadic::inline v1::tune {
namespace {

void append(Row& row, const Sample& s) {
  const auto begin = int64_t(row.ids.size());
  row.ids.insert(row.ids.end(), s.ids.begin(), s.ids.end());
  row.starts.insert(row.starts.end(), s.ids.size(), begin);
  for (size_t i = 0; i < s.ids.size(); ++i)
    row.labels.push_back(i + 1 < s.ids.size() && s.learned[i + 1] ? s.ids[i + 1] : kNotLearned);
}

Tensor table(const std::vector<int64_t>& values, int64_t rows) {
  const CategoryScope scope(Category::data);
  return from_data(values.data(), {rows, int64_t(values.size()) / rows}, i64);
}

}  // namespace

std::vector<Row> rows_of(const std::vector<Sample>& samples, int64_t context, bool several) {
  std::vector<Row> rows;
  if (!several) {
    for (const Sample& s : samples) append(rows.emplace_back(), s);
    return rows;
  }
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return samples[i].ids.size(); });
  std::multimap<int64_t, size_t> room;  // rows by the tokens that they have room for
  for (const size_t i : order) {
    const auto length = int64_t(samples[i].ids.size());
    const auto fullest = room.lower_bound(length);
    size_t row = rows.size();
    int64_t left = context - length;
    if (fullest == room.end()) {
      rows.emplace_back();
    } else {
      row = fullest->second, left = fullest->first - length;
      room.erase(fullest);
    }
    append(rows[row], samples[i]);
    room.emplace(left, row);
  }
  return rows;
}

data::Value batch_of(const std::vector<const Row*>& rows, bool several) {
  size_t longest = 0;
  for (const Row* row : rows) longest = std::max(longest, row->ids.size());
  std::vector<int64_t> ids, labels, starts;
  for (const Row* row : rows) {
    const size_t length = row->ids.size(), padding = longest - length;
    ids.insert(ids.end(), row->ids.begin(), row->ids.end()), ids.insert(ids.end(), padding, 0);
    labels.insert(labels.end(), row->labels.begin(), row->labels.end()), labels.insert(labels.end(), padding, kNotLearned);
    starts.insert(starts.end(), row->starts.begin(), row->starts.end()), starts.insert(starts.end(), padding, int64_t(length));
  }
  const auto n = int64_t(rows.size()), count = int64_t(labels.size()) - std::ranges::count(labels, kNotLearned);
  data::Value::Named named{{"ids", table(ids, n)}, {"labels", table(labels, n)}, {"count", Scalar(count)}};
  if (several) named.emplace_back("starts", table(starts, n));
  return named;
}

data::Value blank_batch(int64_t rows, int64_t context, bool several) {
  const CategoryScope scope(Category::data);
  const auto blank = [&] { return empty({rows, context}, i64, meta); };
  data::Value::Named named{{"ids", blank()}, {"labels", blank()}, {"count", Scalar(rows * context)}};
  named.emplace_back("rows", empty({rows}, i64, meta));
  if (several) named.emplace_back("starts", blank());
  return named;
}

data::Value RowDataset::collate(const std::vector<data::Value>& samples, int64_t least) const {
  static const Row kBlank;
  std::vector<const Row*> rows;
  std::vector<int64_t> numbers;
  for (const data::Value& s : samples) {
    numbers.push_back(s.number().to<int64_t>());
    rows.push_back(&row(numbers.back()));
  }
  while (int64_t(rows.size()) < least) rows.push_back(&kBlank), numbers.push_back(-1);
  data::Value::Named named = batch_of(rows, several_).named();
  named.emplace_back("rows", from_data(numbers.data(), {int64_t(numbers.size())}, i64));
  return named;
}

}  // namespace dyadic::inline v1::tune
