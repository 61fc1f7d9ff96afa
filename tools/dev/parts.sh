# Sourced by ./dev and .ci/run: runs the parts of a longer job one after the other, then says how each went.
# shellcheck shell=bash
parts_report=()
parts_failed=0

# part NAME COMMAND...: runs COMMAND; a failure is remembered and the next parts still run.
part() {
  local name=$1 begin=$SECONDS verdict=passed
  shift
  "$@" || { verdict=FAILED && parts_failed=$((parts_failed + 1)); }
  parts_report+=("$(printf '%-40s %s  %3d s' "$name" "$verdict" $((SECONDS - begin)))")
}

# parts_summary TITLE: the last lines of the job; fails when a part did.
parts_summary() {
  printf '\n%s:\n' "$1"
  printf '  %s\n' "${parts_report[@]}"
  if ((parts_failed)); then
    printf '%s of %s failed\n' "$parts_failed" "${#parts_report[@]}"
    return 1
  fi
  printf 'all passed\n'
}
