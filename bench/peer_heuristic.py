"""Which of cuBLASLt's heuristics a recorded benchmark found fastest. Usage: peer_heuristic.py BENCH_JSON MxNxK"""
import json
import sys

path, size = sys.argv[1:]
try:
    with open(path) as file:
        rows = json.load(file)["rows"]
except OSError:
    rows = []
wanted = [int(x) for x in size.split("x")]
print(next((row["peer_heuristic"] for row in rows if [row["m"], row["n"], row["k"]] == wanted), 0))
