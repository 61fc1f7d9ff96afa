// JSON of strangers' files. What is done with it later (writing it, comparing it) recurses, so its depth is bounded here.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace dyadic::inline v1::io {

// Discarded (is_discarded()) where the text is not JSON, or has more levels than that.
template <class Json = nlohmann::json> Json bounded_json(std::string_view text, int levels = 32) {
  bool shallow = true;
  Json all = Json::parse(
      text, [&](int depth, typename Json::parse_event_t, Json&) { return shallow = shallow && depth <= levels; }, false);
  return shallow ? all : Json(Json::value_t::discarded);
}

}  // namespace dyadic::inline v1::io
