"""Files that pyarrow, DuckDB and Polars wrote read back as pyarrow reads them.

petalite_dump_parquet also checks that no row contradicts the statistics, page index or Bloom
filters of the file it is in. PETALITE_TEST_SEED repeats a run.
"""

import datetime
import itertools
import os
import random
from decimal import Context, Decimal

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_dump import DumpError, canonical, dump

SEED = int(os.environ.get("PETALITE_TEST_SEED", random.randrange(1 << 32)))


@pytest.fixture(autouse=True)
def print_seed():
    print(f"repeat with PETALITE_TEST_SEED={SEED}")


def check(path, expect_types=None):
    """Compares every flat column with pyarrow; returns the types by name."""
    readable, unreadable = dump(path)
    assert unreadable == {}
    table = pq.read_table(path, coerce_int96_timestamp_unit="us", arrow_extensions_enabled=False)
    assert list(readable) == table.column_names
    for name, (type_, values) in readable.items():
        assert values == canonical(type_, table[name]), f"column {name} of type {type_}"
    types = {name: type_ for name, (type_, _) in readable.items()}
    for name, type_ in (expect_types or {}).items():
        assert types[name] == type_
    return types


EXACT = Context(prec=80)


def generators(rng):
    """Arrow types, the Petalite type each reads back as, and random values of it."""
    second = datetime.timedelta(seconds=1)
    epoch = datetime.datetime(1970, 1, 1)

    def moment(unit):
        return epoch + rng.randrange(-(10**9), 10**9) * second + datetime.timedelta(
            milliseconds=rng.randrange(1000) if unit != "s" else 0,
            microseconds=rng.randrange(1000) if unit in ("us", "ns") else 0,
        )

    def clock(unit):
        return (moment(unit)).time()

    def decimal(precision, scale):
        limit = 10 ** rng.randrange(1, precision + 1)
        return lambda: Decimal(rng.randrange(-limit + 1, limit)).scaleb(-scale, EXACT)

    def text():
        alphabet = rng.choice(["abc", "äöü€", "日本語", "😀z", "\x00~"])
        return "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 11, 12, 13, 40, 300])))

    def number(bits, signed):
        low = -(1 << bits - 1) if signed else 0
        high = (1 << bits - 1 if signed else 1 << bits) - 1
        return lambda: rng.choice([low, high, 0, rng.randint(low, high), rng.randint(0, 9)])

    yield "bool", pa.bool_(), "bool", lambda: rng.random() < 0.5
    for bits in (8, 16, 32, 64):
        yield f"i{bits}", getattr(pa, f"int{bits}")(), f"int{bits}", number(bits, True)
        yield f"u{bits}", getattr(pa, f"uint{bits}")(), f"uint{bits}", number(bits, False)
    reals = lambda: rng.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), rng.uniform(-1e6, 1e6)])
    yield "half", pa.float16(), "float", lambda: rng.choice([0.0, -0.0, 65504.0, 2.0**-24, float("inf"), rng.random()])
    yield "float", pa.float32(), "float", reals
    yield "double", pa.float64(), "double", reals
    for precision, scale in ((4, 2), (9, 0), (15, 2), (18, 18), (19, 3), (38, 10)):
        yield f"dec{precision}", pa.decimal128(precision, scale), f"decimal({precision},{scale})", decimal(
            precision, scale
        )
    yield "date", pa.date32(), "date", lambda: moment("s").date()
    yield "time_ms", pa.time32("ms"), "time", lambda: clock("ms")
    yield "time_us", pa.time64("us"), "time", lambda: clock("us")
    yield "time_ns", pa.time64("ns"), "time", lambda: clock("us")
    yield "ts_s", pa.timestamp("s"), "timestamp(ms)", lambda: moment("s")
    for unit in ("ms", "us", "ns"):
        yield f"ts_{unit}", pa.timestamp(unit), f"timestamp({unit})", lambda unit=unit: moment(unit)
        yield f"tz_{unit}", pa.timestamp(unit, "UTC"), f"timestamptz({unit})", lambda unit=unit: moment(unit)
    yield "string", pa.string(), "string", text
    yield "binary", pa.binary(), "binary", lambda: rng.randbytes(rng.choice([0, 5, 12, 13, 100]))
    yield "fixed", pa.binary(7), "binary", lambda: rng.randbytes(7)
    yield "fixed20", pa.binary(20), "binary", lambda: rng.randbytes(20)
    yield "uuid", pa.uuid(), "uuid", lambda: rng.randbytes(16)
    yield "null", pa.null(), "int32", lambda: None


def make_table(rows, null_share, distinct, rng):
    """A table with a column of each type. Values repeat if `distinct` is given; nulls come in runs."""
    arrays, names, types = [], [], {}
    for name, arrow_type, type_, make in generators(rng):
        pool = [make() for _ in range(min(distinct or rows, rows))] or [None]
        values = [pool[i] if not distinct else rng.choice(pool) for i in range(rows)]
        null = False
        for i in range(rows):
            if rng.random() < 0.1:
                null = rng.random() < null_share
            if null or null_share == 1:
                values[i] = None
        arrays.append(pa.array(values, arrow_type))
        names.append(name)
        types[name] = type_
    return pa.table(arrays, names), types


CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_every_type_codec_and_page_version_of_pyarrow(tmp_path, codec, version, dictionary):
    rng = random.Random(SEED)
    table, types = make_table(3000, 0.3, 50 if dictionary else None, rng)
    path = tmp_path / "t.parquet"
    pq.write_table(
        table,
        path,
        compression=codec,
        data_page_version=version,
        use_dictionary=dictionary,
        data_page_size=4096,
        row_group_size=1700,
        write_page_index=True,
        write_page_checksum=True,
    )
    check(path, types)


@pytest.mark.parametrize("rows", [0, 1, 64, 1000])
@pytest.mark.parametrize("null_share", [0, 0.5, 1])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_sizes_and_nulls(tmp_path, rows, null_share, version):
    table, types = make_table(rows, null_share, 5, random.Random(SEED))
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, data_page_version=version)
    check(path, types)


def test_required_columns(tmp_path):
    table, types = make_table(2000, 0, None, random.Random(SEED))
    table = table.drop_columns(["null"])
    table = table.cast(pa.schema([field.with_nullable(False) for field in table.schema]))
    for version, index in itertools.product(["1.0", "2.0"], [False, True]):
        path = tmp_path / f"{version}{index}.parquet"
        pq.write_table(table, path, data_page_version=version, write_page_index=index, data_page_size=1000)
        check(path)


@pytest.mark.parametrize("index", [False, True])
def test_dictionary_that_falls_back_to_plain_within_a_chunk(tmp_path, index):
    rng = random.Random(SEED)
    table, types = make_table(20000, 0.1, 15000, rng)
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, dictionary_pagesize_limit=2000, data_page_size=3000, write_page_index=index)
    encodings = pq.ParquetFile(path).metadata.row_group(0).column(4).encodings
    assert "PLAIN" in encodings and "RLE_DICTIONARY" in encodings
    check(path, types)


ENCODINGS = {
    "DELTA_BINARY_PACKED": ["i8", "u16", "i32", "u32", "i64", "u64", "date", "time_ms", "time_us", "ts_us", "tz_ns"],
    "BYTE_STREAM_SPLIT": ["i32", "i64", "float", "double", "half", "dec38", "fixed", "uuid", "u8", "ts_ms"],
    "DELTA_LENGTH_BYTE_ARRAY": ["string", "binary"],
    "DELTA_BYTE_ARRAY": ["string", "binary", "fixed", "fixed20", "dec19"],
    "RLE": ["bool"],
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("null_share", [0, 0.4])
def test_encodings_of_pyarrow(tmp_path, encoding, version, null_share):
    table, types = make_table(5000, null_share, None, random.Random(SEED))
    table = table.select(ENCODINGS[encoding])
    if encoding == "DELTA_BINARY_PACKED":  # narrow differences as well as the wildest
        table = table.append_column("steps", pa.array([i * 3 + i % 5 for i in range(5000)], pa.int64()))
        table = table.append_column("constant", pa.array([7] * 5000, pa.int32()))
    path = tmp_path / "t.parquet"
    pq.write_table(
        table,
        path,
        use_dictionary=False,
        column_encoding={name: encoding for name in table.column_names},
        data_page_version=version,
        data_page_size=5000,
    )
    check(path)


def test_decimals_as_integers(tmp_path):
    table, types = make_table(1000, 0.2, None, random.Random(SEED))
    table = table.select([name for name in table.column_names if name.startswith("dec")])
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, store_decimal_as_integer=True)
    assert pq.ParquetFile(path).schema.column(0).physical_type == "INT32"
    check(path, {name: types[name] for name in table.column_names})


def test_int96_timestamps(tmp_path):
    table, _ = make_table(1000, 0.2, 300, random.Random(SEED))
    path = tmp_path / "t.parquet"
    pq.write_table(table.select(["ts_us", "ts_ns", "ts_s"]), path, use_deprecated_int96_timestamps=True)
    check(path, {"ts_us": "timestamp(us)", "ts_ns": "timestamp(us)"})


def test_nested_columns_are_refused_and_flat_ones_beside_them_read(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"flat": [1, 2], "list": [[1], [2, 3]], "struct": [{"a": 1, "b": "x"}, None]})
    pq.write_table(table, path)
    readable, unreadable = dump(path)
    assert readable == {"flat": ("int64", [1, 2])}
    assert list(unreadable) == ["list.list.element", "struct.a", "struct.b"]
    assert "'struct.a' lies in a group" in unreadable["struct.a"]


def test_text_that_is_not_utf8_is_refused_with_its_row(tmp_path):
    for dictionary in (False, True):
        path = tmp_path / f"{dictionary}.parquet"
        bad = pa.Array.from_buffers(pa.string(), 3, pa.array([b"ok", None, b"\xff\xfe"], pa.binary()).buffers())
        pq.write_table(pa.table({"name": bad}), path, use_dictionary=dictionary)
        with pytest.raises(DumpError, match="column 'name'.*(row 2|entry 1).*UTF-8"):
            dump(path)


DUCKDB_QUERY = """
    SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE i % 2 = 0 END AS b,
        (i % 100 - 50)::TINYINT AS i1, (i - 500)::SMALLINT AS i2, (i * 1000)::INTEGER AS i4, i * 10000000000 AS i8,
        (i % 200)::UTINYINT AS u1, i::USMALLINT AS u2, (2000000000 + i)::UINTEGER AS u4,
        (18446744073709551615 - i)::UBIGINT AS u8, (i / 3)::FLOAT AS f, CASE i % 5 WHEN 0 THEN 'nan'::DOUBLE ELSE i / 7 END AS d,
        (i / 10)::DECIMAL(4, 1) AS dec4, (i / 10)::DECIMAL(9, 2) AS dec9, (i / 10)::DECIMAL(18, 6) AS dec18,
        (i::DECIMAL(38, 6)) * -1000000000000 AS dec38,
        DATE '2000-02-29' + i::INTEGER AS date, TIME '10:11:12.345678' AS time,
        TIMESTAMP '1950-01-01 00:00:00.123456' + to_seconds(i * 100003) AS ts_us,
        (TIMESTAMP '1950-01-01 00:00:00' + to_seconds(i))::TIMESTAMP_S AS ts_s,
        (TIMESTAMP '1950-01-01 00:00:00.5' + to_seconds(i))::TIMESTAMP_MS AS ts_ms,
        (TIMESTAMP '1950-01-01 00:00:00.123456' + to_seconds(i))::TIMESTAMP_NS AS ts_ns,
        (TIMESTAMP '2024-01-01 00:00:00' + to_seconds(i))::TIMESTAMPTZ AS tz,
        'row ' || i AS s, repeat('ß', i % 40) AS long, 'v' || i % 3 AS few, 'abc'::BLOB AS blob,
        {'k': i}::JSON AS j, md5(i::VARCHAR)::UUID AS uuid, (['x', 'y', 'z'])[i % 3 + 1]::ENUM('x', 'y', 'z') AS e,
        to_months((i % 30)::INTEGER) + to_days(i::INTEGER) + to_milliseconds(i) AS iv
    FROM range(5000) t(i)
"""


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"])
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_every_type_codec_and_version_of_duckdb(tmp_path, codec, version):
    path = tmp_path / "t.parquet"
    duckdb.sql(
        f"COPY ({DUCKDB_QUERY}) TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)"
    )
    types = {"i1": "int8", "u4": "uint32", "dec18": "decimal(18,6)", "uuid": "uuid", "j": "json", "iv": "interval"}
    types |= {"ts_s": "timestamp(us)", "ts_ms": "timestamp(ms)", "ts_ns": "timestamp(ns)", "tz": "timestamptz(us)"}
    check(path, types)


def test_deltas_of_large_unsigned_numbers_of_duckdb(tmp_path):
    # DuckDB writes the first one as a 64-bit number, at which pyarrow fails.
    path = tmp_path / "t.parquet"
    duckdb.sql(
        f"COPY (SELECT (4000000000 + i)::UINTEGER AS u FROM range(3000) t(i)) TO '{path}' (FORMAT parquet, PARQUET_VERSION V2)"
    )
    assert "DELTA_BINARY_PACKED" in pq.ParquetFile(path).metadata.row_group(0).column(0).encodings
    readable, _ = dump(path)
    assert readable == {"u": ("uint32", list(range(4000000000, 4000003000)))}


def test_every_type_and_codec_of_polars(tmp_path):
    table, _ = make_table(3000, 0.3, None, random.Random(SEED))
    table = table.drop_columns(["half", "null", "uuid", "fixed", "fixed20", "dec38"])
    few, _ = make_table(3000, 0.3, 20, random.Random(SEED))
    for codec in ("uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"):
        for name, source in (("many", table), ("few", few.select(table.column_names))):
            path = tmp_path / f"{codec}-{name}.parquet"
            polars.from_arrow(source).write_parquet(path, compression=codec, data_page_size=4000, row_group_size=1100)
            check(path)

