# Sourced by ./dev: configuring and compiling one of the build folders.
# shellcheck shell=bash disable=SC2154  # root, build, release, venv: set by ./dev

# A compiler process of this project stays under 1.5 GB.
jobs_count() {
  local cores fit
  cores=$(nproc)
  fit=$(awk '/^MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo 2>/dev/null || echo "$cores")
  ((fit > 0)) || fit=1
  echo "${DYADIC_JOBS:-$((fit < cores ? fit : cores))}"
}

# configure FOLDER OPTION...: runs CMake when the folder is new or the options have changed; Ninja does it for the rest.
# The compiler by the name Python has for it, which pip's build takes: ccache knows objects by that name, too.
configure() {
  local dir=$1 stamp=$1/configured compiler
  compiler=${CXX:-$(python3 -c 'import shutil, sysconfig; print(shutil.which(sysconfig.get_config_var("CXX").split()[0]) or "")')}
  shift
  set -- "$@" ${compiler:+"-DCMAKE_CXX_COMPILER=$compiler"}
  [[ -f $dir/build.ninja && -f $stamp && $(<"$stamp") == "$*" ]] && return
  say "configuring ${dir#"$root/"}"
  quietly cmake.log cmake --fresh -S "$root" -B "$dir" -G Ninja "$@"
  printf '%s\n' "$*" >"$stamp"
}

# find_nvcc: where it is; fails where it is not.
find_nvcc() {
  local place
  for place in "$(command -v nvcc)" "${CUDA_HOME:-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
    [[ ! -x $place ]] || { echo "$place" && return; }
  done
  return 1
}

# Kernels of this machine's instruction set alone take a third of the time, and are what studies and benchmarks run; the tests want
# all of them. Once those are there the release build keeps them; once build/venv is there, the Python module, once --cuda has been
# asked for, the plug-in for GPUs: verbs in turn do not reconfigure it.
configure_release() {
  local options=(-DCMAKE_BUILD_TYPE=Release) nvcc
  [[ -f $build/portable ]] || options+=(-DDYADIC_ISAS=native -DDYADIC_TESTS=OFF)
  [[ ! -f $venv/ready ]] || options+=(-DDYADIC_PYTHON=ON -DPython_EXECUTABLE="$venv/bin/python")
  [[ ! -f $build/with-cuda ]] || ! nvcc=$(find_nvcc) || options+=(-DDYADIC_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc")
  configure "$release" "${options[@]}"
}

configure_portable() { touch "$build/portable" && configure_release; }

# Of the machine's own instruction set: all of them would take twice as long, to compile and to run.
configure_sanitized() {
  local options=(-DCMAKE_BUILD_TYPE=Release -DDYADIC_ISAS=native)
  case $1 in
  asan) configure "$build/asan" "${options[@]}" -DDYADIC_SANITIZE=address,undefined ;;
  tsan) configure "$build/tsan" "${options[@]}" -DDYADIC_SANITIZE=thread -DDYADIC_THREADS=std ;;
  esac
}

# has_target NAME: after CMake has looked again, where it did not know the target: packages may be new here.
has_target() {
  [[ $(ninja -C "$release" -t targets all) == *$'\n'$1:* ]] || quietly cmake.log cmake "$release"
  [[ $(ninja -C "$release" -t targets all) == *$'\n'$1:* ]]
}

# Ninja's output boiled down: all of the compiler's messages, but one line per tenth of the work (a counter on a terminal).
show_progress() {
  local line tenth last=0
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]]; then
      if [[ -t 2 ]]; then
        printf '\r\033[K[%s/%s] %.70s' "${BASH_REMATCH[@]:1:3}" >&2
      else
        tenth=$((BASH_REMATCH[2] < 10 ? 0 : BASH_REMATCH[1] * 10 / BASH_REMATCH[2]))
        ((tenth <= last)) || say "built ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
        last=$tenth
      fi
    elif [[ $line != "ninja: "@(no work|Entering)* && $line != "-- "* ]]; then
      printf '%s\n' "$line" >&2
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# compile FOLDER [TARGET...]: all targets when none is named.
compile() {
  local dir=$1
  shift
  ninja -C "$dir" -j "$(jobs_count)" "$@" | show_progress || die "the build in ${dir#"$root/"} failed"
}
