# Sourced by ./dev: clang-format and clang-tidy over the C++ sources, ruff over the Python ones.
# shellcheck shell=bash disable=SC2154  # root, build, release, venv: set by ./dev

cxx_sources() {
  local folder
  for folder in include src plugins python tests bench examples; do
    [[ ! -d $root/$folder ]] || find "$root/$folder" \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -type f | sort
  done
}

# A tool of build/venv-format, made with the first: tool NAME VERSION says where it is.
style_tool() {
  local tool=$build/venv-format/bin/$1
  if [[ ! -x $tool ]]; then
    say "installing $1 $2 in build/venv-format" >&2
    [[ -d $build/venv-format ]] || quietly venv.log python3 -m venv "$build/venv-format" >&2
    quietly pip.log "$build/venv-format/bin/python" -m pip install -q --disable-pip-version-check "$1==$2" >&2
  fi
  echo "$tool"
}

# Another version of clang-format formats a little differently, so every machine uses 19: Debian's, else the wheel.
clang_format() {
  local tool
  tool=$(command -v clang-format-19) || tool=$(style_tool clang-format 19.1.7)
  cxx_sources | xargs -r -d '\n' "$tool" --style=file "$@"
}

# Names that are not defined, defined twice or never used: what pyproject.toml selects.
check_python() {
  "$(style_tool ruff 0.17.6)" check --quiet --output-format concise "$root/python" "$root/tests" "$root/tools" "$root/bench" "$root/examples"
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
