// dyadic bench io: a file of tensors opened, loaded, converted and written, beside cp of the same bytes in the same run; and
// text to tokens.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "cli/bench.h"
#include "dyadic/convert.h"
#include "dyadic/dyadic.h"

namespace dyadic::inline v1::cli {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kRows = 4096, kCols = 4096;  // of a tensor, 32 MiB in bf16

struct IoOptions {
  std::string folder, size = "2G";
  int runs = 3;
};

class Scratch {  // gone with its content
  fs::path path_;

 public:
  explicit Scratch(const std::string& folder) {
    std::string name = ((folder.empty() ? fs::temp_directory_path() : fs::path(folder)) / "dyadic_bench_XXXXXX").native();
    DY_CHECK(mkdtemp(name.data()), "bench io: no folder can be made in {}", fs::path(name).parent_path().native());
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const { return (path_ / name).native(); }
};

// cp, and its target on the disk: what is saved here is there when save returns.
void copy(const std::string& from, const std::string& to, bool synced) {
  const char* argv[] = {"cp", "--reflink=never", from.c_str(), to.c_str(), nullptr};
  pid_t pid = 0;
  int status = 1;
  const bool started = posix_spawnp(&pid, "cp", nullptr, nullptr, const_cast<char**>(argv), environ) == 0;
  DY_CHECK(started && waitpid(pid, &status, 0) == pid && status == 0, "bench io: cp {} {} failed", from, to);
  const int fd = synced ? ::open(to.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

// `f` in turns with a copy; the rates are of the bytes that it moves and of those that cp moves.
Row beside_copy(const char* name, int runs, double bytes, double copied, FunctionRef<void()> f, FunctionRef<void()> cp) {
  std::vector<double> times;
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    times.push_back(time_runs(0, 1, f).min);
    best = std::min(best, time_runs(0, 1, cp).min);
  }
  std::sort(times.begin(), times.end());
  Row row = bytes_row(name, "bf16", {times.front(), times[times.size() / 2]}, bytes);
  row.peak = Peak::given;
  row.given = copied / best;
  return row;
}

std::vector<Row> io_rows(const IoOptions& o) {
  NoGrad guard;
  const Scratch folder(o.folder);
  const std::string path = folder / "m.safetensors", other = folder / "n.safetensors", third = folder / "c.safetensors";
  const Tensor w = randn({kRows, kCols}).to(bf16);
  const int64_t count = std::max<int64_t>(1, byte_count(o.size) / w.nbytes());
  {
    io::NamedTensors all;  // equal values, storages of their own
    for (int64_t i = 0; i < count; ++i) all.emplace_back(fmt::format("layers.{}.weight", i), w.clone());
    io::save(path, all);
  }
  const double bytes = double(fs::file_size(path));
  const auto plain = [&] { copy(path, third, false); };
  const auto synced = [&] { copy(path, third, true); };
  std::vector<Row> rows;
  rows.push_back(ns_row("open", "bf16", time_runs(1, std::max(o.runs, 5), [&] { io::open(path); }), 1));
  rows.push_back(beside_copy("load", o.runs, bytes, bytes, [&] { io::load_safetensors(path); }, plain));
  rows.push_back(beside_copy("write", o.runs, bytes, bytes, [&] { io::save(other, *io::open(path)); }, synced));
  fs::remove(other);
  // Half is read and twice as much written: as a share of cp's, by what is written.
  const auto convert = [&] {
    class AsF32 final : public io::TensorFile {
      std::shared_ptr<io::TensorFile> file_;
      std::vector<io::TensorInfo> tensors_;

     public:
      explicit AsF32(std::shared_ptr<io::TensorFile> file)
          : TensorFile("f32"), file_(std::move(file)), tensors_(file_->tensors()) {
        for (io::TensorInfo& t : tensors_) t.dtype = f32;
      }
      std::string_view kind() const override { return "f32"; }
      const std::vector<io::TensorInfo>& tensors() const override { return tensors_; }
      Tensor get(size_t i) const override { return file_->get(i).to(f32); }
    };
    io::save(other, AsF32(io::open(path)));
  };
  rows.push_back(beside_copy("bf16 -> f32, written", o.runs, 2 * bytes, bytes, convert, synced));
  const std::vector<Row> tokenizing = tokenizing_rows(o.runs);
  rows.insert(rows.end(), tokenizing.begin(), tokenizing.end());
  return rows;
}

Run setup_bench_io(Options& options) {
  auto o = std::make_shared<IoOptions>();
  options
      .value("--size", o->size, "BYTES", "of the file (default: 2G); three times as much is written beside it",
             [](const std::string& text) { byte_count(text); })
      .value("--folder", o->folder, "DIR", "where (default: the folder for temporary files)")
      .value("--runs", o->runs, "N", "times each is run, in turns with cp (default: 3)", at_least(1));
  return [o](const Common& common) { return bench(common, [&] { return io_rows(*o); }); };
}

}  // namespace

const Command bench_io_command = {
    "io", "files of tensors: opening, loading, writing, the share is of cp's bytes per second; text to tokens",
    "dyadic bench io --size 2G --json", setup_bench_io};

}  // namespace dyadic::inline v1::cli
