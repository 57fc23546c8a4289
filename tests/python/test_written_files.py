"""What Petalite writes, other engines must read: all values, statistics, page index and filters.

petalite_write_sample (from the build folder PETALITE_BUILD, default build/release) writes the files
and the values that must be found in them. PETALITE_TEST_SEED repeats a run.
"""

import decimal
import json
import os
import pathlib
import random
import struct
import subprocess

# Polars has no type for Parquet's INTERVAL, and without this gives up on a file that has one.
os.environ["POLARS_IMPORT_INTERVAL_AS_STRUCT"] = "1"

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("PETALITE_TEST_SEED", random.randrange(2**32)))
CASES = [
    "auto_uncompressed",
    "auto_lz4",
    "auto_snappy",
    "auto_zstd",
    "plain_lz4",
    "dictionary_zstd",
    "delta_lz4",
    "delta_uncompressed",
]
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
ESCAPED = set(range(0x20)) | set(range(0x7F, 0x100)) | set(b"'\"\\")  # in the text form of a BLOB
CODECS = {"uncompressed": "UNCOMPRESSED", "lz4": "LZ4", "snappy": "SNAPPY", "zstd": "ZSTD"}


class Column:
    def __init__(self, line):
        fields = json.loads(line)
        self.name = fields["name"]
        self.type = fields["type"]
        self.required = fields["required"]
        self.values = fields["values"]
        if self.is_floating:  # NaNs need not keep their bits
            self.values = [None if v is None else float_key(float_of(v)) for v in self.values]

    @property
    def base(self):
        return self.type.split("(")[0]

    @property
    def is_floating(self):
        return self.base in ("float", "double")

    @property
    def is_text(self):
        return self.base in ("string", "binary", "json")

    def unit(self):
        return UNITS[self.type[self.type.index("(") + 1 : -1]]


def float_of(hex_bits):
    return struct.unpack(">d", bytes.fromhex(hex_bits))[0]


def float_key(value):
    return "nan" if value != value else struct.pack(">d", value).hex()


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    print(f"repeat with PETALITE_TEST_SEED={SEED}")
    directory = tmp_path_factory.mktemp("sample")
    build = REPOSITORY / os.environ.get("PETALITE_BUILD", "build/release")
    subprocess.run([build / "tests" / "petalite_write_sample", directory, str(SEED)], check=True)
    return directory


@pytest.fixture(scope="session")
def columns(sample):
    return [Column(line) for line in (sample / "expected.jsonl").read_text().splitlines()]


def scaled(number, from_unit, to_unit):
    """A timestamp in a coarser unit, where that loses nothing."""
    if number is None:
        return None
    if from_unit <= to_unit:
        return number * 10 ** (to_unit - from_unit)
    assert number % 10 ** (from_unit - to_unit) == 0
    return number // 10 ** (from_unit - to_unit)


def interval_of(value):
    """[months, days, microseconds] of what an engine makes of an INTERVAL."""
    if isinstance(value, bytes):
        months, days, millis = struct.unpack("<III", value)
        return [months, days, millis * 1000]
    return [value.months, value.days, value.nanoseconds // 1000]


def canonical(column, array):
    """An Arrow column in the form that expected.jsonl has."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    base, arrow = column.base, array.type
    if base == "date":
        if not pa.types.is_date32(arrow):
            array = array.cast(pa.date32())
        return array.cast(pa.int32()).to_pylist()
    if base == "time":
        unit = UNITS[arrow.unit]
        return [scaled(v, unit, 6) for v in array.cast(pa.int64()).to_pylist()]
    if base in ("timestamp", "timestamptz"):
        assert (arrow.tz is not None) == (base == "timestamptz")
        return [scaled(v, UNITS[arrow.unit], column.unit()) for v in array.cast(pa.int64()).to_pylist()]
    values = array.to_pylist()
    if base == "decimal":
        with decimal.localcontext() as context:
            context.prec = 60
            scale = int(column.type[:-1].split(",")[1])
            return [None if v is None else str(int(v.scaleb(scale))) for v in values]
    if column.is_floating:
        return [None if v is None else float_key(v) for v in values]
    if column.is_text:
        return [None if v is None else (v.encode() if isinstance(v, str) else v).hex() for v in values]
    if base == "uuid":
        return [None if v is None else v if isinstance(v, str) else str_of_uuid(v) for v in values]
    if base == "interval":
        return [None if v is None else interval_of(v) for v in values]
    if base == "bool":
        return [None if v is None else int(v) for v in values]
    return values


def str_of_uuid(value):
    text = value.hex()
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def assert_same(column, array):
    found = canonical(column, array)
    if found != column.values:
        row = next(i for i, (a, b) in enumerate(zip(found, column.values)) if a != b)
        pytest.fail(f"{column.name}, row {row}: {found[row]!r} instead of {column.values[row]!r}")


def file_of(sample, case):
    return str(sample / f"{case}.parquet")


@pytest.mark.parametrize("case", CASES)
def test_pyarrow_reads_all_values_and_checks_crcs(sample, columns, case):
    table = pq.read_table(file_of(sample, case), page_checksum_verification=True)
    assert table.column_names == [column.name for column in columns]
    for column in columns:
        assert_same(column, table.column(column.name))
        assert table.schema.field(column.name).nullable != column.required


@pytest.mark.parametrize("case", CASES)
def test_duckdb_reads_all_values(sample, columns, case):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    table = connection.sql(f"SELECT * FROM read_parquet('{file_of(sample, case)}')").to_arrow_table()
    for column in columns:
        assert_same(column, table.column(column.name))


@pytest.mark.parametrize("case", CASES)
def test_polars_reads_all_values(sample, columns, case):
    readable = [column for column in columns if column.base != "interval"]
    arrow = polars.read_parquet(file_of(sample, case), columns=[c.name for c in readable]).to_arrow()
    for column in readable:
        assert_same(column, arrow.column(column.name))


def key_of(column, value):
    if column.is_floating:
        return float_of(value) if value != "nan" else None
    if column.is_text:
        return bytes.fromhex(value)
    if column.base == "decimal":
        return int(value)
    return tuple(value) if column.base == "interval" else value


@pytest.mark.parametrize("case", CASES)
def test_statistics_are_those_of_the_values(sample, columns, case):
    path = file_of(sample, case)
    metadata = pq.ParquetFile(path).metadata
    assert metadata.created_by.startswith("petalite version 0.1.0 (build ")
    query = f"SELECT row_group_id, column_id, min_is_exact AND max_is_exact FROM parquet_metadata('{path}')"
    exact = {(g, c): is_exact for g, c, is_exact in duckdb.sql(query).fetchall()}
    first = 0
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        for c, column in enumerate(columns):
            chunk = group.column(c)
            values = column.values[first : first + group.num_rows]
            present = [key_of(column, v) for v in values if v is not None]
            statistics = chunk.statistics
            assert chunk.physical_type != "INT96" and chunk.num_values == group.num_rows
            assert statistics.null_count == values.count(None), column.name
            keys = [k for k in present if k is not None]
            comparable = column.base not in ("interval", "uuid")
            assert statistics.has_min_max == bool(keys) or not comparable, column.name
            if statistics.has_distinct_count:
                assert statistics.distinct_count == len(set(present)), column.name
            if comparable and keys:
                check_bounds(column, statistics, keys, exact[g, c])
        first += group.num_rows
    assert first == metadata.num_rows == len(columns[0].values)


def check_bounds(column, statistics, keys, exact):
    # Raw: pyarrow's conversion of dates and times to Python's types cannot hold every value.
    low, high = (raw_bound(column, bound) for bound in (statistics.min_raw, statistics.max_raw))
    assert exact or column.is_text or column.is_floating
    if exact:
        assert (low, high) == (min(keys), max(keys)), column.name
    else:
        assert low <= min(keys) and high >= max(keys), column.name
    if column.is_floating:
        assert not (low == 0 and str(low) == "0.0") and str(high) != "-0.0"


def raw_bound(column, value):
    if column.is_text:
        return value.encode() if isinstance(value, str) else value
    if column.base == "decimal" and isinstance(value, bytes):
        return int.from_bytes(value, "big", signed=True)
    if column.type == "timestamp(s)":
        return value // 1000
    if column.base in ("uint32", "uint64"):
        return value % 2 ** int(column.base[4:])
    return int(value) if isinstance(value, bool) else value


@pytest.mark.parametrize("case", CASES)
def test_pages_and_indexes_are_there(sample, columns, case):
    metadata = pq.ParquetFile(file_of(sample, case)).metadata
    codec = CODECS[case.split("_")[1]]
    for g in range(metadata.num_row_groups):
        for c, column in enumerate(columns):
            chunk = metadata.row_group(g).column(c)
            assert chunk.compression == codec
            assert chunk.has_offset_index
            if column.base == "interval":
                has_values = any(v is not None for v in column.values[g * 1024 : (g + 1) * 1024])
                assert chunk.has_column_index != has_values
            elif not column.is_floating:
                assert chunk.has_column_index, column.name


def test_encodings_are_the_chosen_ones(sample, columns):
    def encodings(case, name):
        metadata = pq.ParquetFile(file_of(sample, case)).metadata
        return metadata.row_group(0).column([c.name for c in columns].index(name)).encodings

    assert "RLE_DICTIONARY" in encodings("auto_lz4", "string few")
    assert "DELTA_BINARY_PACKED" in encodings("auto_lz4", "int64 rising")
    assert "PLAIN" in encodings("auto_lz4", "double mixed")
    assert "RLE" in encodings("auto_lz4", "bool mixed")
    assert set(encodings("plain_lz4", "string few")) == {"PLAIN", "RLE"}
    assert "RLE_DICTIONARY" in encodings("dictionary_zstd", "double mixed")
    assert "DELTA_BINARY_PACKED" in encodings("delta_lz4", "int32 mixed")


def test_field_ids_and_sections_are_there(sample, columns):
    file = pq.ParquetFile(file_of(sample, "auto_lz4"))
    for c in range(len(columns)):
        assert file.schema_arrow.field(c).metadata[b"PARQUET:field_id"] == str(c + 1).encode()
    offset, length, _ = file.metadata.metadata[b"petalite.sample"].split()
    bytes_of_file = pathlib.Path(file_of(sample, "auto_lz4")).read_bytes()
    assert bytes_of_file[int(offset) : int(offset) + int(length)] == b"bytes of our own"
    offset, length, _ = file.metadata.metadata[b"petalite.checksums"].split()
    assert bytes_of_file[int(offset) : int(offset) + 4] == b"PCS1"


def literal(column, value):
    """An SQL constant of the column's type; None where DuckDB has no filter for it."""
    if column.is_floating:
        return None if value == "nan" else f"'{float_of(value)!r}'::{column.base}"
    if column.base == "string":
        text = bytes.fromhex(value).decode().replace("'", "''")
        return None if "\0" in text else f"'{text}'"
    if column.base == "uuid":
        return f"'{value}'::UUID"
    if column.base in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        names = {"8": "TINYINT", "16": "SMALLINT", "32": "INTEGER", "64": "BIGINT"}
        prefix = "U" if column.base.startswith("u") else ""
        return f"'{value}'::{prefix}{names[column.base.lstrip('uint')]}"
    if column.base == "date":
        return f"DATE '1970-01-01' + ({value})"
    if column.type == "timestamp(us)":
        return f"make_timestamp({value}::BIGINT)"
    # DuckDB 1.5.5 hashes a BLOB constant's text form, and so misses bytes that this form escapes, in
    # its own files too.
    if column.base == "binary" and not set(bytes.fromhex(value)) & ESCAPED:
        return "'" + "".join(f"\\x{value[i : i + 2]}" for i in range(0, len(value), 2)) + "'::BLOB"
    return None


def excluded(connection, path, column, constant):
    """Per row group: whether its filter proves that the constant is absent."""
    query = f"""SELECT bloom_filter_excludes FROM parquet_bloom_probe('{path}', '{column.name}', {constant})
                ORDER BY row_group_id"""
    return [row[0] for row in connection.sql(query).fetchall()]


def test_filters_never_deny_a_value_that_is_there(sample, columns):
    connection = duckdb.connect()
    path = file_of(sample, "auto_lz4")
    probed = 0
    for column in columns:
        for group in range(3):
            values = column.values[group * 1024 : (group + 1) * 1024]
            for value in (v for v in values[:40] if v is not None):
                constant = literal(column, value)
                if constant is None:
                    continue
                probed += 1
                assert excluded(connection, path, column, constant)[group] is False, f"{column.name} = {constant}"
    assert probed > 1000


def test_filters_find_both_zeros(sample, columns):
    connection = duckdb.connect()
    path = file_of(sample, "auto_lz4")
    for column in columns:
        if not column.is_floating:
            continue
        has_zero = [
            any(v is not None and v != "nan" and float_of(v) == 0 for v in column.values[g * 1024 : (g + 1) * 1024])
            for g in range(3)
        ]
        for zero in ("0.0", "-0.0"):
            answers = excluded(connection, path, column, f"'{zero}'::{column.base}")
            assert not any(e and has for e, has in zip(answers, has_zero))


def test_filters_exclude_absent_values(sample, columns):
    connection = duckdb.connect()
    path = file_of(sample, "auto_lz4")
    by_name = {column.name: column for column in columns}
    for name, absent in {
        "int64 mixed": lambda i: f"{i * 7919 + 3}::BIGINT",
        "string rising": lambda i: f"'no key {i}'",
        "double rising": lambda i: f"'{i}.123'::DOUBLE",
        "uint32 mixed": lambda i: f"{i * 7919 + 3}::UINTEGER",
    }.items():
        answers = [e for i in range(300) for e in excluded(connection, path, by_name[name], absent(i))]
        # At most 1 % pass the filter; six standard deviations above that are 3 %.
        assert answers.count(False) <= 0.03 * len(answers), name
