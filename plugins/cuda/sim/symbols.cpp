#include "plugins/cuda/sim/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <unordered_map>

namespace dyadic::gpu::sim {
namespace {

struct Library {
  std::string path;
  uintptr_t base = 0;
};
int find_own(dl_phdr_info* info, size_t, void* found) {
  const auto here = reinterpret_cast<uintptr_t>(&symbols_of);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || here - info->dlpi_addr - part.p_vaddr >= part.p_memsz) continue;
    *static_cast<Library*>(found) = {*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", info->dlpi_addr};
    return 1;
  }
  return 0;
}

struct Table {
  std::unordered_map<uintptr_t, std::string> functions;
  std::map<std::string, std::span<std::byte>> locals;  // static variables of functions that can be written

  Table() {
    Library own;
    dl_iterate_phdr(find_own, &own);
    const int file = open(own.path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat s{};
    if (file < 0) return;
    if (fstat(file, &s) == 0) {
      void* const p = mmap(nullptr, size_t(s.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (p != MAP_FAILED) {
        read(static_cast<const char*>(p), own.base);
        munmap(p, size_t(s.st_size));
      }
    }
    close(file);
  }
  void read(const char* file, uintptr_t base) {
    const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(file);
    const auto* const sections = reinterpret_cast<const ElfW(Shdr)*>(file + header->e_shoff);
    for (int i = 0; i < header->e_shnum; ++i) {
      if (sections[i].sh_type != SHT_SYMTAB) continue;
      const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(file + sections[i].sh_offset);
      const char* const names = file + sections[sections[i].sh_link].sh_offset;
      for (size_t k = 0; k < sections[i].sh_size / sizeof(ElfW(Sym)); ++k) {
        const ElfW(Sym)& symbol = symbols[k];
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= header->e_shnum) continue;
        const std::string name = names + symbol.st_name;
        const int type = ELF64_ST_TYPE(symbol.st_info);
        if (type == STT_FUNC && name.starts_with("_Z")) functions[base + symbol.st_value] = name;
        if (type == STT_OBJECT && name.starts_with("_ZZ") && sections[symbol.st_shndx].sh_flags & SHF_WRITE)
          locals[name] = {reinterpret_cast<std::byte*>(base + symbol.st_value), symbol.st_size};
      }
    }
  }
};

std::string demangled(const std::string& name) {
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr);
  std::string out = text ? text : name;
  std::free(text);
  int depth = 0;  // within <>, where parentheses are of template arguments
  size_t begin = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const bool anonymous = out.compare(i, 21, "(anonymous namespace)") == 0;
    if (anonymous) {
      i += 20;
      continue;
    }
    depth += out[i] == '<' ? 1 : out[i] == '>' ? -1 : 0;
    if (depth == 0 && out[i] == ' ') begin = i + 1;  // behind what it returns
    if (depth == 0 && out[i] == '(') return out.substr(begin, i - begin);
  }
  return out;
}

}  // namespace

const KernelSymbols& symbols_of(const void* kernel) {
  static const Table* const table = new Table;
  static auto* const known = new std::unordered_map<const void*, KernelSymbols>;  // whoever launches holds the device's lock
  const auto [at, added] = known->try_emplace(kernel);
  if (!added) return at->second;
  const auto function = table->functions.find(reinterpret_cast<uintptr_t>(kernel));
  if (function == table->functions.end()) return at->second;
  at->second.name = demangled(function->second);
  const std::string prefix = "_ZZ" + function->second.substr(2) + "E";  // the Itanium ABI's name of what is local to it
  for (auto v = table->locals.lower_bound(prefix); v != table->locals.end() && v->first.starts_with(prefix); ++v)
    at->second.shared.push_back(v->second);
  return at->second;
}

}  // namespace dyadic::gpu::sim
