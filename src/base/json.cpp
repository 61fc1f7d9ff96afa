#include "base/json.h"

namespace dyadic::inline v1 {

template <class J> J parse_json(std::string_view text, Comments comments) {
  return J::parse(text, nullptr, true, comments == Comments::skipped);
}

template <class J> J bounded_json(std::string_view text, int levels) {
  bool shallow = true;
  J all = J::parse(text, [&](int depth, typename J::parse_event_t, J&) { return shallow = shallow && depth <= levels; }, false);
  return shallow ? all : J(J::value_t::discarded);
}

template <class J> std::string dump_json(const J& value, int indent, NotUtf8 bytes) {
  using Handler = typename J::error_handler_t;
  return value.dump(indent, ' ', false, bytes == NotUtf8::replaced ? Handler::replace : Handler::strict);
}

#define DY_JSON(J)                                      \
  template J parse_json<J>(std::string_view, Comments); \
  template J bounded_json<J>(std::string_view, int);    \
  template std::string dump_json<J>(const J&, int, NotUtf8);
DY_JSON(nlohmann::json)
DY_JSON(nlohmann::ordered_json)
#undef DY_JSON

}  // namespace dyadic::inline v1
