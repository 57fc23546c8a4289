"""`petalite shell`: at a terminal (a pseudo-terminal here) and as a reader of scripts."""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PETALITE = REPOSITORY / os.environ.get("PETALITE_BUILD", "build/release") / "petalite"
PROMPT = "petalite> "
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


@pytest.fixture
def database(tmp_path):
    csv = tmp_path / "in.csv"
    csv.write_text("number,label\n1,one\n2,two\n3,three\n")
    subprocess.run([PETALITE, "import", tmp_path / "db", "zebras", csv], check=True, capture_output=True)
    return tmp_path / "db"


class Terminal:
    def __init__(self, database, **environment):
        state = database.parent / "state"
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "vt100", "XDG_STATE_HOME": str(state), "PAGER": "", **environment})
            os.execv(PETALITE, ["petalite", "shell", str(database)])
        self.seen = ""

    def send(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text, seconds=20):
        """What came up to and with `text`; the rest stays for the next."""
        deadline = time.monotonic() + seconds
        while (at := self.seen.find(text)) < 0:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            try:
                data = os.read(self.fd, 65536).decode()
            except OSError:
                data = ""
            assert data, f"the end instead of {text!r}; before it {self.seen!r}"
            self.seen = ESCAPES.sub("", self.seen + data)
        before, self.seen = self.seen[: at + len(text)], self.seen[at + len(text) :]
        return before

    def status(self, seconds=20):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
        raise AssertionError("the shell does not end")

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal(database):
    opened = Terminal(database)
    opened.expect(PROMPT)
    yield opened
    opened.close()


def script(database, text, *arguments, status=0):
    done = subprocess.run([PETALITE, "shell", database, *arguments], input=text, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_runs_statements_over_several_lines_and_times_them(terminal):
    terminal.send("SELECT 40 +\n")
    terminal.expect("     ...> ")
    terminal.send("2 AS answer;\n")
    text = terminal.expect(PROMPT)
    assert "42" in text and "(1 row)" in text and re.search(r"\d\.\d{3} s", text)


def test_tab_completes_tables_columns_keywords_and_commands(terminal):
    terminal.send("SELECT max(numb\t")
    terminal.expect("number")
    terminal.send("\x7f) fro\t")
    terminal.expect("from ")
    terminal.send("zeb\t")
    terminal.expect("zebras ")
    terminal.send(";\n")
    assert "3" in terminal.expect("(1 row)")
    terminal.expect(PROMPT)
    terminal.send(".tab\t\n")
    assert "zebras" in terminal.expect("(1 row)")


def test_interrupt_cancels_the_statement_and_not_the_shell(terminal):
    for _ in range(3):
        terminal.send("SELECT count(*) FROM range(100000000000) a;\n")
        terminal.expect("a;")
        time.sleep(0.5)
        began = time.monotonic()
        terminal.send("\x03")
        terminal.expect("interrupted")
        assert time.monotonic() - began < 2
        terminal.expect(PROMPT)
    terminal.send("SELECT 'still' || 'here';\n")
    terminal.expect("stillhere")
    terminal.expect(PROMPT)
    terminal.send("\x04")
    assert terminal.status() == 0


def test_interrupt_drops_the_line_being_typed(terminal):
    terminal.send("SELECT 1,\n")
    terminal.expect("     ...> ")
    terminal.send("nonsense\x03")
    terminal.expect(PROMPT)
    terminal.send("\x03")
    terminal.expect(PROMPT)
    os.kill(terminal.pid, signal.SIGINT)
    terminal.send("SELECT 'f' || 'ine';\n")
    terminal.expect("fine")


def test_end_of_input_ends_with_status_0(terminal):
    terminal.send("\x04")
    assert terminal.status() == 0


def test_termination_ends_an_idle_shell(terminal):
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.status() == 130


def test_text_beyond_ascii_can_be_typed(terminal):
    terminal.send("SELECT upper('grüß dich €');\n")
    terminal.expect("GRÜ")
    terminal.expect("(1 row)")


def test_ctrl_z_suspends_and_the_shell_goes_on(terminal):
    terminal.send("SELECT 'aft' || \x1a")
    time.sleep(0.5)
    os.kill(terminal.pid, signal.SIGCONT)
    time.sleep(0.5)
    terminal.send("'er';\n")
    terminal.expect("after")
    terminal.expect(PROMPT)


def test_an_error_does_not_end_the_shell(terminal):
    terminal.send("SELECT * FROM nowhere;\n")
    terminal.expect("nowhere does not exist")
    terminal.expect(PROMPT)
    terminal.send("SELECT 'go' || 'es on';\n")
    terminal.expect("goes on")
    terminal.expect(PROMPT)
    terminal.send(".quit\n")
    assert terminal.status() == 0


def test_history_outlives_the_shell(terminal, database):
    terminal.send("SELECT 'remem' || 'bered';\n")
    terminal.expect("remembered")
    terminal.expect(PROMPT)
    terminal.send(".quit\n")
    assert terminal.status() == 0
    again = Terminal(database)
    again.expect(PROMPT)
    again.send("\x1b[A\x1b[A\n")  # two up: .quit was the last line
    again.expect("remembered")
    again.close()


def test_works_without_a_place_for_history(database):
    opened = Terminal(database, XDG_STATE_HOME="/proc/nowhere")
    opened.expect(PROMPT)
    opened.send("SELECT 'no' || 'thing lost';\n")
    opened.expect("nothing lost")
    opened.close()


def test_results_go_through_the_pager(database):
    opened = Terminal(database, PAGER="sed s/^/paged:/")
    opened.expect(PROMPT)
    opened.send("SELECT label FROM zebras;\n")
    opened.expect("paged:three")
    opened.expect(PROMPT)
    opened.close()


def test_a_closed_pager_ends_the_statement_only(database):
    opened = Terminal(database, PAGER="head -n 3")
    opened.expect(PROMPT)
    opened.send("SELECT * FROM range(100000000);\n")
    opened.expect(PROMPT)
    opened.send("SELECT 'next' || ' one';\n")
    opened.expect("next one")
    opened.close()


def test_reads_statements_from_a_pipe(database):
    done = script(database, "SELECT 'a;b' AS x; -- not; here\nSELECT $$;$$ AS y /* nor; here */;\nSELECT 3 AS z",
                  "--format", "csv")
    assert done.stdout == "x\na;b\ny\n;\nz\n3\n"
    assert done.stderr == ""


def test_the_first_error_ends_a_script(database):
    done = script(database, "SELECT 1 AS a;\nSELECT nothing;\nSELECT 2 AS b;\n", "--format", "csv", status=1)
    assert done.stdout == "a\n1\n"
    assert "nothing" in done.stderr


def test_dot_commands(database, tmp_path):
    (tmp_path / "more.sql").write_text("SELECT 'from file' AS f;\n")
    text = script(database, f".format csv\n.tables\n.schema zebras\n.read {tmp_path}/more.sql\n.timing on\nSELECT 1;\n"
                  ".help\n.quit\nSELECT 'not reached';\n")
    assert "main,zebras" in text.stdout
    assert "CREATE TABLE" in text.stdout and "number" in text.stdout
    assert "from file" in text.stdout and ".timing on|off" in text.stdout
    assert "not reached" not in text.stdout
    assert re.search(r"\d\.\d{3} s", text.stderr)


def test_dot_commands_report_what_is_wrong(database):
    for line in [".nothing", ".timing maybe", ".format xml", ".read /absent/file", ".schema absent"]:
        assert script(database, line + "\n", status=1).stderr.startswith("petalite: ")


def test_a_file_that_reads_itself_ends(database, tmp_path):
    loop = tmp_path / "loop.sql"
    loop.write_text(f".read {loop}\n")
    assert ".read" in script(database, f".read {loop}\n", status=1).stderr
