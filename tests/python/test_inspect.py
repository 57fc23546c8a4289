"""`petalite inspect`: what it says of foreign files and of databases agrees with what pyarrow and the input say."""

import json
import os
import pathlib
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PETALITE = REPOSITORY / os.environ.get("PETALITE_BUILD", "build/release") / "petalite"


def run(*arguments, status=0):
    done = subprocess.run([PETALITE, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


def inspect(*arguments):
    return json.loads(run("inspect", *arguments, "--json"))


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Three row groups of even numbers 0, 2 … 1998 by pyarrow, with a nested column."""
    table = pa.table(
        {
            "id": pa.array(range(0, 2000, 2), pa.int64()),
            "name": pa.array([None if i % 10 == 0 else f"n{i:04}" for i in range(1000)]),
            "nested": pa.array([[i] for i in range(1000)], pa.list_(pa.int32())),
        }
    )
    path = tmp_path_factory.mktemp("inspect") / "foreign.parquet"
    pq.write_table(table, path, row_group_size=400, compression="zstd", write_page_index=True)
    return path


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect_db")
    for part in range(2):
        keys = range(part * 100000, part * 100000 + 100000, 2)
        pq.write_table(pa.table({"id": pa.array(keys, pa.int64()), "text": [f"t{k}" for k in keys]}),
                       folder / f"{part}.parquet")
    run("import", folder / "db", "things", folder / "0.parquet", "--key", "id")
    run("sql", folder / "db", f"INSERT INTO things FROM '{folder}/1.parquet'")
    return folder / "db"


def by_name(document):
    return {column["column"]: column for column in document["columns"]}


def test_describes_a_foreign_file_as_its_writer_does(foreign):
    document = inspect(foreign)
    metadata = pq.read_metadata(foreign)
    assert document["rows"] == 1000
    assert document["row_groups"] == 3
    assert document["size"] == foreign.stat().st_size
    assert document["created_by"] == metadata.created_by
    assert "ARROW:schema" in document["key_values"]
    column = by_name(document)["id"]
    chunks = [metadata.row_group(g).column(0) for g in range(3)]
    assert (column["type"], column["physical_type"], column["codec"]) == ("int64", "INT64", ["ZSTD"])
    assert column["compressed_bytes"] == sum(c.total_compressed_size for c in chunks)
    assert column["uncompressed_bytes"] == sum(c.total_uncompressed_size for c in chunks)
    assert set(column["encodings"]) == {e for c in chunks for e in c.encodings}
    assert (column["nulls"], column["min"], column["max"]) == (0, "0", "1998")
    assert (column["filters"], column["page_index"]) == ("none", "all")
    name = by_name(document)["name"]
    assert (name["nulls"], name["min"], name["max"]) == (100, "n0001", "n0999")


def test_says_why_a_column_cannot_be_read(foreign):
    nested = [c for c in inspect(foreign)["columns"] if c["column"].startswith("nested")]
    assert len(nested) == 1 and nested[0]["cannot_be_read"] and nested[0]["type"] is None
    assert nested[0]["cannot_be_read"] in run("inspect", foreign)


def test_pages_add_up_to_the_rows_and_lie_in_the_file(foreign):
    pages = inspect(foreign, "--pages")["pages"]
    for column in ["id", "name"]:
        mine = [p for p in pages if p["column"] == column]
        assert sum(p["rows"] for p in mine) == 1000
        assert all(0 < p["offset"] < p["offset"] + p["bytes"] < foreign.stat().st_size for p in mine)
    assert pages[0]["min"] == "0" and {p["row_group"] for p in pages} == {0, 1, 2}


def test_probe_of_a_file_without_filters_asks_zone_maps(foreign):
    answers = [p["answer"] for p in inspect(foreign, "--probe", "id=5", "--probe", "ID=1998")["probes"]]
    excluded = "excluded by zone map"
    assert answers == ["may be there", excluded, excluded, excluded, excluded, "may be there"]


def test_lists_the_tables_of_a_database(database):
    (table,) = inspect(database)["tables"]
    assert (table["table"], table["rows"], table["rowsets"], table["key"]) == ("things", 100000, 2, ["id"])
    assert "things" in run("inspect", database)


def test_describes_a_table_over_its_rowsets(database):
    document = inspect(database, "things")
    assert document["rows"] == 100000
    assert [r["min_key"] for r in document["rowsets"]] == ["0", "100000"]
    column = by_name(document)["id"]
    assert (column["type"], column["min"], column["max"], column["nulls"]) == ("int64", "0", "199998", 0)
    assert column["filters"] == "all"


def test_filters_have_their_real_probability(database):
    filters = inspect(database, "things", "--filters")["filters"]
    assert {f["column"] for f in filters} == {"id", "text"}
    assert all(0 < f["real_fpp"] < 0.02 for f in filters)
    assert all(f["bytes"] % 32 == 0 for f in filters)
    assert all(5 < f["bits_per_distinct"] < 40 for f in filters if f["bits_per_distinct"])


def test_probe_of_a_table_never_excludes_what_is_there(database):
    for value in [0, 4242, 150000, 199998]:
        answers = [p["answer"] for p in inspect(database, "things", "--probe", f"id={value}")["probes"]]
        assert answers.count("may be there") == 1
    odd = [p["answer"] for v in range(1, 99, 2) for p in inspect(database, "things", "--probe", f"id={v}")["probes"]]
    assert odd.count("excluded by filter") > 40
    assert "excluded by zone map" in odd


def test_describes_a_table_without_rows(tmp_path):
    (tmp_path / "in.csv").write_text("a\n1\n")
    run("import", tmp_path / "db", "filled", tmp_path / "in.csv")
    run("sql", tmp_path / "db", "CREATE TABLE bare (k BIGINT PRIMARY KEY, t VARCHAR)")
    document = inspect(tmp_path / "db", "bare", "--pages", "--filters", "--probe", "k=1")
    assert [c["type"] for c in document["columns"]] == ["int64", "string"]
    assert (document["rows"], document["rowsets"], document["probes"]) == (0, [], [])
    assert "'k'" in run("inspect", tmp_path / "db", "bare", "--probe", "kk=1", status=1)


def test_people_get_the_same_facts(database):
    text = run("inspect", database, "things", "--pages", "--filters", "--probe", "id=1")
    for title in ["columns", "rowsets", "pages", "filters", "probes"]:
        assert f"\n{title}\n" in text
    assert "excluded by zone map" in text and "key: id" in text


def test_errors_name_what_is_wrong(foreign, database, tmp_path):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet at all, just text")
    assert "not a Parquet file" in (error := run("inspect", broken, status=1)) and str(broken) in error
    assert "absent.parquet" in run("inspect", tmp_path / "absent.parquet", status=1)
    assert "'name'" in (error := run("inspect", foreign, "--probe", "nam=x", status=1)) and str(foreign) in error
    assert "'id'" in (error := run("inspect", foreign, "--probe", "id=x", status=1)) and str(foreign) in error
    assert "COLUMN=VALUE" in run("inspect", foreign, "--probe", "id", status=1)
    assert "nested" in run("inspect", foreign, "--probe", "nested.list.element=1", status=1)
    assert "'things'" in run("inspect", database, "thing", status=1)
    assert "table" in run("inspect", database, "--pages", status=1)
    assert str(foreign) in run("inspect", foreign, "things", status=1)
