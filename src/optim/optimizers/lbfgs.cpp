// Limited-memory BFGS with PyTorch's stopping rules and its strong Wolfe line search (Nocedal and Wright, "Numerical
// Optimization", 2006, algorithms 3.5 and 3.6). Parameters, gradients and directions are one flat vector each.
#include <algorithm>
#include <cmath>
#include <deque>

#include "base/check.h"
#include "optim/optimizers/optimizers.h"

namespace dyadic::inline v1::optim {
namespace {

double inner_product(const Tensor& a, const Tensor& b) { return sum(mul(a, b)).item(); }
double largest(const Tensor& a) { return a.numel() ? amax(abs(a)).item() : 0; }

struct Point {  // on the line: the step, the loss and its gradient, the slope along the direction
  double t = 0, f = 0;
  Tensor g;
  double slope = 0;
};

class Problem {
  const ParamGroup& group_;
  double (*closure_)(void*);
  void* context_;

 public:
  int64_t evaluations = 0;

  Problem(const ParamGroup& group, double (*closure)(void*), void* context)
      : group_(group), closure_(closure), context_(context) {}
  double loss() {
    ++evaluations;
    GradMode on(true);
    return closure_(context_);
  }
  Tensor flat(bool gradients) const {
    std::vector<Tensor> parts;
    for (auto& [name, p] : group_.params) {
      const Tensor g = gradients ? p.grad() : p.detach();
      parts.push_back(g.defined() ? g.reshape({-1}) : zeros({p.numel()}, p.dtype()));
    }
    return cat(parts, 0);
  }
  void move_to(const Tensor& x) const {
    int64_t at = 0;
    for (auto& [name, p] : group_.params) {
      p.detach().copy_(slice(x, 0, at, at + p.numel()).view(p.sizes()));
      at += p.numel();
    }
  }
  Point at(const Tensor& x, double t, const Tensor& d) {
    move_to(add(x, d * t));
    Point p{t, loss(), flat(true)};
    p.slope = inner_product(p.g, d);
    return p;
  }
};

// Where the cubic through two points with their slopes is least, within bounds.
double cubic_minimum(Point a, Point b, double low, double high) {
  if (a.t > b.t) std::swap(a, b);
  const double d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t), square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  return std::min(std::max(b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)), low), high);
}

constexpr double kDecrease = 1e-4, kCurvature = 0.9;
constexpr int kMaxSearch = 25;

// Keeps the step inside the bracket off its ends, where the last one was already close to one.
double off_the_ends(double t, double low, double high, bool& close) {
  const double margin = 0.1 * (high - low);
  if (std::min(high - t, t - low) >= margin) {
    close = false;
  } else if (close || t >= high || t <= low) {
    close = false;
    return std::abs(t - high) < std::abs(t - low) ? high - margin : low + margin;
  } else {
    close = true;
  }
  return t;
}

Point strong_wolfe(Problem& problem, const Tensor& x, const Tensor& d, const Point& start, double t, double tolerance) {
  auto too_high = [&](const Point& p) { return p.f > start.f + kDecrease * p.t * start.slope; };
  auto flat_enough = [&](const Point& p) { return std::abs(p.slope) <= -kCurvature * start.slope; };
  Point before = start, now = problem.at(x, t, d), low, high;
  int tries = 0;
  for (;; ++tries) {
    if (tries == kMaxSearch) {
      low = start, high = now;
      break;
    }
    if (too_high(now) || (tries > 1 && now.f >= before.f)) {
      low = before, high = now;
      break;
    }
    if (flat_enough(now)) return now;
    if (now.slope >= 0) {
      low = before, high = now;
      break;
    }
    t = cubic_minimum(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10);
    before = now;
    now = problem.at(x, t, d);
  }
  if (low.f > high.f) std::swap(low, high);
  const double length = largest(d);
  bool close = false;
  for (; tries < kMaxSearch && std::abs(high.t - low.t) * length >= tolerance; ++tries) {
    const double left = std::min(low.t, high.t), right = std::max(low.t, high.t);
    now = problem.at(x, off_the_ends(cubic_minimum(low, high, left, right), left, right, close), d);
    if (too_high(now) || now.f >= low.f) {
      high = now;
      if (low.f > high.f) std::swap(low, high);
      continue;
    }
    const bool done = flat_enough(now);
    if (!done && now.slope * (high.t - low.t) >= 0) high = low;
    low = now;
    if (done) break;
  }
  return low;
}

struct Pair {  // a step and what it did to the gradient
  Tensor s, y;
  double ro;
};
struct History {
  std::deque<Pair> pairs;
  double scale = 1;

  void remember(const Tensor& s, const Tensor& y, size_t size) {
    const double ys = inner_product(y, s);
    if (ys <= 1e-10) return;
    if (pairs.size() == size) pairs.pop_front();
    pairs.push_back({s, y, 1 / ys});
    scale = ys / inner_product(y, y);
  }
  Tensor direction(const Tensor& g) const {  // the two loops
    Tensor q = neg(g);
    std::vector<double> alpha(pairs.size());
    for (size_t i = pairs.size(); i-- > 0;) {
      alpha[i] = inner_product(pairs[i].s, q) * pairs[i].ro;
      q = add(q, pairs[i].y * -alpha[i]);
    }
    q = q * scale;
    for (size_t i = 0; i < pairs.size(); ++i) q = add(q, pairs[i].s * (alpha[i] - inner_product(pairs[i].y, q) * pairs[i].ro));
    return q;
  }
  void load(const ParamState& state) {
    if (auto it = state.numbers.find("scale"); it != state.numbers.end()) scale = it->second;
    for (size_t i = 0; state.tensors.contains("s" + std::to_string(i)); ++i) {
      const std::string n = std::to_string(i);
      pairs.push_back({state.tensors.at("s" + n), state.tensors.at("y" + n), state.numbers.at("ro" + n)});
    }
  }
  void save(ParamState& state) const {
    state.numbers["scale"] = scale;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const std::string n = std::to_string(i);
      state.tensors["s" + n] = pairs[i].s;
      state.tensors["y" + n] = pairs[i].y;
      state.numbers["ro" + n] = pairs[i].ro;
    }
  }
};

}  // namespace

double lbfgs_step(ParamGroup& group, ParamState& state, double (*closure)(void*), void* context) {
  CategoryScope scope(Category::optimizer);
  const Options& o = group.options;
  const int64_t max_iter = int64_t(o.number("max_iter"));
  const int64_t max_eval = o.has("max_eval") ? int64_t(o.number("max_eval")) : max_iter * 5 / 4;
  const double lr = o.number("lr"), tolerance = o.number("tolerance_change"), flat = o.number("tolerance_grad");
  const bool searches = o.word("line_search_fn") == "strong_wolfe";
  Problem problem(group, closure, context);
  const double first_loss = problem.loss();
  double loss = first_loss, last_loss = first_loss;
  Tensor g = problem.flat(true);
  if (largest(g) <= flat) return first_loss;
  History history;
  history.load(state);
  Tensor d = state.tensors["d"], before = state.tensors["prev_flat_grad"];
  double t = state.numbers["t"];
  for (int64_t i = 1; i <= max_iter; ++i) {
    const bool first = ++state.steps == 1 || !d.defined();
    if (!first) history.remember(d * t, sub(g, before), size_t(o.number("history_size")));
    d = history.direction(g);
    before = g;
    const double loss_before = last_loss = loss;
    t = first ? std::min(1.0, 1 / sum(abs(g)).item()) * lr : lr;
    const double slope = inner_product(g, d);
    if (slope > -tolerance) break;
    const Tensor x = problem.flat(false);
    if (searches) {
      const Point best = strong_wolfe(problem, x, d, {0, loss, g, slope}, t, tolerance);
      t = best.t, loss = best.f, g = best.g;
      problem.move_to(add(x, d * t));
    } else {
      problem.move_to(add(x, d * t));
      if (i < max_iter) loss = problem.loss(), g = problem.flat(true);
    }
    if (problem.evaluations >= max_eval || largest(g) <= flat || largest(d) * std::abs(t) <= tolerance ||
        std::abs(loss - loss_before) < tolerance)
      break;
  }
  history.save(state);
  state.tensors["d"] = d;
  state.tensors["prev_flat_grad"] = before;
  state.numbers["t"] = t;
  state.numbers["func_evals"] += double(problem.evaluations);
  state.numbers["prev_loss"] = last_loss;
  return first_loss;
}

}  // namespace dyadic::inline v1::optim
