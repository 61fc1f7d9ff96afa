#include "tune/teacher.h"

#include <algorithm>

#include "base/check.h"
#include "base/sha256.h"
#include "dyadic/autograd.h"
#include "dyadic/io.h"
#include "tune/answers.h"

namespace dyadic::inline v1::tune {

Tensor learned_places(const data::Value& batch) {
  return nonzero(ne(batch["labels"].tensor().reshape({-1}), kNotLearned)).reshape({-1});
}
Tensor learned_of(const Tensor& by_token, const Tensor& places) { return index_select(by_token.flatten(0, 1), 0, places); }

// Which tokens are learned after which.
static std::string key_of(const RowDataset& rows) {
  Sha256 key;
  for (int64_t i = 0; i < rows.count(); ++i)
    for (const auto* part : {&rows.row(i).ids, &rows.row(i).labels, &rows.row(i).starts})
      key.update(part->data(), part->size() * sizeof(int64_t));
  return key.hex();
}

void LogitCache::write(const std::string& path, models::CausalLM& teacher, const RowDataset& rows, int64_t top_k) {
  const NoGrad guard;
  std::vector<Tensor> logits, classes;
  std::vector<int64_t> begins{0};
  for (int64_t i = 0; i < rows.count(); ++i) {
    const data::Value batch = rows.collate({Scalar(i)});
    const Tensor all = learned_of(logits_of(teacher, batch), learned_places(batch)).to(f32);
    const auto largest = topk(all, std::min(top_k, all.size(1)), 1);
    // Of the largest one each: f16 has 11 bits, and only differences count.
    logits.push_back((largest.values - amax(largest.values, {1}, true)).to(f16)), classes.push_back(largest.indices.to(i32));
    begins.push_back(begins.back() + all.size(0));
  }
  io::save(path,
           {{"logits", cat(logits, 0)},
            {"classes", cat(classes, 0)},
            {"begins", from_data(begins.data(), {int64_t(begins.size())}, i64)}},
           {.metadata = {{"rows", key_of(rows)}}});
}

LogitCache::LogitCache(const std::string& path, const RowDataset& rows) {
  const io::SafeTensors file = io::load_safetensors(path);
  const auto found = file.metadata.find("rows");
  DY_CHECK_AS(ValueError, found != file.metadata.end() && found->second == key_of(rows),
              "distill: {} has logits of other data, another context or packing: take another file, or remove it", path);
  for (auto& [name, t] : file.tensors) (name == "logits" ? logits_ : name == "classes" ? classes_ : begins_) = t;
}

Said LogitCache::said(const data::Value& batch) const {
  const Tensor& rows = batch["rows"];
  std::vector<Tensor> logits, classes;
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const int64_t row = rows.data<int64_t>()[i], begin = begins_.data<int64_t>()[row],
                  count = begins_.data<int64_t>()[row + 1] - begin;
    logits.push_back(narrow(logits_, 0, begin, count)), classes.push_back(narrow(classes_, 0, begin, count));
  }
  return {cat(logits, 0).to(f32), cat(classes, 0).to(i64)};
}

}  // namespace dyadic::inline v1::tune
