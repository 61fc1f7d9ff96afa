// The largest flow through a network, and with it the smallest cut (Dinic 1970).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dyadic::inline v1::planning {

class Network {
  struct Pipe {
    int to;
    int64_t room;
  };
  std::vector<Pipe> pipes_;  // each with its opposite beside it: i ^ 1
  std::vector<std::vector<int>> from_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  bool reach(int source, int sink);
  int64_t push(int source, int sink);

 public:
  static constexpr int64_t kWide = INT64_C(1) << 60;
  explicit Network(int nodes) : from_(std::size_t(nodes)) {}
  void add(int a, int b, int64_t room);
  // Which nodes lie on the sink's side of the smallest cut; of several, of the one with the fewest there.
  std::vector<bool> beyond_cut(int source, int sink);
};

}  // namespace dyadic::inline v1::planning
