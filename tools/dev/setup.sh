# Sourced by ./dev: what the machine needs (Debian packages, Python environments), and how the script speaks.
# shellcheck shell=bash disable=SC2154  # root, build, release, venv: set by ./dev

# ocl-icd-opencl-dev: oneDNN's CMake package asks for OpenCL, which Debian's libdnnl-dev only recommends.
readonly packages=(g++ cmake ninja-build ccache libdnnl-dev ocl-icd-opencl-dev libhwy-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev liblapack-dev libmd-dev zlib1g-dev libjpeg-dev libpng-dev libgtest-dev python3 python3-dev
  python3-venv)
readonly mpi_packages=(libopenmpi-dev openmpi-bin)  # for ./dev build --mpi and the slow tests
readonly fuzz_packages=(clang-19 libclang-rt-19-dev)  # only for ./dev test --fuzz

say() { printf 'dev: %s\n' "$*" >&2; }
die() { say "$@" && exit 1; }
usage_error() { say "$@" && exit 2; }

# quietly LOG COMMAND...: runs COMMAND with its output in build/LOG; shows the end of that only when it fails.
quietly() {
  local log=$build/$1
  shift
  mkdir -p "$build"
  "$@" >"$log" 2>&1 </dev/null || { tail -n 40 "$log" >&2 && die "failed: $* (all of its output: $log)"; }
}

missing_packages() {
  local name installed
  installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    [[ $installed == *" installed:$name "* ]] || printf '%s\n' "$name"
  done
}

install_packages() {
  local as_root=() command="apt-get update && apt-get install -y --no-install-recommends $*"
  if ((EUID)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }; }; then
      as_root=(sudo)
    else
      say "these Debian packages are missing, and installing them needs root or sudo. The command for an administrator:"
      printf '%s\n' "$command" >&2
      exit 1
    fi
  fi
  say "installing $# Debian packages: $*"
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
  quietly apt.log "${as_root[@]}" update
  quietly apt.log "${as_root[@]}" install -y --no-install-recommends "$@"
}

# set_up [PACKAGE...]: what every verb needs, and these.
set_up() {
  local missing
  if ! command -v apt-get dpkg-query >/dev/null; then
    [[ -e $release ]] || say "no apt-get here: going on with the g++ >= 12 (or clang), cmake >= 3.25, ninja, oneDNN, Highway, fmt," \
      "CLI11, nlohmann-json, LAPACK, libmd, GoogleTest and Python headers that are installed"
    return
  fi
  mapfile -t missing < <(missing_packages "${packages[@]}" "$@")
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

# set_up_python: build/venv with what tools/python-requirements.txt lists, made from the python3 that is first in PATH.
set_up_python() {
  local wanted stamp=$venv/ready
  wanted=$(python3 -VV && command -v python3 && cat "$root/tools/python-requirements.txt")
  [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && return
  say "making build/venv for the Python module"
  rm -rf "$venv"
  quietly venv.log python3 -m venv "$venv"
  quietly pip.log "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$root/tools/python-requirements.txt"
  printf '%s\n' "$wanted" >"$stamp"
}
