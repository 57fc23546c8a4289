"""The petalite command as a user meets it: import, sql, get, verify, and what bad input gets."""

import json
import os
import signal
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PETALITE = os.path.abspath(os.path.join(os.environ.get("PETALITE_BUILD", "build/release"), "petalite"))


def petalite(*arguments, stdin=None, status=0, environment=None):
    done = subprocess.run([PETALITE, *map(str, arguments)], input=stdin, capture_output=True, text=True,
                          env=dict(os.environ, **(environment or {})), timeout=120)
    assert done.returncode == status, f"{arguments}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def rows(db, sql):
    return [json.loads(line) for line in petalite("sql", db, sql, "--format", "ndjson").stdout.splitlines()]


def error(*arguments, **options):
    done = petalite(*arguments, status=1, **options)
    assert done.stderr.startswith("petalite: ")
    return done.stderr


@pytest.fixture
def db(tmp_path):
    return tmp_path / "db"


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": pa.array([3, 1, 2], pa.int64()), "name": ["c", "a", None]}), path)
    return path


def test_import_takes_parquet_csv_json_globs_and_standard_input(db, parquet, tmp_path):
    petalite("import", db, "a", parquet)
    assert rows(db, "FROM a") == [{"id": 3, "name": "c"}, {"id": 1, "name": "a"}, {"id": 2, "name": None}]
    for number in range(3):
        (tmp_path / f"part{number}.csv").write_text(f"id,name\n{number},n{number}\n")
    petalite("import", db, "b", tmp_path / "part*.csv")
    assert rows(db, "SELECT count(*) AS n, sum(id)::INT AS s FROM b") == [{"n": 3, "s": 3}]
    petalite("import", db, "c", "-", "--format", "json", stdin='{"x": 1}\n{"x": 2}\n')
    assert rows(db, "FROM c") == [{"x": 1}, {"x": 2}]
    petalite("import", db, "d", "-", "--format", "csv", stdin="x,y\n1,a\n")
    assert rows(db, "FROM d") == [{"x": 1, "y": "a"}]
    with open(parquet, "rb") as file:
        subprocess.run([PETALITE, "import", db, "e", "-", "--format", "parquet"], stdin=file, check=True)
    assert rows(db, "SELECT count(*) AS n FROM e") == [{"n": 3}]
    petalite("verify", db)


def test_modes_keys_and_options(db, parquet):
    petalite("import", db, "s.t", parquet, "--key", "id", "--with", "codec=zstd:3; name=lz4", "--with", "bloom_fpp=0.001")
    assert [row["id"] for row in rows(db, "FROM s.t")] == [1, 2, 3]
    assert "duplicate key (3)" in error("import", db, "s.t", parquet, "--mode", "append")
    petalite("import", db, "s.t", parquet, "--mode", "replace")
    petalite("import", db, "s.t", parquet, "--mode", "append")
    assert rows(db, "SELECT count(*) AS n FROM s.t") == [{"n": 6}]
    assert "exists" in error("import", db, "s.t", parquet)


def test_get_by_simple_and_composite_key(db, parquet, tmp_path):
    petalite("import", db, "t", parquet, "--key", "id")
    out = petalite("get", db, "t", "2", "3", "--format", "ndjson").stdout.splitlines()
    assert [json.loads(line) for line in out] == [{"id": 2, "name": None}, {"id": 3, "name": "c"}]
    done = petalite("get", db, "t", "1", "99", "--columns", "name", status=1)
    assert "a" in done.stdout and "key '99' is not in table 't'" in done.stderr
    pairs = tmp_path / "pairs.csv"
    pairs.write_text('a,b,v\n1,"x,y",10\n2,z,20\n')
    petalite("import", db, "pairs", pairs, "--key", "b,a")
    assert '"v":10' in petalite("get", db, "pairs", '"x,y",1', "--format", "json").stdout
    assert "has 2" in error("get", db, "pairs", "x")
    assert "not a value of type int64" in error("get", db, "t", "abc")


def test_formats(db, parquet, tmp_path):
    petalite("import", db, "t", parquet)
    assert petalite("sql", db, "FROM t ORDER BY id", "--format", "csv").stdout == 'id,name\n1,a\n2,\n3,c\n'
    assert json.loads(petalite("sql", db, "FROM t ORDER BY id", "--format", "json").stdout)[2] == {"id": 3, "name": "c"}
    done = subprocess.run([PETALITE, "sql", db, "FROM t", "--format", "parquet"], capture_output=True, check=True)
    assert pq.read_table(pa.BufferReader(done.stdout)).num_rows == 3
    assert "(3 rows)" in petalite("sql", db, "FROM t").stdout
    script = tmp_path / "script.sql"
    script.write_text("CREATE TABLE u AS FROM t; SELECT count(*) AS n FROM u;")
    assert petalite("sql", db, "-f", script, "--format", "csv").stdout == "n\n3\n"


def test_plans_show_what_was_pruned(db, parquet):
    petalite("import", db, "t", parquet)
    plan = petalite("sql", db, "EXPLAIN ANALYZE SELECT * FROM t WHERE name = 'b'").stdout
    assert "Row Groups:" in plan and "pruned by" in plan and len(plan.splitlines()) > 20


def test_other_readers_read_the_files(db, parquet):
    petalite("import", db, "t", parquet, "--key", "id")
    path = rows(db, "SELECT path FROM petalite_rowsets('t')")[0]["path"]
    assert pq.read_table(path).to_pydict() == {"id": [1, 2, 3], "name": ["a", None, "c"]}


def test_bad_input_is_named_and_leaves_nothing(db, parquet, tmp_path):
    not_parquet = tmp_path / "no.parquet"
    not_parquet.write_bytes(b"this is not a Parquet file at all")
    assert "no.parquet" in error("import", db, "t", not_parquet)
    assert not db.exists()
    assert "none.parquet" in error("import", db, "t", tmp_path / "none.parquet")
    assert "does not tell the format" in error("import", db, "t", tmp_path / "data.bin")
    petalite("import", db, "t", parquet)
    for cut in (1, 40, 200):
        truncated = tmp_path / "cut.parquet"
        truncated.write_bytes(parquet.read_bytes()[:-cut])
        assert "cut.parquet" in error("import", db, "u", truncated)
    nested = tmp_path / "nested.parquet"
    pq.write_table(pa.table({"l": [[1, 2]]}), nested)
    assert "column 'l'" in error("import", db, "u", nested)
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "name": ["x"]}), other)
    assert "column 'id' is BIGINT" in error("import", db, "t", other, "--mode", "append")
    extra = tmp_path / "extra.parquet"
    pq.write_table(pa.table({"id": pa.array([1], pa.int64()), "name": ["x"], "more": [1]}), extra)
    assert "no column 'more'" in error("import", db, "t", extra, "--mode", "append")
    assert "the nearest is 'bloom_fpp'" in error("import", db, "u", parquet, "--with", "bloom_fp=0.1")
    assert "between 0 and 1" in error("import", db, "u", parquet, "--with", "bloom_fpp=2")
    assert "zstd" in error("import", db, "u", parquet, "--with", "codec=zstd:40")
    assert "lz4" in error("import", db, "u", parquet, "--with", "codec=lz5")
    nulls = tmp_path / "nulls.csv"
    nulls.write_text("id,v\n1,a\n,b\n")
    assert "'id'" in error("import", db, "u", nulls, "--key", "id")
    duplicates = tmp_path / "duplicates.csv"
    duplicates.write_text("id\n7\n5\n7\n5\n")
    assert "duplicate key (7)" in error("import", db, "u", duplicates, "--key", "id")
    latin = tmp_path / "latin.csv"
    latin.write_bytes(b"id,v\n1,caf\xe9\n")
    error("import", db, "u", latin)
    assert rows(db, "SELECT table_name FROM petalite_tables()") == [{"table_name": "t"}]
    assert rows(db, "SELECT count(*) AS n FROM t") == [{"n": 3}]
    assert len([path for path in (db / "data").rglob("*.parquet")]) == 1
    petalite("verify", db)


def test_encrypted_files_are_refused(db):
    folder = os.path.join(os.path.dirname(__file__), "../data/parquet-testing/bad")
    for name in os.listdir(folder):
        if name.endswith(".encrypted"):
            assert "ncrypt" in error("import", db, "t", os.path.join(folder, name), "--format", "parquet")


def test_a_page_with_a_wrong_crc_is_refused(db):
    path = os.path.join(os.path.dirname(__file__), "../data/parquet-testing/datapage_v1-corrupt-checksum.parquet")
    message = error("import", db, "t", path)
    assert "datapage_v1-corrupt-checksum.parquet" in message and "checksum is wrong" in message
    assert not db.exists()


def test_usage_errors_have_status_2():
    petalite("frobnicate", status=2)
    petalite("sql", "db", status=2)
    petalite("import", "db", "t", "f", "--mode", "merge", status=2)
    petalite("sql", "db", "SELECT 1", "--wait", "soon", status=2)
    for command in ("import", "sql", "shell", "get", "inspect", "verify", "compact"):
        assert "DB" in petalite(command, "--help").stdout
    assert petalite("--version").stdout.startswith("petalite 0.")


def test_options_that_do_not_fit_are_named(db, parquet, tmp_path):
    petalite("import", db, "t", parquet)
    assert "unknown option 'colour'" in error("sql", db, "FROM t", "--set", "colour=3")
    assert "not a whole number" in error("sql", db, "FROM t", "--set", "threads=many")
    for command in (["sql", db, "FROM t"], ["verify", db], ["compact", db], ["inspect", db]):
        message = error(*command, "--set", "durability=often")
        assert "option 'durability': 'often' is none of sync, async" in message
        assert "option 'history_retention': '15' is not a duration" in error(*command, "--set", "history_retention=15")
    petalite("sql", db, "FROM t", "--set", "durability=async:50", "--set", "history_retention=90s",
             "--set", "memory_limit=256MiB", "--set", "cache_bytes=16000000", "--set", "threads=2")
    assert "--with sets options of a new table" in error("import", db, "t", parquet, "--mode", "append", "--with", "codec=zstd")
    assert "read-only" in error("import", db, "u", parquet, "--read-only")
    csv = tmp_path / "x.csv"
    csv.write_text("a\n1\n")
    assert "one after another" in error("import", db, "u", parquet, csv)
    assert "has no primary key" in error("get", db, "t", "1")
    assert "nope" in error("import", db, "k", parquet, "--key", "nope")


def test_what_is_no_database_is_said(tmp_path):
    (tmp_path / "x").write_text("x")
    assert "not a Petalite database" in error("sql", tmp_path, "SELECT 1")
    assert "no such database" in error("sql", tmp_path / "none", "SELECT 1")


def test_a_database_in_use_names_its_process(db, parquet):
    petalite("import", db, "t", parquet)
    holder = subprocess.Popen([PETALITE, "sql", db, "-f", "-"], stdin=subprocess.PIPE)
    try:
        shell = subprocess.Popen([PETALITE, "shell", db], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        for _ in range(100):
            if str(shell.pid) in (db / "LOCK").read_text():
                break
            time.sleep(0.05)
        assert f"process {shell.pid}" in error("sql", db, "FROM t")
        assert f"process {shell.pid}" in error("sql", db, "FROM t", "--wait", "0.2")
        waiting = subprocess.Popen([PETALITE, "sql", db, "FROM t", "--wait"], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        assert waiting.poll() is None
        shell.stdin.close()
        assert waiting.wait(20) == 0
        assert shell.wait(20) == 0
        petalite("sql", db, "FROM t")
    finally:
        holder.kill()
        holder.wait()


def test_an_interrupted_import_leaves_the_database_as_it_was(db, parquet):
    petalite("import", db, "t", parquet)
    busy = subprocess.Popen([PETALITE, "sql", db, "CREATE TABLE u AS SELECT i, hash(i) AS h FROM range(2000000000) r(i)"])
    time.sleep(1.5)
    busy.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert busy.wait(20) == 130
    assert time.monotonic() - begin < 5
    assert rows(db, "SELECT table_name FROM petalite_tables()") == [{"table_name": "t"}]
    assert len(list((db / "data").rglob("*.parquet"))) == 1
    petalite("verify", db)


def test_damage_is_found(db, parquet):
    petalite("import", db, "t", parquet)
    path = next((db / "data").rglob("*.parquet"))
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    assert str(path) in petalite("verify", db, status=1).stdout


def test_compact_merges_rowsets(db, parquet, tmp_path):
    petalite("import", db, "t", parquet, "--key", "id")
    for number in range(12):
        part = tmp_path / f"part{number}.csv"
        part.write_text("id,name\n" + "".join(f"{100 + key},n\n" for key in range(number, 600, 12)))
        petalite("import", db, "t", part, "--mode", "append")
    before = rows(db, "SELECT rowsets, row_count FROM petalite_tables()")[0]
    assert before["row_count"] == 603 and before["rowsets"] > 1
    out = petalite("compact", db, "t").stdout
    assert out.startswith("t: ")
    after = rows(db, "SELECT rowsets, row_count FROM petalite_tables()")[0]
    assert after["row_count"] == 603 and after["rowsets"] <= before["rowsets"]
    assert rows(db, "SELECT count(DISTINCT id) AS n FROM t") == [{"n": 603}]
    petalite("sql", db, "ALTER TABLE t SET (codec = 'zstd')")
    petalite("compact", db, "--rewrite")
    columns = json.loads(petalite("inspect", db, "t", "--json").stdout)["columns"]
    assert {codec for column in columns for codec in column["codec"]} == {"ZSTD"}
    assert rows(db, "SELECT count(*) AS n FROM t WHERE name = 'n'") == [{"n": 600}]
    petalite("verify", db)
    assert "there is no table 'none'" in error("compact", db, "none")
    assert "read-only" in error("compact", db, "--read-only")


def test_what_was_committed_survives_a_kill_and_is_read_from_the_log(db, parquet):
    petalite("import", db, "t", parquet, "--key", "id")
    shell = subprocess.Popen([PETALITE, "shell", db, "--format", "csv"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    shell.stdin.write("INSERT INTO t SELECT range + 100, 'n' || range FROM range(500);\nSELECT 'written' AS done;\n")
    shell.stdin.flush()
    while "written" not in shell.stdout.readline():
        assert shell.poll() is None
    shell.kill()
    shell.wait()
    assert "sound" in petalite("verify", db).stdout
    assert '"name":"n7"' in petalite("get", db, "t", "107", "--format", "ndjson").stdout
    table = json.loads(petalite("inspect", db, "--json").stdout)["tables"][0]
    assert (table["rows"], table["rows_in_log"]) == (503, 500)
    assert rows(db, "SELECT count(*) AS n FROM t") == [{"n": 503}]
    assert json.loads(petalite("inspect", db, "--json").stdout)["tables"][0]["rows_in_log"] == 0


def test_names_with_quotes_and_spaces(tmp_path, parquet):
    db = tmp_path / "a 'quoted' db"
    petalite("import", db, '"odd ""name"""', parquet)
    assert rows(db, 'SELECT count(*) AS n FROM "odd ""name"""') == [{"n": 3}]
