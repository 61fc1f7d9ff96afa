# Sourced by ./dev: clang-format and clang-tidy over the sources.
# shellcheck shell=bash disable=SC2154  # root, build, release, venv: set by ./dev

cxx_sources() {
  local folder
  for folder in include src python tests bench examples; do
    [[ ! -d $root/$folder ]] || find "$root/$folder" \( -name '*.h' -o -name '*.cpp' \) -type f | sort
  done
}

# Another version of clang-format formats a little differently, so every machine uses 19: Debian's, else the wheel.
clang_format() {
  local tool
  tool=$(command -v clang-format-19 || true)
  if [[ ! $tool ]]; then
    tool=$build/venv-format/bin/clang-format
    if [[ ! -x $tool ]]; then
      say "installing clang-format 19 in build/venv-format"
      quietly venv.log python3 -m venv "$build/venv-format"
      quietly pip.log "$build/venv-format/bin/python" -m pip install -q --disable-pip-version-check clang-format==19.1.7
    fi
  fi
  cxx_sources | xargs -r -d '\n' "$tool" --style=file "$@"
}

check_format() {
  if ! clang_format --dry-run -Werror 2>"$build/format.log"; then
    sed -n "s|^$root/\([^:]*\):.* error: .*|\1: not as .clang-format says|p" "$build/format.log" | uniq
    echo "format: ./dev format repairs it"
    return 1
  fi
  echo "format: as .clang-format says"
}

run_clang_tidy() {
  local files=("$@")
  ((${#files[@]})) || mapfile -t files < <(cd "$root" && find src -name '*.cpp' ! -name '*_kernel.cpp' ! -path '*/pointwise/*' | sort)
  (cd "$root" && printf '%s\n' "${files[@]}" | xargs -d '\n' -n 4 -P "$(jobs_count)" clang-tidy-19 -p "$release" --quiet)
}
