#!/usr/bin/env bash
# Makes the tests, counters and sanitizer reports of docs/evidence; docs/evidence/README.md says what makes the others.
# FOLDER also gets bench-dense.json (two products, from which ncu takes its peer) and a log of each tool of the sanitizer.
# Usage: evidence.sh TOOL GPU_TEST_PROGRAM FOLDER [STEP...]; steps: tests bench ncu sanitizer (default: all)
set -uo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
tool=$1 tests=$2 folder=$3
shift 3
(($#)) || set -- tests bench ncu sanitizer
mkdir -p "$folder"
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader) || exit 3
day=$(date -u +%Y-%m-%d)
sizes=4096x4096x4096,8192x8192x8192
status=0

# Runs a command with its own words, the date and the device above its output.
recorded() {
  local file=$1
  shift
  {
    printf '# %s\n# %s, %s\n' "$*" "$day" "$gpu"
    timeout 200 "$@" 2>&1
    printf '# exit code %d\n' $?
  } >"$file"
  grep -q '^# exit code 0$' "$file" || status=1
}

step_tests() { "$here/../tests/gpu/all.sh" "$(dirname -- "$tests")" "$folder" || status=1; }

step_bench() {
  local command=("$tool" bench --suite dense --against cublaslt --sizes "$sizes" --json)
  timeout 200 "${command[@]}" >"$folder/bench.raw" || status=1
  python3 - "$folder/bench.raw" "$folder/bench-dense.json" "$day" "${command[*]}" <<'PY'
import json, sys
raw, out, day, command = sys.argv[1:]
document = json.load(open(raw))
rows = document.pop("rows")
head = json.dumps({"command": command, "date": day, **document}, indent=1)
body = ",\n".join("  " + json.dumps(row) for row in rows)
open(out, "w").write(head[:-2] + ',\n "rows": [\n' + body + "\n ]\n}\n")
shown = ("m", "mode", "us", "peer_us", "ratio", "ratio_lo", "ratio_hi", "tflops", "plan", "peer_heuristic")
for row in rows:
    print(*(f"{key}={row[key]}" for key in shown))
PY
  rm -f "$folder/bench.raw"
}

step_ncu() {
  local metrics=sm__cycles_active.avg,sm__cycles_active.max,gpu__time_duration.sum,lts__t_sectors_op_read.sum
  metrics+=,lts__t_sectors_op_write.sum,lts__t_sectors_op_membar.sum,dram__bytes_read.sum,dram__bytes_write.sum
  metrics+=,smsp__inst_executed.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,smsp__inst_executed_pipe_tensor.sum
  local size heuristic
  : >"$folder/ncu.csv"
  for size in ${sizes//,/ }; do
    heuristic=$(python3 "$here/peer_heuristic.py" "$folder/bench-dense.json" "$size")
    local command=(ncu --clock-control none --profile-from-start off --csv --page raw --print-units base --metrics
      "$metrics" "$tool" bench --profile --sizes "$size" --peer-heuristic "$heuristic")
    recorded "$folder/ncu.part" "${command[@]}"
    python3 "$here/ncu_table.py" "$folder/ncu.part" "$size" "$metrics" >>"$folder/ncu.csv" || status=1
    rm -f "$folder/ncu.part"
  done
  cat "$folder/ncu.csv"
}

step_sanitizer() { "$here/../tests/gpu/sanitizer.sh" "$tests" "$folder" || status=1; }

for step in "$@"; do
  echo "== $step"
  "step_$step"
done
exit $status
