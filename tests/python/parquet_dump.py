"""Runs petalite_dump_parquet, and brings what pyarrow reads into the same form."""

import json
import math
import os
import struct
import subprocess
from decimal import Context, Decimal
from pathlib import Path

import pyarrow as pa

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("PETALITE_BUILD", "build/release")
EXACT = Context(prec=80)
DUMP = BUILD / "tests/parquet/petalite_dump_parquet"


class DumpError(Exception):
    pass


def dump(path):
    """The readable columns of a file: {name: (type, [values])}, and the unreadable ones: {name: why}."""
    done = subprocess.run([DUMP, path], capture_output=True, text=True)
    if done.returncode != 0:
        raise DumpError(done.stderr.strip())
    lines = done.stdout.split("\n")
    columns = json.loads(lines[0])
    readable = [c for c in columns if not c["support"]]
    values = [json.loads(line) for line in lines[1 : 1 + len(readable)]]
    types = {c["name"]: c["type"] for c in readable}
    return (
        {name: (type_, v) for (name, type_), v in zip(types.items(), values)},
        {c["name"]: c["support"] for c in columns if c["support"]},
    )


def _float_text(value):
    return "nan" if math.isnan(value) else struct.pack(">d", value).hex()


def _interval(raw):
    months, days, millis = struct.unpack("<III", raw)
    return [months, days, millis * 1000]


def _numbers(array, arrow_type, storage):
    """Whole numbers of a temporal array in the unit that Petalite delivers."""
    return array.cast(arrow_type, safe=False).cast(storage).to_pylist()


def canonical(type_, array):
    """A pyarrow array as petalite_dump_parquet prints a column of `type_`."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if type_ == "date":
        return _numbers(array, pa.date32(), pa.int32())
    if type_ == "time":
        return _numbers(array, pa.time64("us"), pa.int64())
    if type_.startswith("timestamp"):
        unit = type_[type_.index("(") + 1 : -1]
        return _numbers(array, pa.timestamp(unit, array.type.tz), pa.int64())
    convert = {
        "bool": int,
        "float": _float_text,
        "double": _float_text,
        "binary": bytes.hex,
        "uuid": bytes.hex,
        "interval": _interval,
    }.get(type_, lambda value: value)
    if type_.startswith("decimal"):
        scale = int(type_[type_.index(",") + 1 : -1])
        convert = lambda value: int(value.scaleb(scale, EXACT)) if isinstance(value, Decimal) else value
    return [None if value is None else convert(value) for value in array.to_pylist()]
