// What the opcodes of a pickle do (Python's pickletools.py describes them). What it builds is no deeper than kMostDepth and
// holds itself nowhere, and no bytes are copied that are not paid for by the pickle's own length.
#include <algorithm>

#include "io/bad_file.h"
#include "io/pickle.h"

namespace dyadic::inline v1::io {

using Kind = Value::Kind;

Pickle::Pickle(std::string where, std::string_view bytes, const Host& host)
    : where_(std::move(where)), bytes_(bytes), host_(host) {}

// Nodes end one by one, not each with what it holds: that may be as deep as the pickle is long, or a circle.
Pickle::~Pickle() {
  for (auto& n : made_)
    if (!finished_ || n->seen != 2) {
      n->items.clear();
      n->entries.clear();
      n->args = n->state = Value();
    }
}

void Pickle::wrong(const std::string& why) const { bad(where_, "byte {}: {}", op_at_, why); }

std::string_view Pickle::take(uint64_t n) {
  if (n > bytes_.size() - at_) wrong(fmt::format("{} bytes are wanted, {} are there", n, bytes_.size() - at_));
  const std::string_view out = bytes_.substr(at_, size_t(n));
  at_ += size_t(n);
  return out;
}
uint64_t Pickle::number(int width) {
  uint64_t n = 0;
  const std::string_view b = take(uint64_t(width));
  for (int i = width; i-- > 0;) n = n << 8 | uint8_t(b[size_t(i)]);
  return n;
}
std::string_view Pickle::line() {
  const size_t end = bytes_.find('\n', at_);
  if (end == bytes_.npos) wrong("a line has no end");
  const std::string_view out = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return out;
}
Value& Pickle::top() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) wrong("a value is wanted, none is there");
  return stack_.back();
}
Value Pickle::pop() {
  Value v = std::move(top());
  stack_.pop_back();
  return v;
}
std::vector<Value> Pickle::pop_mark() {
  if (marks_.empty()) wrong("a mark is wanted, none is there");
  const auto begin = stack_.begin() + ptrdiff_t(marks_.back());
  std::vector<Value> out(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return out;
}
void Pickle::spend(size_t n) {
  copied_ += n;
  if (copied_ > 8 * bytes_.size() + 4096) wrong("it copies its values more often than it has bytes");
}

Value Pickle::container(Kind kind, std::vector<Value> items) {
  auto n = std::make_shared<Node>();
  n->kind = kind;
  n->items = std::move(items);
  made_.push_back(n);
  return Value(std::move(n));
}

void Pickle::put(uint64_t index) { memo_[index] = top(); }
void Pickle::get(uint64_t index) {
  const auto it = memo_.find(index);
  if (it == memo_.end()) wrong(fmt::format("value {} is wanted before it is there", index));
  stack_.push_back(it->second);
}

void Pickle::append(const Value& to, std::vector<Value> items) {
  Node* n = to.node();
  if (!n || (n->kind != Kind::list && n->kind != Kind::set && n->kind != Kind::object))
    wrong("items for what is no list or set");
  std::ranges::move(items, std::back_inserter(n->items));
}
void Pickle::set_items(const Value& to, std::vector<Value> pairs) {
  Node* n = to.node();
  if (!n || (n->kind != Kind::dict && n->kind != Kind::object)) wrong("entries for what is no dict");
  if (pairs.size() % 2) wrong("a key without its value");
  for (size_t i = 0; i < pairs.size(); i += 2) n->entries.emplace_back(std::move(pairs[i]), std::move(pairs[i + 1]));
}

Value Pickle::run() {
  for (;;) {
    op_at_ = at_;
    const auto op = uint8_t(take(1)[0]);
    if (op == '.') break;
    if (!step(op)) wrong(fmt::format("an unknown opcode: 0x{:02x}", op));
  }
  Value root = pop();
  check_shape(root);
  finished_ = true;
  return root;
}

bool Pickle::step(uint8_t op) {
  return step_numbers(op) || step_texts(op) || step_memory(op) || step_containers(op) || step_objects(op);
}

bool Pickle::step_memory(uint8_t op) {
  const auto decimal = [&] {
    push_decimal(line());
    const Value n = pop();
    if (n.kind() != Value::Kind::integer || n.integer() < 0) wrong("what is to be a place in the memo is none");
    return uint64_t(n.integer());
  };
  switch (op) {
    case 0x80:
      if (const uint64_t protocol = number(1); protocol > 5) wrong(fmt::format("protocol {}; 0 to 5 are known", protocol));
      return true;
    case 0x95:
      return (void)number(8), true;  // a frame's length: a hint for those who read from a pipe
    case '(':
      return marks_.push_back(stack_.size()), true;
    case '0':
      if (!marks_.empty() && marks_.back() == stack_.size())
        marks_.pop_back();
      else
        pop();
      return true;
    case '1':
      return pop_mark(), true;
    case '2':
      return stack_.push_back(top()), true;
    case 'p': {
      marks_.push_back(stack_.size());  // the number is not to be taken for the value
      const uint64_t index = decimal();
      marks_.pop_back();
      put(index);
      return true;
    }
    case 'q':
      return put(number(1)), true;
    case 'r':
      return put(number(4)), true;
    case 0x94:
      return put(memo_.size()), true;
    case 'g':
      return get(decimal()), true;
    case 'h':
      return get(number(1)), true;
    case 'j':
      return get(number(4)), true;
    default:
      return false;
  }
}

bool Pickle::step_containers(uint8_t op) {
  const auto tuple = [&](int n) {
    std::vector<Value> items;
    items.resize(size_t(n));
    for (int i = n; i-- > 0;) items[size_t(i)] = pop();
    stack_.push_back(container(Kind::tuple, std::move(items)));
  };
  switch (op) {
    case ']':
      return stack_.push_back(container(Kind::list)), true;
    case '}':
      return stack_.push_back(container(Kind::dict)), true;
    case ')':
      return tuple(0), true;
    case 0x8f:
      return stack_.push_back(container(Kind::set)), true;
    case 0x85:
      return tuple(1), true;
    case 0x86:
      return tuple(2), true;
    case 0x87:
      return tuple(3), true;
    case 't':
      return stack_.push_back(container(Kind::tuple, pop_mark())), true;
    case 'l':
      return stack_.push_back(container(Kind::list, pop_mark())), true;
    case 'd': {
      std::vector<Value> pairs = pop_mark();
      stack_.push_back(container(Kind::dict));
      set_items(top(), std::move(pairs));
      return true;
    }
    case 0x91:
      stack_.push_back(container(Kind::set, pop_mark()));
      top().node()->text = "builtins.frozenset";
      return true;
    case 'a': {
      Value item = pop();
      append(top(), {std::move(item)});
      return true;
    }
    case 'e':
    case 0x90: {
      std::vector<Value> items = pop_mark();
      append(top(), std::move(items));
      return true;
    }
    case 's': {
      Value value = pop(), key = pop();
      set_items(top(), {std::move(key), std::move(value)});
      return true;
    }
    case 'u': {
      std::vector<Value> pairs = pop_mark();
      set_items(top(), std::move(pairs));
      return true;
    }
    default:
      return false;
  }
}

// In a circle or too deep: found by a walk with a stack of its own. Heights, because what is shared is seen once.
void Pickle::check_shape(const Value& root) {
  struct Step {
    Node* node;
    size_t next;
  };
  const auto child = [](const Node& n, size_t i) -> const Value* {
    if (i < 2) return i ? &n.state : &n.args;
    if ((i -= 2) < n.items.size()) return &n.items[i];
    if ((i -= n.items.size()) < 2 * n.entries.size()) return i % 2 ? &n.entries[i / 2].second : &n.entries[i / 2].first;
    return nullptr;
  };
  std::vector<Step> path;
  if (root.node()) path.push_back({root.node(), 0});
  while (!path.empty()) {
    Node& n = *path.back().node;
    n.seen = 1;
    const Value* v = child(n, path.back().next++);
    if (!v) {
      n.seen = 2;
      if (n.height > kMostDepth) wrong(fmt::format("lists are nested deeper than {}", kMostDepth));
      path.pop_back();
      if (!path.empty()) path.back().node->height = std::max(path.back().node->height, uint16_t(n.height + 1));
      continue;
    }
    Node* below = v->node();
    if (!below) continue;
    if (below->seen == 1) wrong("a value contains itself");
    if (below->seen == 2)
      n.height = std::max(n.height, uint16_t(below->height + 1));
    else
      path.push_back({below, 0});
  }
}

}  // namespace dyadic::inline v1::io
