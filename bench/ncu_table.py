"""The requested counters out of ncu's raw page, one line for each kernel.

Usage: ncu_table.py RAW_CSV SIZE METRIC,METRIC,... Lines of the input that start with # are kept.
"""
import csv
import sys

path, size, metrics = sys.argv[1:]
metrics = metrics.split(",")
with open(path) as file:
    lines = [line for line in file if not line.startswith("==")]
for line in lines:
    if line.startswith("#") and "exit code" not in line:
        print(line, end="")
rows = list(csv.reader(line for line in lines if line.startswith('"')))
header = next((row for row in rows if "Kernel Name" in row), None)
if header is None:
    sys.exit("ncu printed no table: " + "".join(lines[-3:]))
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["size", "kernel", *metrics])
for row in rows[rows.index(header) + 1 :]:
    cells = dict(zip(header, row))
    if cells["ID"]:  # the row below the header holds the units
        out.writerow([size, cells["Kernel Name"], *(cells[metric].replace(",", "") for metric in metrics)])
