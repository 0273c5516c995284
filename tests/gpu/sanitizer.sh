#!/usr/bin/env bash
# compute-sanitizer over one small launch of every example. Usage: sanitizer.sh TEST_PROGRAM LOG_FOLDER
# Writes one log per tool; exit 0 when each ends with 0 errors, 1 otherwise, 3 when the sanitizer is not installed.
set -uo pipefail
program=$1
logs=$2
command -v compute-sanitizer >/dev/null || PATH=$PATH:/usr/local/cuda/bin
if ! command -v compute-sanitizer >/dev/null; then
  echo "compute-sanitizer was not found; install the CUDA toolkit." >&2
  exit 3
fi
mkdir -p "$logs"
status=0
for tool in memcheck racecheck synccheck; do
  log=$logs/sanitizer-$tool.txt
  command=(compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" "--gtest_filter=*one_small_shape*")
  {
    printf '# %s\n' "${command[*]}"
    printf '# %s, %s\n' "$(date -u +%Y-%m-%d)" "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)"
    "${command[@]}" 2>&1
    printf '# exit code %d\n' $?
  } >"$log"
  closing=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1)
  echo "$tool: ${closing:-no summary}"
  # A filter that matches nothing would be as clean as a right program.
  grep -q '\[  PASSED  \] [1-9]' "$log" && grep -q '^# exit code 0$' "$log" || status=1
done
exit $status
