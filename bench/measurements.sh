#!/usr/bin/env bash
# The measurements that pages and figures are made of, on a Hopper GPU, in parts that fit calls of a few minutes: what a file
# in FOLDER has is not measured again, so the same line is run until it says that nothing is left.
# Usage: measurements.sh BUILD_FOLDER FOLDER [STEP...]     BUILD_FOLDER has bin/ and lib/
# WARPWRIGHT_SECONDS: seconds after which no part is begun (default 500). WARPWRIGHT_DRAW: the first seed of random problems
# (default 31000; take one that nothing was fitted to). WARPWRIGHT_ROUNDS: rounds of bursts (default 4).
# measurements.sh --list says what the steps are.
# Exit 0 when all asked for is there, 1 when a part failed, 4 when time ran out.
# shellcheck disable=SC2317  # steps are called by their names
set -uo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

# name | what is measured
steps() {
  cat <<'END'
random    | 80 random dense bf16 products, one of four with odd extents, the library's choice against cuBLASLt (bench-random-*.json)
fp8       | 30 random dense e4m3 products against cuBLASLt (bench-fp8-*.json)
regret    | 100 random dense products, the choice beside the fastest plans (regret-*.json)
groups    | 40 random blockwise and grouped products against DeepGEMM, where it is installed (bench-random-groups-*.json)
regret_of | the same operations, 10 of each: the choice beside the fastest plans (regret-OP-*.json)
suite     | the dense rows of bench/shapes.tsv (bench-suite-*.json)
deepgemm  | blockwise and grouped rows of bench/shapes.tsv against DeepGEMM, where it is installed (bench-groups-*.json)
chain     | the linears of Llama-3-8B against torch, at 17 numbers of rows, plain and fused (llama-chain.json)
host      | what a warm call costs the host, beside torch (host-cost.txt)
moe       | layers of experts against torch's ops, and against their two products alone (moe-layer.json)
decode    | 8 layers of Llama-3-8B and of Qwen3-8B, decoding and prefill, converted or not (language-model.json)
experts   | 4 layers of Mixtral and of Qwen3-30B-A3B, the same (language-model-experts.json)
END
}

if [[ ${1:-} == --list ]]; then
  steps
  exit 0
fi
if (($# < 2)); then
  sed -n '2,8s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
build=$(cd -- "$1" && pwd)
bin=$build/bin
tool=$bin/warpwright-tool
mkdir -p "$2"
folder=$(cd -- "$2" && pwd)
shift 2
(($#)) || mapfile -t names < <(steps | awk '{ print $1 }')
(($#)) && names=("$@")
. "$root/tests/gpu/steps.sh"
cd "$root" || exit
until=$((SECONDS + ${WARPWRIGHT_SECONDS:-500}))
draw=${WARPWRIGHT_DRAW:-31000}
rounds=${WARPWRIGHT_ROUNDS:-4}
status=0

left() { echo $((until - SECONDS)); }
# Whether there is time for a part; the reason is given once.
begins() {
  (($(left) >= 30)) && return
  [[ $status == 4 ]] || echo "time is up: run it again"
  [[ $status == 1 ]] || status=4
  return 1
}

# document FILE COMMAND...: what a command of the tool prints with --json, with its words and the date in front. A file that is
# there is left alone; one that a command did not finish never appears.
document() {
  local file=$folder/$1
  shift
  [[ -s $file ]] && return
  begins || return
  local began=$SECONDS
  timeout --kill-after=20 $(($(left) + 60)) "$@" >"$file.raw" 2>"$file.err"
  local code=$?
  if python3 - "$file.raw" "$file" "$(date -u +%Y-%m-%d)" "${*//"$root/"/}" 2>>"$file.err" <<'PY'; then
import json, sys
raw, out, day, command = sys.argv[1:]
document = json.load(open(raw))
if "error" in document:
    sys.exit(document["error"] if isinstance(document["error"], str) else document["error"]["message"])
rows = document.pop("rows", [])
head = json.dumps({"command": command, "date": day, **document}, indent=1)
open(out, "w").write(head[:-2] + ',\n "rows": [\n' + ",\n".join("  " + json.dumps(row) for row in rows) + "\n ]\n}\n")
PY
    printf '%-28s %4d s, exit code %d\n' "${file##*/}" $((SECONDS - began)) "$code"
    rm -f "$file.raw" "$file.err"
  else
    printf '%-28s no document: exit code %d, %s\n' "${file##*/}" "$code" "$(tail -n 1 "$file.err")"
    status=1
  fi
}

# program FILE COMMAND...: a program that keeps the rows of FILE by itself, and is given the seconds that are left.
program() {
  local file=$folder/$1 code
  shift
  begins || return
  timeout --kill-after=20 $(($(left) + 60)) python3 "$@" "$file" --max-seconds "$(left)" >"$file.log" 2>&1
  code=$?
  printf '%-28s exit code %d, %d rows\n' "${file##*/}" "$code" "$(grep -c '"us":' "$file" 2>/dev/null)"
  tail -n 3 "$file.log"
  ((code == 0)) || status=1
  (($(left) > 0)) || begins
}

# random_parts NAME PARTS COUNT COMMAND...: each part has a seed of its own.
random_parts() {
  local name=$1 parts=$2 count=$3 i
  shift 3
  for ((i = 1; i <= parts; ++i)); do
    document "$name-$((draw + i)).json" "$@" --random "$count" --draw $((draw + i)) --json
  done
}

# The rows of a file of shapes whose operations match, this many at a time, as files of their own.
shapes_of() {  # operations (a regular expression), rows
  local parts=$folder/shapes
  mkdir -p "$parts"
  awk -F '\t' -v ops="^($1)\$" -v each="$2" -v to="$parts/${1//[^a-z_]/-}" '
    NR == 1 { head = $0; next }
    $1 ~ ops { file = sprintf("%s-%02d.tsv", to, int(n / each)); if (n % each == 0) print head >file; print >file; ++n }
  ' <(grep -v '^#' bench/shapes.tsv)
  ls "$parts/${1//[^a-z_]/-}"-*.tsv
}

protocol=(--mode sustained --rounds "$rounds" --burst 0.25 --finalists 1)
step_random() { random_parts bench-random 8 10 "$tool" bench "${protocol[@]}"; }
step_fp8() { random_parts bench-fp8 3 10 "$tool" bench --dtype e4m3 "${protocol[@]}"; }
step_regret() { random_parts regret 10 10 "$tool" tune --regret --ahead-only --rounds "$rounds" --burst 0.1; }
step_groups() {
  random_parts bench-random-groups 4 10 "$tool" bench --suite all --against deepgemm --rounds "$rounds" --burst 0.1
}
step_regret_of() {
  local op
  for op in blockwise grouped_contiguous grouped_masked grouped_k; do
    random_parts "regret-$op" 1 10 "$tool" tune --op "$op" --regret --rounds "$rounds" --burst 0.1
  done
}
step_suite() {
  for part in $(shapes_of dense 9); do
    document "bench-suite-$(basename "$part" .tsv).json" "$tool" bench --shapes "$part" --mode both --rounds "$rounds" --burst 0.15 \
      --finalists 1 --json
  done
}
step_deepgemm() {
  for part in $(shapes_of 'blockwise|grouped.*' 8); do
    document "bench-groups-$(basename "$part" .tsv).json" "$tool" bench --suite all --against deepgemm --shapes "$part" \
      --rounds "$rounds" --burst 0.1 --json
  done
}
step_chain() { program llama-chain.json bench/llama_chain.py --rounds "$rounds"; }
step_moe() { program moe-layer.json bench/moe_layer.py --rounds "$rounds"; }
step_decode() { program language-model.json bench/language_model.py --models llama-3-8b,qwen3-8b --rounds "$rounds"; }
step_experts() { program language-model-experts.json bench/language_model.py --models mixtral-8x7b,qwen3-30b-a3b --layers 4 --rounds "$rounds"; }
step_host() {
  local file=$folder/host-cost.txt
  [[ -s $file ]] && passed "$file" && return
  begins || return
  recorded "$file" 120 python3 bench/host_cost.py
  grep -v '^#' "$file"
  passed "$file" || status=1
}

for name in "${names[@]}"; do
  declare -F "step_$name" >/dev/null && continue
  echo "there is no step $name" >&2
  exit 2
done
for name in "${names[@]}"; do
  echo "== $name"
  "step_$name"
done
exit $status
