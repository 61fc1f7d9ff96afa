// A table for the terminal.
#include "study/text_table.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "study/words.h"

namespace dyadic::inline v1::study {

std::string wrap_text(std::string_view text, int width, std::string_view indent) {
  std::string out;
  for (std::string_view line : lines_of(text)) {
    int used = width;
    bool first = true;
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(word.size() + 1, line.size()));
      if (!first && used + 1 + display_width(word) <= width) {
        out += ' ';
        used += 1 + display_width(word);
      } else {
        if (!first) out += '\n';
        out += indent;
        used = display_width(indent) + display_width(word);
      }
      out += word;
      first = false;
    }
    out += '\n';
  }
  return out;
}

namespace {
std::vector<int> cells_of(const TextTable& t) {
  std::vector<int> cells;
  for (size_t c = 0; c < t.columns.size(); ++c) {
    cells.push_back(display_width(t.columns[c].title));
    for (const auto& row : t.rows) {
      DY_ASSERT(row.size() == t.columns.size());
      cells[c] = std::max(cells[c], display_width(row[c]));
    }
  }
  return cells;
}
int total(const std::vector<int>& cells, const std::vector<size_t>& shown) {
  int sum = 0;
  for (size_t c : shown) sum += cells[c] + 2;
  return sum;
}
}  // namespace

std::vector<size_t> TextTable::shown(int width) const {
  const std::vector<int> cells = cells_of(*this);
  std::vector<size_t> shown(columns.size());
  std::iota(shown.begin(), shown.end(), size_t{0});
  while (total(cells, shown) > width) {
    const auto worst =
        std::max_element(shown.begin(), shown.end(), [&](size_t a, size_t b) { return columns[a].rank < columns[b].rank; });
    if (columns[*worst].rank == 0) break;
    shown.erase(worst);
  }
  return shown;
}

std::string TextTable::text(int width, bool color) const {
  std::vector<int> cells = cells_of(*this);
  const std::vector<size_t> shown = this->shown(width);
  // Then its names: rows begin with them.
  const int names = std::min(cells[0], std::max(24, cells[0] - std::max(0, total(cells, shown) - width)));
  cells[0] = names;
  std::string out;
  const auto line = [&](const std::vector<std::string>& row, const std::string& style) {
    std::string text;
    for (size_t c : shown) {
      const std::string cell = c ? row[c] : short_name(row[c], names);
      const std::string pad(size_t(cells[c] - display_width(cell)), ' ');
      text += "  " + (columns[c].left ? cell + pad : pad + cell);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += color && !style.empty() ? style + text + "\x1b[0m\n" : text + "\n";
  };
  std::vector<std::string> titles;
  for (const TableColumn& c : columns) titles.push_back(c.title);
  line(titles, "\x1b[2m");
  for (size_t r = 0; r < rows.size(); ++r) line(rows[r], r < styles.size() ? styles[r] : "");
  return out;
}

}  // namespace dyadic::inline v1::study
