// The one order in which things are added, whoever adds them: a complete binary tree over [0, n), whose left halves are full.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

namespace dyadic::inline v1::distributed {

struct Node {  // what the leaves of [begin, end) make
  int64_t begin = 0, end = 0;
  bool operator==(const Node&) const = default;
};

// Where the tree over [begin, end) parts, of at least two leaves.
inline int64_t split(const Node& n) { return n.begin + int64_t(std::bit_floor(uint64_t(n.end - n.begin - 1))); }

// leaf(i), and of two halves both(a, b).
template <class T, class Leaf, class Both> T in_tree(int64_t begin, int64_t end, const Leaf& leaf, const Both& both) {
  if (end - begin == 1) return leaf(begin);
  const int64_t middle = split({begin, end});
  const T left = in_tree<T>(begin, middle, leaf, both);
  return both(left, in_tree<T>(middle, end, leaf, both));
}

// The largest nodes of the tree over [0, n) that make up [begin, end), in order.
inline void nodes_of(const Node& tree, int64_t begin, int64_t end, std::vector<Node>& out) {
  if (begin >= tree.end || end <= tree.begin) return;
  if (begin <= tree.begin && tree.end <= end) return out.push_back(tree);
  const int64_t middle = split(tree);
  nodes_of({tree.begin, middle}, begin, end, out);
  nodes_of({middle, tree.end}, begin, end, out);
}

}  // namespace dyadic::inline v1::distributed
