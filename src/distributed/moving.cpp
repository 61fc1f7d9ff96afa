// What moves beside other calls, while ranks compute.
#include "distributed/agreement.h"
#include "distributed/piece.h"

namespace dyadic::inline v1::distributed {

// One that goes on beside other calls: told to the others, then begun, in the order in which the group has them; then over.
class Move {
  Agreement agreement_;
  Tensor from_, to_;
  std::vector<Range> sent_, received_;
  int64_t longest_;
  std::optional<Piece> piece_;
  bool over_ = false;

 public:
  const std::string what;
  Move(Engine& engine, std::string what, const Tensor& from, const std::vector<Range>& sent, const Tensor& to,
       const std::vector<Range>& received, int64_t longest)
      : agreement_(engine, what),
        from_(from),
        to_(to),
        sent_(sent),
        received_(received),
        longest_(longest),
        what(std::move(what)) {}
  bool over() const { return over_; }
  // Whether the next one may begin.
  bool go_on(Engine& engine) {
    if (!piece_) {
      if (!all_done(engine, agreement_.requests())) return false;
      agreement_.check();
      const int64_t itemsize = to_.dtype().itemsize();
      piece_.emplace(engine, bytes_of(from_), sent_, bytes_of(to_), received_, 0,
                     most_of_each(engine.size(), itemsize, kMostBytes), longest_, itemsize, kMostBytes);
    }
    if (!over_ && engine.done(piece_->request)) {
      over_ = true;
      piece_->landed();
    }
    return true;
  }
  static void all(Group& group) {
    if (group.moving_.empty()) return;
    Engine& beside = group.engine_->beside();
    for (const auto& move : group.moving_)
      if (!move->go_on(beside)) break;
    std::erase_if(group.moving_, [](const auto& move) { return move->over(); });
  }
};

void move_on(Group& group) { Move::all(group); }

Moving::Moving(Group& group, std::string what, const Tensor& from, const std::vector<Range>& sent, const Tensor& to,
               const std::vector<Range>& received, int64_t longest) {
  const int64_t itemsize = to.dtype().itemsize();
  if (to.is_meta() || group.size() == 1 || longest > most_of_each(group.size(), itemsize, kMostBytes)) {
    exchange(Call(group, std::move(what), to.device()), bytes_of(from), sent, bytes_of(to), received, longest, itemsize);
    return;
  }
  count_exchange(Call(group, what, false), sent, itemsize);
  group_ = &group;
  move_ = std::make_shared<Move>(group.engine_->beside(), std::move(what), from, sent, to, received, longest);
  group.moving_.push_back(move_);
  move_on(group);
}

void Moving::wait() {
  if (!move_) return;
  Call call(*group_, move_->what, false);
  call.told_ = true;
  call.wait_until([&] { return move_on(*group_), move_->over(); });
  move_.reset();
}

}  // namespace dyadic::inline v1::distributed
