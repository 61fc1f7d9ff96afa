// TensorBoard's event files: TFRecords (length, its checksum, an Event message, its checksum) one after the other.
// Field numbers: tensorflow/core/util/event.proto, framework/summary.proto, framework/tensor.proto.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "dyadic/train.h"
#include "train/crc32c.h"
#include "train/protobuf.h"

namespace dyadic::inline v1::train {
namespace {

namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace value {
constexpr int in_summary = 1, tag = 1, simple_value = 2, tensor = 8, metadata = 9;
}
constexpr int kPluginData = 1, kPluginName = 1;                                        // SummaryMetadata
constexpr int kDtype = 1, kShape = 2, kStrings = 8, kDim = 2, kSize = 1, kString = 7;  // TensorProto
constexpr int kStatus = 1, kStart = 1;                                                 // SessionLog

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

Message event_at(int64_t step) {
  Message m;
  m.float64(event::wall_time, now());
  if (step) m.integer(event::step, step);
  return m;
}

// Readers take the files of a folder in the order of their names, which is the order of time.
std::string file_name() {
  static std::atomic<int> count{0};
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const auto micros = int64_t(now() * 1e6);
  return fmt::format("events.out.tfevents.{:010d}.{:06d}.{}.{}.{}", micros / 1'000'000, micros % 1'000'000, host, getpid(),
                     count++);
}

std::string little_endian(uint64_t v, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += char(v >> (8 * i));
  return out;
}

}  // namespace

EventFile::EventFile(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  path_ = (std::filesystem::path(folder) / file_name()).native();
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  DY_CHECK(fd_ >= 0, "EventFile: cannot write {}: {}", path_, std::strerror(errno));
  record(event_at(0).text(event::file_version, "brain.Event:2").bytes());
}
EventFile::~EventFile() {
  if (fd_ >= 0) close(fd_);
}

void EventFile::record(std::string_view event) {
  const std::string length = little_endian(event.size(), 8);
  std::string all = length + little_endian(masked_crc32c(length), 4);
  all += event;
  all += little_endian(masked_crc32c(event), 4);
  for (size_t done = 0; done < all.size();) {
    const ssize_t n = write(fd_, all.data() + done, all.size() - done);
    if (n < 0 && errno == EINTR) continue;
    DY_CHECK(n > 0, "EventFile: cannot write {}: {}", path_, std::strerror(n < 0 ? errno : ENOSPC));
    done += size_t(n);
  }
}

void EventFile::scalar(std::string_view tag, double v, int64_t step) {
  Message one, summary;
  one.text(value::tag, tag).float32(value::simple_value, float(v));
  record(event_at(step).message(event::summary, summary.message(value::in_summary, one)).bytes());
}

void EventFile::text(std::string_view tag, std::string_view text, int64_t step) {
  Message plugin, metadata, dim, shape, tensor, one, summary;
  metadata.message(kPluginData, plugin.text(kPluginName, "text"));
  shape.message(kDim, dim.integer(kSize, 1));
  tensor.integer(kDtype, kString).message(kShape, shape).text(kStrings, text);
  one.text(value::tag, tag).message(value::tensor, tensor).message(value::metadata, metadata);
  record(event_at(step).message(event::summary, summary.message(value::in_summary, one)).bytes());
}

void EventFile::restart(int64_t step) {
  Message log;
  record(event_at(step).message(event::session_log, log.integer(kStatus, kStart)).bytes());
}

void EventFile::sync() { (void)fdatasync(fd_); }

}  // namespace dyadic::inline v1::train
