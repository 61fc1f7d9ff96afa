// An exchange between ranks in pieces of what one request can move.
#pragma once
#include <cstring>
#include <memory>
#include <optional>

#include "distributed/call.h"

namespace dyadic::inline v1::distributed {

inline int64_t extent(const std::vector<Range>& ranges) {
  int64_t end = 0;
  for (const Range& r : ranges) end = std::max(end, r.end);
  return end;
}
inline std::vector<Part> parts_of(const std::vector<Range>& ranges, int64_t itemsize) {
  std::vector<Part> out;
  for (const Range& r : ranges) out.push_back({r.begin * itemsize, (r.end - r.begin) * itemsize});
  return out;
}

// Where buffers are too large for an engine's places, pieces lie side by side while they travel.
class Staged {
  std::vector<Range> pieces_;
  std::vector<Part> parts_;
  std::unique_ptr<char[]> bytes_;
  int64_t itemsize_;

 public:
  Staged(const std::vector<Range>& ranges, int64_t at, int64_t each, int64_t itemsize) : itemsize_(itemsize) {
    int64_t end = 0;
    for (const Range& r : ranges) {
      pieces_.push_back(piece(r, at, each));
      const int64_t bytes = (pieces_.back().end - pieces_.back().begin) * itemsize;
      parts_.push_back({end, bytes});
      end += bytes;
    }
    bytes_ = std::make_unique_for_overwrite<char[]>(size_t(end));
  }
  const Part* parts() const { return parts_.data(); }
  char* data() const { return bytes_.get(); }
  void take(const char* from) const {
    for (size_t r = 0; r < parts_.size(); ++r)
      std::memcpy(data() + parts_[r].at, from + pieces_[r].begin * itemsize_, size_t(parts_[r].bytes));
  }
  void give(char* to) const {
    for (size_t r = 0; r < parts_.size(); ++r)
      std::memcpy(to + pieces_[r].begin * itemsize_, data() + parts_[r].at, size_t(parts_[r].bytes));
  }
};

// A piece of an exchange: at once where the engine's places suffice.
class Piece {
  std::optional<Staged> leaving_, coming_;
  char* to_;

 public:
  void* request;
  Piece(Engine& engine, const char* from, const std::vector<Range>& sent, char* to, const std::vector<Range>& received,
        int64_t at, int64_t each, int64_t longest, int64_t itemsize, int64_t most_bytes)
      : to_(to) {
    if (longest <= each && std::max(extent(sent), extent(received)) * itemsize <= most_bytes) {
      request = engine.all_to_all(from, parts_of(sent, itemsize).data(), to, parts_of(received, itemsize).data());
      return;
    }
    leaving_.emplace(sent, at, each, itemsize), coming_.emplace(received, at, each, itemsize);
    leaving_->take(from);
    request = engine.all_to_all(leaving_->data(), leaving_->parts(), coming_->data(), coming_->parts());
  }
  void landed() {
    if (coming_) coming_->give(to_);
  }
};

// The longest range that one request moves of each rank.
inline int64_t most_of_each(int ranks, int64_t itemsize, int64_t most_bytes) {
  return std::max<int64_t>(most_bytes / ranks / itemsize, 1);
}

// What an exchange counts; whether there is anything to move.
inline bool count_exchange(const Call& call, const std::vector<Range>& sent, int64_t itemsize) {
  for (int r = 0; r < call.size(); ++r)
    if (const int64_t bytes = (sent[size_t(r)].end - sent[size_t(r)].begin) * itemsize; bytes && r != call.rank())
      call.sent(bytes), count_messages(1);
  return !call.on_paper();
}
inline void move_own(const char* from, const Range& sent, char* to, const Range& received, int64_t itemsize) {
  if (sent.end > sent.begin)
    std::memcpy(to + received.begin * itemsize, from + sent.begin * itemsize, size_t((sent.end - sent.begin) * itemsize));
}

}  // namespace dyadic::inline v1::distributed
