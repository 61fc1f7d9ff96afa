// What the opcodes of a pickle do (Python's pickletools.py describes them). What it builds is no deeper than kMostDepth and
// holds itself nowhere, and no bytes are copied that are not paid for by the pickle's own length.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

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

static bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = uint8_t(s[i]);
    const size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (n == 0 || n > s.size() - i) return false;
    for (size_t k = 1; k < n; ++k)
      if ((uint8_t(s[i + k]) & 0xc0) != 0x80) return false;
    if (n == 3 && c == 0xe0 && uint8_t(s[i + 1]) < 0xa0) return false;
    if (n == 4 && ((c == 0xf0 && uint8_t(s[i + 1]) < 0x90) || (c == 0xf4 && uint8_t(s[i + 1]) > 0x8f))) return false;
    i += n;
  }
  return true;
}

// Python 2's strings are texts if they are UTF-8, else bytes. Halves of surrogate pairs are let through: Python writes them.
void Pickle::push_text(std::string_view text, bool may_be_bytes) {
  const bool valid = is_utf8(text);
  if (!valid && !may_be_bytes) wrong("a text is not UTF-8");
  Value v{std::string(text)};
  if (!valid) v.node()->kind = Kind::bytes;
  stack_.push_back(std::move(v));
}

void Pickle::push_integer(std::string_view b) {
  while (b.size() > 8 && ((b.back() == '\0' && b[b.size() - 2] >= 0) || (b.back() == '\xff' && b[b.size() - 2] < 0)))
    b.remove_suffix(1);
  if (b.size() > 8) {
    Value v{std::string(b)};
    v.node()->kind = Kind::big;
    stack_.push_back(std::move(v));
    return;
  }
  uint64_t n = !b.empty() && b.back() < 0 ? ~uint64_t(0) : 0;
  for (size_t i = b.size(); i-- > 0;) n = n << 8 | uint8_t(b[i]);
  stack_.emplace_back(int64_t(n));
}

// Digits beyond 64 bits, as bytes from the lowest on, two's complement.
static std::string big_number(std::string_view digits, bool negative) {
  std::string out(1, '\0');
  for (const char digit : digits) {
    int carry = digit - '0';
    for (char& c : out) {
      carry += uint8_t(c) * 10;
      c = char(carry & 255);
      carry >>= 8;
    }
    if (carry) out += char(carry);
  }
  out += '\0';  // the sign
  int carry = 1;
  for (size_t i = 0; negative && i < out.size(); ++i) {
    carry += uint8_t(~out[i]);
    out[i] = char(carry & 255);
    carry >>= 8;
  }
  return out;
}

void Pickle::push_decimal(std::string_view text) {
  if (text.ends_with('L')) text.remove_suffix(1);
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument)
    wrong(fmt::format("{} is no integer", quote_name(text)));
  if (error == std::errc()) {
    stack_.emplace_back(n);
    return;
  }
  if (text.size() > 1000) wrong("an integer of more than 1000 digits");
  const bool negative = text.starts_with('-');
  push_integer(big_number(text.substr(negative ? 1 : 0), negative));
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

bool Pickle::step(uint8_t op) { return step_values(op) || step_memory(op) || step_containers(op) || step_objects(op); }

static double big_endian_double(std::string_view b) {
  uint64_t n = 0;
  for (const char c : b) n = n << 8 | uint8_t(c);
  return std::bit_cast<double>(n);
}

bool Pickle::step_values(uint8_t op) {
  const auto bytes = [&](std::string_view b) {
    push_text({}, true);
    top().node()->kind = Kind::bytes;
    top().node()->text = b;
  };
  switch (op) {
    case 'N':
      stack_.emplace_back();
      return true;
    case 0x88:
      stack_.emplace_back(true);
      return true;
    case 0x89:
      stack_.emplace_back(false);
      return true;
    case 'J':
      stack_.emplace_back(int64_t(int32_t(number(4))));
      return true;
    case 'K':
      stack_.emplace_back(int64_t(number(1)));
      return true;
    case 'M':
      stack_.emplace_back(int64_t(number(2)));
      return true;
    case 'L':
      push_decimal(line());
      return true;
    case 'I': {
      const std::string_view text = line();
      if (text == "00" || text == "01")
        stack_.emplace_back(text == "01");
      else
        push_decimal(text);
      return true;
    }
    case 0x8a:
      push_integer(take(number(1)));
      return true;
    case 0x8b:
      push_integer(take(number(4)));
      return true;
    case 'G':
      stack_.emplace_back(big_endian_double(take(8)));
      return true;
    case 'F': {
      const std::string_view text = line();
      double x = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
      if (error == std::errc::invalid_argument || end != text.data() + text.size())
        wrong(fmt::format("{} is no number", quote_name(text)));
      stack_.emplace_back(x);
      return true;
    }
    case 'S': {  // as Python shows it; what needs more than quotes is rare enough to be refused
      const std::string_view text = line();
      if (text.size() < 2 || text.front() != text.back() || text.find('\\') != text.npos) wrong("a text in quotes is wanted");
      push_text(text.substr(1, text.size() - 2), true);
      return true;
    }
    case 'V': {
      const std::string_view text = line();
      if (text.find('\\') != text.npos) wrong("a text with escapes: save it with a protocol of 1 or more");
      push_text(text, true);
      return true;
    }
    case 'T':
      push_text(take(number(4)), true);
      return true;
    case 'U':
      push_text(take(number(1)), true);
      return true;
    case 'X':
      push_text(take(number(4)), false);
      return true;
    case 0x8c:
      push_text(take(number(1)), false);
      return true;
    case 0x8d:
      push_text(take(number(8)), false);
      return true;
    case 'B':
      bytes(take(number(4)));
      return true;
    case 'C':
      bytes(take(number(1)));
      return true;
    case 0x8e:
    case 0x96:
      bytes(take(number(8)));
      return true;
    default:
      return false;
  }
}

bool Pickle::step_memory(uint8_t op) {
  const auto decimal = [&] {
    push_decimal(line());
    const int64_t n = pop().integer();
    if (n < 0) wrong("a place in the memo is negative");
    return uint64_t(n);
  };
  switch (op) {
    case 0x80:
      if (const uint64_t protocol = number(1); protocol > 5) wrong(fmt::format("protocol {}; 0 to 5 are known", protocol));
      return true;
    case 0x95:
      (void)number(8);
      return true;  // a frame's length: a hint for those who read from a pipe
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case '0':
      if (!marks_.empty() && marks_.back() == stack_.size())
        marks_.pop_back();
      else
        pop();
      return true;
    case '1':
      pop_mark();
      return true;
    case '2':
      stack_.push_back(top());
      return true;
    case 'p': {
      marks_.push_back(stack_.size());  // the number is not to be taken for the value
      const uint64_t index = decimal();
      marks_.pop_back();
      put(index);
      return true;
    }
    case 'q':
      put(number(1));
      return true;
    case 'r':
      put(number(4));
      return true;
    case 0x94:
      put(memo_.size());
      return true;
    case 'g':
      get(decimal());
      return true;
    case 'h':
      get(number(1));
      return true;
    case 'j':
      get(number(4));
      return true;
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
      stack_.push_back(container(Kind::list));
      return true;
    case '}':
      stack_.push_back(container(Kind::dict));
      return true;
    case ')':
      tuple(0);
      return true;
    case 0x8f:
      stack_.push_back(container(Kind::set));
      return true;
    case 0x85:
      tuple(1);
      return true;
    case 0x86:
      tuple(2);
      return true;
    case 0x87:
      tuple(3);
      return true;
    case 't':
      stack_.push_back(container(Kind::tuple, pop_mark()));
      return true;
    case 'l':
      stack_.push_back(container(Kind::list, pop_mark()));
      return true;
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
