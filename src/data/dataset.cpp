#include <algorithm>
#include <cmath>
#include <numeric>
#include <system_error>
#include <typeinfo>

#include "base/check.h"
#include "data/permutation.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {

Dataset::~Dataset() = default;
ValueStream::~ValueStream() = default;

namespace {

// Throws what is being handled again, its index named: an Error as the type it is, the standard library's as an Error. Types of
// others (Python's) stay what they are.
[[noreturn]] void rethrow_with_index(int64_t index) {
  auto text = [&](const std::exception& e) { return fmt::format("{} (sample {} of the dataset)", e.what(), index); };
  try {
    throw;
  } catch (const IndexError& e) { throw IndexError(text(e)); } catch (const TypeError& e) {
    throw TypeError(text(e));
  } catch (const ValueError& e) { throw ValueError(text(e)); } catch (const OutOfMemoryError& e) {
    throw OutOfMemoryError(text(e));
  } catch (const Error& e) { throw Error(text(e)); } catch (const std::exception& e) {
    for (const std::type_info* type :
         {&typeid(std::runtime_error), &typeid(std::logic_error), &typeid(std::out_of_range), &typeid(std::invalid_argument),
          &typeid(std::domain_error), &typeid(std::length_error), &typeid(std::system_error)})
      if (typeid(e) == *type) throw Error(text(e));
    throw;
  }
}

int64_t checked(int64_t index, int64_t size) {
  const int64_t i = index < 0 ? index + size : index;
  DY_CHECK_AS(IndexError, i >= 0 && i < size, "Dataset: there is no sample {}: it has {}", index, size);
  return i;
}

}  // namespace

std::vector<Value> Dataset::get_batch(IntList indices) {
  std::vector<Value> out;
  out.reserve(indices.size());
  for (int64_t i : indices) {
    if (stopping()) break;
    try {
      out.push_back((*this)[i]);
    } catch (const std::exception&) { rethrow_with_index(i); }
  }
  return out;
}
Value Dataset::operator[](int64_t index) { return get(checked(index, size())); }

int64_t IterableDataset::size() { fail<TypeError>("IterableDataset: it has no length"); }
Value IterableDataset::get(int64_t) { fail<TypeError>("IterableDataset: its samples come in order, not by index; use iter()"); }

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  DY_CHECK_AS(ValueError, !tensors_.empty(), "TensorDataset: at least one tensor is needed");
  for (const Tensor& t : tensors_)
    DY_CHECK_AS(ValueError, t.dim() > 0 && t.size(0) == tensors_[0].size(0),
                "TensorDataset: the tensors differ in their first size: the first is {}, here is {}", describe(tensors_[0]),
                describe(t));
}
Value TensorDataset::get(int64_t index) {
  Value::List sample;
  for (const Tensor& t : tensors_) sample.push_back(t[index]);
  return sample;
}

Value Subset::get(int64_t index) { return (*dataset_)[indices_[size_t(checked(index, size()))]]; }
std::vector<Value> Subset::get_batch(IntList indices) {
  std::vector<int64_t> inner;
  for (int64_t i : indices) inner.push_back(indices_[size_t(checked(i, size()))]);
  return dataset_->get_batch(inner);
}

ConcatDataset::ConcatDataset(std::vector<std::shared_ptr<Dataset>> datasets) : datasets_(std::move(datasets)) {
  DY_CHECK_AS(ValueError, !datasets_.empty(), "ConcatDataset: at least one dataset is needed");
  int64_t end = 0;
  for (auto& d : datasets_) {
    DY_CHECK_AS(TypeError, !dynamic_cast<IterableDataset*>(d.get()),
                "ConcatDataset: an IterableDataset has no indices; chain it");
    ends_.push_back(end += d->size());
  }
}
Value ConcatDataset::get(int64_t index) {
  index = checked(index, size());
  const size_t k = size_t(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
  return datasets_[k]->get(index - (k ? ends_[k - 1] : 0));
}

std::unique_ptr<ValueStream> ChainDataset::iter() {
  class Chain : public ValueStream {
    std::vector<std::shared_ptr<IterableDataset>> datasets_;
    size_t next_ = 0;
    std::unique_ptr<ValueStream> stream_;

   public:
    explicit Chain(std::vector<std::shared_ptr<IterableDataset>> datasets) : datasets_(std::move(datasets)) {}
    bool next(Value& sample) override {
      while (!stream_ || !stream_->next(sample)) {
        if (next_ == datasets_.size()) return false;
        stream_ = datasets_[next_++]->iter();
      }
      return true;
    }
  };
  return std::make_unique<Chain>(datasets_);
}
int64_t ChainDataset::size() {
  int64_t n = 0;
  for (auto& d : datasets_) n += d->size();
  return n;
}

std::vector<std::shared_ptr<Subset>> random_split(const std::shared_ptr<Dataset>& dataset, IntList lengths,
                                                  Generators generator) {
  const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  for (int64_t n : lengths) DY_CHECK_AS(ValueError, n >= 0, "random_split: a length is negative: {}", n);
  DY_CHECK_AS(ValueError, total == dataset->size(), "random_split: the lengths sum to {}, the dataset has {} samples", total,
              dataset->size());
  const std::vector<int64_t> order = permutation(total, draw_from(generator));
  std::vector<std::shared_ptr<Subset>> parts;
  auto at = order.begin();
  for (int64_t n : lengths) parts.push_back(std::make_shared<Subset>(dataset, std::vector(at, at + n))), at += n;
  return parts;
}
std::vector<std::shared_ptr<Subset>> random_split(const std::shared_ptr<Dataset>& dataset, std::span<const double> fractions,
                                                  Generators generator) {
  double sum = 0;
  for (double f : fractions) {
    DY_CHECK_AS(ValueError, f >= 0 && f <= 1, "random_split: a fraction is not between 0 and 1: {}", f);
    sum += f;
  }
  DY_CHECK_AS(ValueError, !fractions.empty() && std::abs(sum - 1) < 1e-9, "random_split: the fractions sum to {}, not to 1",
              sum);
  const int64_t n = dataset->size();
  std::vector<int64_t> lengths;
  for (double f : fractions) lengths.push_back(int64_t(std::floor(double(n) * f)));
  const int64_t rest = n - std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  for (int64_t i = 0; i < rest; ++i) lengths[size_t(i) % lengths.size()]++;
  return random_split(dataset, lengths, std::move(generator));
}

}  // namespace dyadic::inline v1::data
