"""Writes tests/data/parquet-testing/expected/*.json: what pyarrow reads of the corpus's flat columns.

Each file is {column: [type, values]}, in the form of petalite_dump_parquet, which says what the
types are; the values are pyarrow's alone.
"""

import json

import pyarrow.parquet as pq

from parquet_dump import REPOSITORY, DumpError, canonical, dump

CORPUS = REPOSITORY / "tests/data/parquet-testing"


def main():
    for path in sorted(CORPUS.glob("*.parquet")):
        try:
            readable, _ = dump(path)
        except DumpError:
            continue  # the tests name the files that cannot be read
        expected = {}
        for name, (type_, _) in readable.items():
            table = pq.read_table(path, columns=[name], coerce_int96_timestamp_unit="us", binary_type=None)
            expected[name] = [type_, canonical(type_, table[name])]
        text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
        (CORPUS / "expected" / f"{path.stem}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
