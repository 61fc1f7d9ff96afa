// What a call moves, while everybody waits for it.
#include "distributed/piece.h"

namespace dyadic::inline v1::distributed {

void exchange(const Call& call, const char* from, const std::vector<Range>& sent, char* to, const std::vector<Range>& received,
              int64_t longest, int64_t itemsize, int64_t most_bytes) {
  if (!count_exchange(call, sent, itemsize)) return;
  if (call.size() == 1) return move_own(from, sent[0], to, received[0], itemsize);
  const int64_t each = most_of_each(call.size(), itemsize, most_bytes);
  for (int64_t at = 0; at < std::max<int64_t>(longest, 1); at += each) {
    Piece piece(call.engine(), from, sent, to, received, at, each, longest, itemsize, most_bytes);
    call.wait(piece.request);
    piece.landed();
  }
}

// What a rank sends is copied: engines may not read where they write.
void gather(const Call& call, char* data, const std::vector<Range>& ranges, int64_t longest, int64_t itemsize) {
  const int n = call.size();
  if (n == 1) return;
  const Range own = ranges[size_t(call.rank())];
  call.sent((own.end - own.begin) * itemsize * (n - 1));
  count_messages(n - 1);
  if (call.on_paper()) return;
  const int64_t each = std::max<int64_t>(kMostBytes / n / itemsize, 1);
  const auto copy_of = [&](const Range& r) {
    return std::string(data + r.begin * itemsize, size_t((r.end - r.begin) * itemsize));
  };
  if (longest <= each && extent(ranges) * itemsize <= kMostBytes) {
    const std::string sent = copy_of(own);
    return call.wait(call.engine().all_gather(sent.data(), int64_t(sent.size()), data, parts_of(ranges, itemsize).data()));
  }
  for (int64_t at = 0; at < longest; at += each) {
    const std::string sent = copy_of(piece(own, at, each));
    const Staged coming(ranges, at, each, itemsize);
    call.wait(call.engine().all_gather(sent.data(), int64_t(sent.size()), coming.data(), coming.parts()));
    coming.give(data);
  }
}

}  // namespace dyadic::inline v1::distributed
