#!/usr/bin/env python3
"""`./run demo`: Petalite on real input. Imports three million flights and asks what a person would ask, shows what the
file looks like, then runs TPC-H at scale factor 1 at every codec and the point lookups, with DuckDB beside it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PETALITE = str(ROOT / "build/release/petalite")
CACHE = Path(os.environ.get("PETALITE_CACHE", Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "petalite"))

QUESTIONS = [
    ("Which airports are the busiest?",
     "SELECT origin, count(*) AS flights FROM flights GROUP BY origin ORDER BY flights DESC LIMIT 5"),
    ("Where does one wait longest?",
     "SELECT origin, round(avg(delay), 1) AS mean_delay, count(*) AS flights FROM flights GROUP BY origin "
     "HAVING count(*) > 1000 ORDER BY mean_delay DESC LIMIT 5"),
    ("On which weekday is it best to fly?",
     "SELECT dayname(date) AS day, round(avg(delay), 2) AS mean_delay FROM flights GROUP BY day ORDER BY mean_delay"),
    ("The worst delays from Honolulu to Los Angeles",
     "SELECT date, delay FROM flights WHERE origin = 'HNL' AND destination = 'LAX' ORDER BY delay DESC LIMIT 3"),
]


def run(*arguments):
    print("$ petalite " + " ".join(f"'{a}'" if " " in a or "*" in a else a for a in arguments).replace(str(CACHE) + "/", ""),
          flush=True)
    subprocess.run([PETALITE, *arguments], check=True)
    print(flush=True)


def main():
    begin = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="petalite-demo-"))
    os.environ["PETALITE_CACHE"] = str(CACHE)
    try:
        os.chdir(folder)
        print("== Three million flights ==\n", flush=True)
        run("import", "flights.db", "flights", str(CACHE / "flights-3m.parquet"))
        for question, sql in QUESTIONS:
            print(question, flush=True)
            run("sql", "flights.db", sql)
        print("What the table looks like on disk, and its filters\n", flush=True)
        run("inspect", "flights.db", "flights")
        run("inspect", "flights.db", "flights", "--probe", "origin=XXX")
        print("== TPC-H, scale factor 1: every codec, DuckDB beside ==\n", flush=True)
        run("bench", "tpch", "--codecs", "uncompressed,lz4,snappy,zstd:1,zstd:3", "--runs", "3")
        print("== Point lookups, with and without Bloom filters ==\n", flush=True)
        run("bench", "lookup", "--runs", "20")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"The demo took {time.monotonic() - begin:.0f} s.")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
