#!/usr/bin/env python3
"""The tuned table of grouped products from what `warpwright bench --suite all --against deepgemm --every-plan --json`
measured: the fastest plan of every shape, beside what the library would have chosen.

Usage: tuned_from_bench.py BENCH.json... > data/tuned/nvidia-h200-grouped.tsv        later files win
"""
import json
import sys

HEAD = ("# warpwright tuned table of grouped products, format 1\n# device\t{device}\n# multiprocessors\t{multiprocessors}\n"
        "# toolkit\t{toolkit}\nop\tdtype\tout\tgroups\tm\tn\tk\tplan\tus\tmodel_us")


def main():
    rows, head = {}, {}
    for path in sys.argv[1:]:
        with open(path) as file:
            document = json.load(file)
        head = {fact: document[fact] for fact in ("device", "multiprocessors", "toolkit")}
        for row in document["rows"]:
            if not row["counts"]:
                continue
            out = "fp32" if row["op"] == "grouped_k" else "bf16"
            key = (row["op"], row["dtype"], out, row["groups"], row["m"], row["n"], row["k"])
            # Both were measured against one peer in one rotation.
            model = row["us"] * row["ratio"] / row.get("paired", {}).get(row["chosen"], row["ratio"])
            rows[key] = (row["plan"], f'{row["us"]:.3f}', f"{model:.3f}")
    print(HEAD.format(**head))
    for key, values in rows.items():
        print(*key, *values, sep="\t")


if __name__ == "__main__":
    main()
