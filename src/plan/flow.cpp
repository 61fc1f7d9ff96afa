#include "plan/flow.h"

#include <algorithm>

namespace dyadic::inline v1::planning {

void Network::add(int a, int b, int64_t room) {
  from_[size_t(a)].push_back(int(pipes_.size()));
  pipes_.push_back({b, room});
  from_[size_t(b)].push_back(int(pipes_.size()));
  pipes_.push_back({a, 0});
}

bool Network::reach(int source, int sink) {
  level_.assign(from_.size(), -1);
  level_[size_t(source)] = 0;
  std::vector<int> queue{source};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int p : from_[size_t(queue[i])]) {
      const Pipe& pipe = pipes_[size_t(p)];
      if (pipe.room <= 0 || level_[size_t(pipe.to)] >= 0) continue;
      level_[size_t(pipe.to)] = level_[size_t(queue[i])] + 1;
      queue.push_back(pipe.to);
    }
  return level_[size_t(sink)] >= 0;
}

// One path along rising levels, without recursion: graphs are as deep as programs are long.
int64_t Network::push(int source, int sink) {
  std::vector<int> path;
  for (int at = source;;) {
    if (at == sink) {
      int64_t least = kWide;
      for (int p : path) least = std::min(least, pipes_[size_t(p)].room);
      for (int p : path) pipes_[size_t(p)].room -= least, pipes_[size_t(p ^ 1)].room += least;
      return least;
    }
    size_t& i = next_[size_t(at)];
    const std::vector<int>& pipes = from_[size_t(at)];
    while (i < pipes.size() &&
           !(pipes_[size_t(pipes[i])].room > 0 && level_[size_t(pipes_[size_t(pipes[i])].to)] == level_[size_t(at)] + 1))
      ++i;
    if (i < pipes.size()) {
      path.push_back(pipes[i]);
      at = pipes_[size_t(pipes[i])].to;
    } else if (path.empty()) {
      return 0;
    } else {
      at = pipes_[size_t(path.back() ^ 1)].to;
      path.pop_back();
      ++next_[size_t(at)];
    }
  }
}

std::vector<bool> Network::beyond_cut(int source, int sink) {
  while (reach(source, sink)) {
    next_.assign(from_.size(), 0);
    while (push(source, sink)) {}
  }
  std::vector<bool> beyond(from_.size());
  beyond[size_t(sink)] = true;
  std::vector<int> queue{sink};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int p : from_[size_t(queue[i])]) {
      const int to = pipes_[size_t(p)].to;
      if (beyond[size_t(to)] || pipes_[size_t(p ^ 1)].room <= 0) continue;
      beyond[size_t(to)] = true;
      queue.push_back(to);
    }
  return beyond;
}

}  // namespace dyadic::inline v1::planning
