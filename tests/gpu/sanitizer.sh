#!/usr/bin/env bash
# compute-sanitizer over one small launch of an instance of each family and form: those that the lists of the catalogue
# mark with COVER or BUILT_IN.
# Usage: sanitizer.sh TEST_PROGRAM LOG_FOLDER [TOOL ...]     TEST_PROGRAM is bin/test_gpu_examples
# Writes one log per tool and sanitizer.txt, a table of what each tool reports for each instance; exit 0 when every tool
# reports nothing, 1 otherwise, 3 when the sanitizer is not installed.
set -uo pipefail
program=$1
logs=$2
shift 2
tools=("$@")
[ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck synccheck initcheck)
command -v compute-sanitizer >/dev/null || PATH=$PATH:/usr/local/cuda/bin
if ! command -v compute-sanitizer >/dev/null; then
  echo "compute-sanitizer was not found; install the CUDA toolkit." >&2
  exit 3
fi
mkdir -p "$logs"
status=0
lists=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../src/catalog" && pwd)
# "sm90/dense-64x64-c1-s4/bf16-nt" is sm90_dense_64x64_c1_s4_bf16_nt in the name of a test.
filter=--gtest_filter=$(cat "$lists"/*.def | sed -n -E 's/^(COVER|BUILT_IN)\("([^"]+)"\)$/\2/p' |
  sed -E 's/[^A-Za-z0-9]/_/g; s/^/*one_small_shape\//' | paste -sd:)
for tool in "${tools[@]}"; do
  log=$logs/sanitizer-$tool.txt
  # All reports, since the table counts them.
  options=(--tool "$tool" --error-exitcode 9 --print-limit 0 --show-backtrace no)
  {
    printf '# compute-sanitizer %s %s %s\n' "${options[*]}" "$(basename "$program")" "--gtest_filter=*one_small_shape*, COVER"
    printf '# %s, %s\n' "$(date -u +%Y-%m-%d)" "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)"
    compute-sanitizer "${options[@]}" "$program" "$filter" 2>&1
    printf '# exit code %d\n' $?
  } >"$log"
  closing=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1)
  echo "$tool: ${closing:-no summary}"
  # A filter that matches nothing would be as clean as a right program.
  grep -q '\[  PASSED  \] [1-9]' "$log" && grep -q '^# exit code 0$' "$log" || status=1
done

# A report begins with a line of its own; what belongs to it is indented.
{
  printf '# reports of compute-sanitizer for one launch of each instance\n%s\n' "$(sed -n 2p "$logs/sanitizer-${tools[0]}.txt")"
  for tool in "${tools[@]}"; do
    awk -v tool="$tool" '
      /^\[ RUN / { name = $NF; sub(/.*\//, "", name); count[name] = 0; order[++n] = name }
      /^\[       OK / { ended[name] = 1 }
      /^========= [A-Z]/ && !/COMPUTE-SANITIZER|SUMMARY/ { if (name != "") ++count[name] }
      END { for (i = 1; i <= n; ++i) print order[i], tool, (ended[order[i]] ? count[order[i]] : "failed") }
    ' "$logs/sanitizer-$tool.txt"
  done | awk '
    !($1 in seen) { seen[$1] = 1; rows[++r] = $1 }
    !($2 in heads) { heads[$2] = 1; columns[++c] = $2 }
    { cell[$1, $2] = $3 }
    END {
      printf "%-84s", "instance"
      for (j = 1; j <= c; ++j) printf "%11s", columns[j]
      for (i = 1; i <= r; ++i) {
        printf "\n%-84s", rows[i]
        for (j = 1; j <= c; ++j) printf "%11s", cell[rows[i], columns[j]]
      }
      print ""
    }'
} | tee "$logs/sanitizer.txt"

# Reports repeat thousands of times: the log keeps the first few of each instance.
for tool in "${tools[@]}"; do
  awk '
    /^\[ RUN / { count = 0 }
    /^========= [A-Z]/ && !/COMPUTE-SANITIZER|SUMMARY/ { ++count }
    /^=========/ && !/SUMMARY/ && count > 4 { next }
    { print }
  ' "$logs/sanitizer-$tool.txt" >"$logs/shortened" && mv "$logs/shortened" "$logs/sanitizer-$tool.txt"
done
exit $status
