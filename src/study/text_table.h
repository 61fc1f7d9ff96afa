// A table for the terminal that, unlike base/text.h's, knows the width of the window: it gives up its least important columns
// when that is narrow, then the middle of its names, and it styles rows.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1::study {

// Words in lines of at most `width` columns, each with `indent` before it. Keeps line breaks.
std::string wrap_text(std::string_view text, int width, std::string_view indent);

struct TableColumn {
  std::string title;
  bool left = false;  // aligned; numbers stand right
  int rank = 0;       // the highest rank goes first; 0 never goes
};

struct TextTable {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> styles;             // per row: an ANSI sequence, or empty
  std::vector<size_t> shown(int width) const;  // columns that there is room for
  std::string text(int width, bool color) const;
};

}  // namespace dyadic::inline v1::study
