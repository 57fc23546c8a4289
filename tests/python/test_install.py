"""What ./run install puts below a prefix works from where it was moved to, and goes again."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXPECTED = ["bin/petalite", "lib/libduckdb.so", "lib/libpetalite.so", "include/petalite/database.h",
            "lib/cmake/petalite/petaliteConfig.cmake", "share/man/man1/petalite.1",
            "share/bash-completion/completions/petalite", "share/zsh/site-functions/_petalite"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    run(ROOT / "tools/install", "--prefix", folder / "here")
    (folder / "here").rename(folder / "there")
    return folder / "there"


def test_everything_is_there_and_only_public_headers(installed):
    for name in EXPECTED:
        assert (installed / name).exists(), name
    headers = {path.name for path in (installed / "include").rglob("*.h")}
    assert headers == {path.name for path in (ROOT / "include/petalite").glob("*.h")}


def test_the_command_runs_where_it_was_moved_to(installed, tmp_path):
    (tmp_path / "t.csv").write_text("k,v\n1,one\n2,two\n")
    run(installed / "bin/petalite", "import", tmp_path / "db", "t", tmp_path / "t.csv", "--key", "k")
    assert run(installed / "bin/petalite", "sql", tmp_path / "db", "SELECT v FROM t WHERE k = 2", "--format",
               "csv").split() == ["v", "two"]


def test_a_program_builds_against_the_package(installed, tmp_path):
    run("cmake", "-G", "Ninja", "-S", ROOT / "examples/cpp", "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build")
    out = run(tmp_path / "build/users", tmp_path / "users.db")
    assert out.splitlines() == ["commit 3 inserted 3 rows", "2 is Grace", "Grace", "Edsger"]
    # What the program wrote, the command reads.
    assert run(installed / "bin/petalite", "sql", tmp_path / "users.db", "SELECT max(name) FROM users", "--format",
               "csv").split()[1] == "Grace"


def test_the_library_exports_its_interface_only(installed):
    symbols = run("nm", "-DC", "--defined-only", installed / "lib/libpetalite.so").splitlines()
    names = [line.split(" ", 2)[2] for line in symbols if len(line.split(" ", 2)) == 3]
    own = [name for name in names if not name.startswith("PETALITE_")]
    assert own
    assert not [name for name in own if not re.match(r"petalite::(?!store|parquet|codec)", name)]


@pytest.mark.parametrize("line, expected", [("petalite com", ["compact"]), ("petalite bench rec", ["recovery"]),
                                            ("petalite compact --rew", ["--rewrite"])])
def test_bash_completes(installed, line, expected):
    words = line.split(" ")
    script = f"""
      source {installed}/share/bash-completion/completions/petalite
      COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
      _petalite
      printf '%s\\n' "${{COMPREPLY[@]}}" """
    path = f"{installed}/bin:{os.environ['PATH']}"
    assert run("bash", "-c", script, env={**os.environ, "PATH": path}).split() == expected


def test_uninstall_leaves_nothing(tmp_path):
    run(ROOT / "tools/install", "--prefix", tmp_path / "prefix")
    run(ROOT / "tools/uninstall", "--prefix", tmp_path / "prefix")
    left = [path for path in (tmp_path / "prefix").rglob("*") if not path.is_dir()]
    assert left == []
    shutil.rmtree(tmp_path / "prefix")
