#include "study/save_report.h"

#include <filesystem>
#include <fstream>

#include "account/machine.h"
#include "base/check.h"
#include "dyadic/device.h"
#include "io/atomic_file.h"
#include "study/report_html.h"
#include "study/report_json.h"

namespace dyadic::inline v1::study {

namespace fs = std::filesystem;

void save_report(const StudyResult& result, const std::string& folder) {
  io::write_whole("study", folder + "/report.json", report_json(result));
  io::write_whole("study", folder + "/report.html", report_html(result));
}

void check_writable(const std::string& folder, const std::string& option) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string probe = folder + "/.writable";
  std::ofstream out(probe);
  out << "x";
  out.close();
  DY_CHECK(!error && out, "study: the folder {} cannot be written; pass another {}", folder, option);
  fs::remove(probe, error);
}

Machine this_machine() {
  account::MachineInfo m = account::machine_info();
  account::Peaks p = account::measure_peaks();
  empty_cache();
  Machine r;
  r.cpu = m.cpu, r.os = m.os, r.isa = m.isa, r.compiler = m.compiler;
  r.cores = m.cores, r.threads = m.threads;
  if (m.memory) r.memory = m.memory;
  r.flops_peak = p.flops_f32, r.flops_peak_bf16 = p.flops_bf16, r.bytes_per_s_peak = p.bytes_per_s;
  return r;
}

}  // namespace dyadic::inline v1::study
