#include "plan/cut.h"

#include <algorithm>
#include <cmath>

#include "plan/flow.h"

namespace dyadic::inline v1::planning {

constexpr double kUnits = 1e12;  // of capacities: picoseconds

static int64_t room(double seconds) { return int64_t(std::min(std::round(seconds * kUnits), double(Network::kWide / 1024))); }

// Nodes: 0 what is there anyway, 1 what backward needs, then the calls (beyond the cut: made again), then the values (beyond
// it: there in backward). A pipe that the cut crosses is what is paid.
Cut cheapest(const Recording& r, double price) {
  const int calls = int(r.calls.size()), values = int(r.values.size());
  auto of_call = [](int c) { return 2 + c; };
  auto of_value = [&](int v) { return 2 + calls + v; };
  Network network(2 + calls + values);
  for (int c = 0; c < calls; ++c) {
    const RecordedCall& call = r.calls[size_t(c)];
    network.add(0, of_call(c), call.repeatable ? room(call.seconds) : Network::kWide);
    for (int v : call.reads) network.add(of_value(v), of_call(c), Network::kWide);
  }
  for (int v = 0; v < values; ++v) {
    const RecordedValue& value = r.values[size_t(v)];
    network.add(of_call(value.call), of_value(v), std::max<int64_t>(room(price * double(value.bytes)), 1));
    if (value.saved) network.add(of_value(v), 1, Network::kWide);
  }
  const std::vector<bool> beyond = network.beyond_cut(0, 1);
  Cut cut;
  for (int c = 0; c < calls; ++c) {
    const bool again = beyond[size_t(of_call(c))];
    cut.choice.ops.push_back(r.calls[size_t(c)].op);
    cut.choice.again.push_back(again);
    if (again) cut.seconds += r.calls[size_t(c)].seconds;
  }
  for (int v = 0; v < values; ++v) {
    cut.keeps.push_back(beyond[size_t(of_value(v))] && !cut.choice.again[size_t(r.values[size_t(v)].call)]);
    if (cut.keeps.back()) cut.kept += r.values[size_t(v)].bytes;
  }
  return cut;
}

Choice stowed(const Recording& r, const Cut& cut, double share) {
  Choice choice = cut.choice;
  choice.stowed.resize(r.calls.size());
  for (size_t v = 0; v < r.values.size(); ++v) {
    const RecordedValue& value = r.values[v];
    if (cut.keeps[v] && value.bytes >= kWorthStowing && double(value.call) < share * double(r.calls.size()))
      choice.stowed[size_t(value.call)] = true;
  }
  for (const RecordedValue& value : r.values)
    if (value.written) choice.stowed[size_t(value.call)] = false;
  for (size_t v = 0; v < r.values.size(); ++v)
    if (cut.keeps[v] && choice.stowed[size_t(r.values[v].call)]) choice.stowed_bytes += r.values[v].bytes;
  return choice;
}

// Between two of them, at the price at which they cost the same, either those two are the cheapest or a third is found.
static void between(const Recording& r, const Cut& a, const Cut& b, int most, std::vector<Cut>& found) {
  if (int(found.size()) >= most || b.kept >= a.kept || b.seconds <= a.seconds) return;
  const double price = (b.seconds - a.seconds) / double(a.kept - b.kept);
  const Cut c = cheapest(r, price);
  if (c.kept >= a.kept || c.kept <= b.kept) return;
  found.push_back(c);
  between(r, a, c, most, found);
  between(r, c, b, most, found);
}

std::vector<Cut> cheapest_at_all_prices(const Recording& r, int most) {
  constexpr double kAny = 1e-3;  // seconds a byte: whatever can be computed is
  std::vector<Cut> all{cheapest(r, 0), cheapest(r, kAny)};
  const Cut first = all[0], last = all[1];
  between(r, first, last, most, all);
  std::sort(all.begin(), all.end(), [](const Cut& a, const Cut& b) { return a.seconds < b.seconds; });
  return all;
}

}  // namespace dyadic::inline v1::planning
