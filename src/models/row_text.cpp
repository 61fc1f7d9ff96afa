#include "models/row_text.h"

#include <algorithm>

namespace dyadic::inline v1::models {

RowText::RowText(const Tokenizer& t, std::vector<std::string> stops)
    : shown_stream_(t), whole_stream_(t, false), tokenizer_(t), stops_(std::move(stops)) {}

std::string_view RowText::push(int64_t token) {
  if (stopped_) return {};
  text += shown_stream_.push(token);
  if (stops_.empty()) return give(text.size());
  const size_t before = whole_.size();
  whole_ += whole_stream_.push(token);
  if (tokenizer_.is_special(token)) hidden_.emplace_back(before, whole_.size());
  look(before);
  return give(text.size() - (stopped_ ? 0 : uncertain()));
}

std::string_view RowText::finish() {
  if (!stopped_) {
    text += shown_stream_.finish();
    const size_t before = whole_.size();
    if (!stops_.empty()) whole_ += whole_stream_.finish(), look(before);
  }
  return give(text.size());
}

// For a stop string that ends in what came from `from` on.
void RowText::look(size_t from) {
  size_t first = whole_.npos;
  for (const std::string& s : stops_) first = std::min(first, whole_.find(s, from - std::min(from, s.size() - 1)));
  if (first == whole_.npos) return;
  text.resize(text.size() - std::min(text.size(), shown_after(first)));
  stopped_ = true;
}

// Of the longest end of the text that a stop string begins with.
size_t RowText::uncertain() const {
  size_t most = 0;
  for (const std::string& s : stops_)
    for (size_t n = std::min(s.size() - 1, whole_.size()); n > most; --n)
      if (whole_.ends_with(std::string_view(s).substr(0, n))) most = n;
  return std::min(shown_after(whole_.size() - most), text.size());
}

size_t RowText::shown_after(size_t begin) const {
  size_t bytes = whole_.size() - begin;
  for (auto at = hidden_.rbegin(); at != hidden_.rend() && at->second > begin; ++at)
    bytes -= at->second - std::max(at->first, begin);
  return bytes;
}

std::string_view RowText::give(size_t end) {
  const size_t from = std::min(given_, end);
  given_ = std::max(given_, end);
  return std::string_view(text).substr(from, end - from);
}

}  // namespace dyadic::inline v1::models
