// Metrics by step: in memory, in a CSV file, in TensorBoard's.
//
// Note [Rows of a killed run]: a row is written when it is complete, that is, when the next step's begins or a checkpoint is
// made (sync). A checkpoint holds the last step whose row is on the disk; the run that goes on from it cuts the file there.
// Rows that a process found without a checkpoint go when their step comes again.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "base/log.h"
#include "io/atomic_file.h"
#include "io/safetensors.h"
#include "train/json.h"

namespace dyadic::inline v1::train {
namespace {

std::string quoted(const std::string& name) {
  if (name.find_first_of(",\"\n\r") == name.npos) return name;
  std::string out = "\"";
  for (char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// The cells of a line; quotes as they were written by quoted().
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool inside = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (inside && i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[i++];
      else
        inside = !inside;
    } else if (line[i] == ',' && !inside) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

template <class T> bool parse(const std::string& cell, T& value) {
  auto [stop, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return problem == std::errc() && stop == cell.data() + cell.size();
}

void write_at(int fd, const std::string& path, std::string_view text, int64_t offset) {
  while (!text.empty()) {
    const ssize_t n = pwrite(fd, text.data(), text.size(), off_t(offset));
    if (n < 0 && errno == EINTR) continue;
    DY_CHECK(n > 0, "History: cannot write {}: {}", path, std::strerror(n < 0 ? errno : ENOSPC));
    text.remove_prefix(size_t(n));
    offset += n;
  }
}

}  // namespace

History::History(HistoryOptions options) : o_(std::move(options)) {
  if (!o_.csv.empty()) read();
  if (!o_.tensorboard.empty()) events_ = std::make_unique<EventFile>(o_.tensorboard);
}
History::~History() {
  try {
    flush();
  } catch (const std::exception& e) { warn_in_destructor(e.what()); }
  if (fd_ >= 0) close(fd_);
}

void History::open() {
  if (const std::filesystem::path folder = std::filesystem::path(o_.csv).parent_path(); !folder.empty()) {
    std::error_code error;  // open says it better
    std::filesystem::create_directories(folder, error);
  }
  if (fd_ >= 0) close(fd_);
  fd_ = ::open(o_.csv.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  DY_CHECK(fd_ >= 0, "History: cannot write {}: {}", o_.csv, std::strerror(errno));
}

void History::read() {
  open();
  const std::string text = io::read_text(o_.csv);
  if (text.empty()) return;
  const size_t head_end = text.find('\n');  // the first line comes whole
  columns_ = cells_of(std::string_view(text).substr(0, head_end));
  DY_CHECK_AS(ValueError, head_end != text.npos && columns_[0] == "step",
              "History: {} is no history: its first column is {}, not step; choose another file", o_.csv,
              io::quote_name(columns_[0]));
  columns_.erase(columns_.begin());
  header_ = end_ = int64_t(head_end) + 1;
  size_t line = 2;
  for (size_t begin = head_end + 1, stop; (stop = text.find('\n', begin)) != text.npos; begin = stop + 1, ++line) {
    const std::vector<std::string> cells = cells_of(std::string_view(text).substr(begin, stop - begin));
    Row row;
    bool good =
        cells.size() == columns_.size() + 1 && parse(cells[0], row.step) && (rows_.empty() || rows_.back().step < row.step);
    for (size_t i = 1; good && i < cells.size(); ++i)
      if (!cells[i].empty()) good = parse(cells[i], row.values[columns_[i - 1]]);
    DY_CHECK_AS(ValueError, good, "History: {}, line {}: not a row of {} numbers behind a step that is larger than the last",
                o_.csv, line, columns_.size());
    rows_.push_back(std::move(row));
    offsets_.push_back(int64_t(begin));
    end_ = int64_t(stop) + 1;
  }
  own_ = rows_.size();
  cut(rows_.size());
}

// Keeps so many rows, here and in the file.
void History::cut(size_t rows) {
  if (rows < offsets_.size()) end_ = offsets_[rows];
  rows_.resize(std::min(rows, rows_.size()));
  offsets_.resize(std::min(rows, offsets_.size()));
  own_ = std::min(own_, rows);
  if (fd_ >= 0) DY_CHECK(ftruncate(fd_, off_t(end_)) == 0, "History: cannot write {}: {}", o_.csv, std::strerror(errno));
}

std::string History::line(const Row& row) const {
  std::string text = std::to_string(row.step);
  for (const std::string& name : columns_) {
    auto at = row.values.find(name);
    text += ",";
    if (at != row.values.end()) text += fmt::format("{}", at->second);
  }
  return text + "\n";
}

// The whole file anew: a column has come, or a row that was written has grown.
void History::write_all() {
  std::string text = "step";
  for (const std::string& name : columns_) text += "," + quoted(name);
  text += "\n";
  header_ = int64_t(text.size());
  offsets_.clear();
  for (const Row& row : rows_) {
    offsets_.push_back(int64_t(text.size()));
    text += line(row);
  }
  io::write_whole("History", o_.csv, text);
  end_ = int64_t(text.size());
  open();
}

// Rows that are not in the file yet.
void History::flush() {
  if (fd_ < 0) return;
  bool grown = header_ == 0 && !rows_.empty();
  for (size_t i = offsets_.size(); i < rows_.size(); ++i)
    for (auto& [name, value] : rows_[i].values)
      if (std::find(columns_.begin(), columns_.end(), name) == columns_.end()) {
        columns_.push_back(name);
        grown = true;
      }
  if (grown) return write_all();
  for (size_t i = offsets_.size(); i < rows_.size(); ++i) {
    const std::string text = line(rows_[i]);
    write_at(fd_, o_.csv, text, end_);
    offsets_.push_back(end_);
    end_ += int64_t(text.size());
  }
}

void History::log(int64_t step, const Metrics& values) {
  size_t keep = rows_.size();
  while (keep > 0 && keep <= own_ && rows_[keep - 1].step >= step) --keep;
  if (keep < rows_.size()) {
    cut(keep);
    if (events_) events_->restart(step);
  }
  DY_CHECK_AS(ValueError, rows_.empty() || rows_.back().step <= step, "History: step {} comes after step {}", step,
              rows_.back().step);
  if (rows_.empty() || rows_.back().step < step) {
    flush();
    rows_.push_back({step, values});
  } else {
    Metrics& row = rows_.back().values;
    bool changed = false;
    for (auto& [name, value] : values) {
      changed |= !row.contains(name) || row[name] != value;
      row[name] = value;
    }
    if (changed && offsets_.size() == rows_.size()) rewrite_last();
  }
  if (!events_) return;
  for (auto& [name, value] : values) events_->scalar(name, value, step);
}

// A row that is in the file already; the columns may have to grow as well.
void History::rewrite_last() {
  for (auto& [name, value] : rows_.back().values)
    if (std::find(columns_.begin(), columns_.end(), name) == columns_.end()) columns_.push_back(name);
  write_all();
}

void History::text(std::string_view tag, std::string_view text, int64_t step) {
  if (events_) events_->text(tag, text, step);
}

std::vector<std::pair<int64_t, double>> History::column(std::string_view name) const {
  std::vector<std::pair<int64_t, double>> out;
  for (const Row& row : rows_)
    if (auto at = row.values.find(std::string(name)); at != row.values.end()) out.emplace_back(row.step, at->second);
  return out;
}

void History::sync() {
  flush();
  if (fd_ >= 0) DY_CHECK(fdatasync(fd_) == 0, "History: cannot write {}: {}", o_.csv, std::strerror(errno));
  if (events_) events_->sync();
}

State History::state() const {
  Json j = {{"rows", rows_.size()}, {"last", rows_.empty() ? Json() : Json(rows_.back().step)}};
  if (o_.csv.empty()) {
    j["values"] = Json::array();
    for (const Row& row : rows_) j["values"].push_back({row.step, metrics_json(row.values)});
  }
  return {{}, dump_json(j)};
}

void History::load(const State& state) {
  const Json j = parse_json(state.json);
  const auto rows = j.at("rows").get<size_t>();
  if (o_.csv.empty() && j.contains("values")) {
    rows_.clear();
    for (const Json& row : j["values"]) rows_.push_back({row.at(0).get<int64_t>(), metrics_of(row.at(1))});
  }
  size_t keep = 0;
  if (!j.at("last").is_null())
    while (keep < rows_.size() && rows_[keep].step <= j["last"].get<int64_t>()) ++keep;
  cut(keep);
  own_ = 0;
  if (keep < rows)
    warn(fmt::format("History: {} has {} of the {} rows that were there when the checkpoint was made",
                     o_.csv.empty() ? "memory" : o_.csv, keep, rows));
  if (events_) events_->restart(rows_.empty() ? 0 : rows_.back().step + 1);
}

}  // namespace dyadic::inline v1::train
