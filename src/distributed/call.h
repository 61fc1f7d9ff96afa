// One call of a group: every rank tells the others what it calls, before anything is moved, and waits for them no longer than
// the timeout. And what moves beside such calls, while this rank computes.
#pragma once
#include <algorithm>
#include <functional>

#include "distributed/engine.h"
#include "dyadic/distributed.h"

namespace dyadic::inline v1::distributed {

class Call {
  friend class Moving;
  Group& group_;
  std::string what_;
  bool told_, paper_ = false;
  std::string absent() const;  // the ranks that do not wait

 public:
  // Error on every rank where another one calls something else. With `told` false nothing is said: of two ranks' own.
  Call(Group& group, std::string what, bool told = true);
  // Of tensors of a device. On meta it is on paper: nothing is said or moved, but counted as if it were.
  Call(Group& group, std::string what, Device device);
  bool on_paper() const { return paper_; }
  Engine& engine() const { return *group_.engine_; }
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  // Until `requests` are done: one for each rank, or a single one of all together.
  void wait(std::vector<void*> requests) const;
  void wait(void* request) const { wait(std::vector{request}); }
  void wait_until(const std::function<bool()>& over) const;
  void sent(int64_t bytes) const { group_.bytes_sent_ += bytes; }
};

int64_t messages_sent();  // by this thread, to other ranks, descriptions of calls among them
void count_messages(int64_t n);

// Bytes that one request may move.
inline constexpr int64_t kMostBytes = int64_t{1} << 30;

// Whole elements, as evenly as they go: the first of rank r's. r == size: where the last ends.
inline int64_t even_begin(int64_t n, int rank, int size) { return n / size * rank + std::min<int64_t>(rank, n % size); }

struct Range {
  int64_t begin = 0, end = 0;  // elements
};
std::vector<Range> even_ranges(int64_t n, int ranks);
Range piece(const Range& r, int64_t at, int64_t each);  // what [begin + at, begin + at + each) has of it

// Moves ranges of flat buffers: rank r is sent `sent[r]` of `from`, and what it sends lands in `received[r]` of `to`, in pieces
// of at most `most_bytes`. `longest`: of all ranges of all ranks.
void exchange(const Call& call, const char* from, const std::vector<Range>& sent, char* to, const std::vector<Range>& received,
              int64_t longest, int64_t itemsize, int64_t most_bytes = kMostBytes);
// Every rank's own range of `data` becomes everyone's. Both: on paper the buffers may be null.
void gather(const Call& call, char* data, const std::vector<Range>& ranges, int64_t longest, int64_t itemsize);

// An exchange that goes on while this rank computes: whoever waits for anything in the group moves it on, and so does
// move_on(). Such exchanges come in the same order on every rank, whatever other calls come between them; where one does not
// fit the others', it says so later than a Call does. The tensors are kept until it has ended, and what one request cannot move
// is moved at once.
class Moving {
  Group* group_ = nullptr;
  std::shared_ptr<Move> move_;

 public:
  Moving() = default;
  // Flat tensors of one dtype; `from` may be undefined where nothing is sent.
  Moving(Group& group, std::string what, const Tensor& from, const std::vector<Range>& sent, const Tensor& to,
         const std::vector<Range>& received, int64_t longest);
  void wait();  // until it has ended here
};
void move_on(Group& group);

inline char* bytes_of(const Tensor& t) { return !t.defined() || t.is_meta() ? nullptr : static_cast<char*>(t.data_ptr()); }

}  // namespace dyadic::inline v1::distributed
