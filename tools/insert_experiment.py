#!/usr/bin/env python3
"""The reference experiment: random keys inserted where every key page is read from the disk, with key filters at 1 % and at
0.01 % false positives. Prints what both cost and draws throughput against rows inserted.

usage: insert_experiment.py [--rows N] [--out FILE.svg] [--petalite PROGRAM]"""

import argparse
import json
import subprocess
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402: the backend is chosen before

ROOT = Path(__file__).resolve().parent.parent
FPPS = ["0.01", "0.0001"]


def run(arguments, fpp):
    command = [arguments.petalite, "bench", "insert", "--rows", arguments.rows, "--key-cache-bytes", "0",
               "--key-bloom-fpp", fpp, "--points", "60", "--json"]
    print("running", " ".join(str(part) for part in command), flush=True)
    records = json.loads(subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout)
    points = [(int(record["case"].split()[1]), record["value"]) for record in records if record["case"].startswith("row ")]
    totals = {record["metric"]: record["value"] for record in records if record["case"] == "total"}
    tenths = [record["value"] for record in records if record["case"].startswith("tenth ")]
    return points, totals, tenths


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000_000)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/figures/inserts.svg")
    parser.add_argument("--petalite", type=Path, default=ROOT / "build/release/petalite")
    arguments = parser.parse_args()
    results = {fpp: run(arguments, fpp) for fpp in FPPS}
    print("| key_bloom_fpp | rows/s | last tenth | key pages per 1,000 rows | FPP × probes | rowsets consulted | peak MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for fpp, (_, totals, tenths) in results.items():
        print(f"| {fpp} | {totals['rows_per_s']:,.0f} | {tenths[-1]:,.0f} | {totals['key_pages_per_1000_rows']:.3f} "
              f"| {totals['expected_key_pages_per_1000_rows']:.3f} | {totals['rowsets_consulted']:.0f} "
              f"| {totals['peak_rss'] / 1e6:,.0f} |")
    low, high = (results[fpp][1]["rows_per_s"] for fpp in FPPS)
    print(f"0.0001 inserts {high / low:.2f} times as fast as 0.01 over the whole run, "
          f"{results['0.0001'][2][-1] / results['0.01'][2][-1]:.2f} times in the last tenth")
    plt.rcParams["svg.hashsalt"] = "petalite"  # the same figures give the same file
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for fpp, (points, _, _) in results.items():
        axes.plot([rows / 1e6 for rows, _ in points], [rate / 1e6 for _, rate in points], label=f"key_bloom_fpp {fpp}")
    axes.set(xlabel="million rows inserted", ylabel="million rows/s", ylim=(0, None),
             title="Random inserts by key, every key page read from the disk")
    axes.grid(alpha=0.3)
    axes.legend()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
