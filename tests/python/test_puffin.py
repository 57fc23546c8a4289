"""The delete logs that Petalite writes, read by the letter of Iceberg's Puffin specification and by another
implementation of Roaring bitmaps.

petalite_write_puffin (from the build folder PETALITE_BUILD, default build/release) writes the file and what must be
found in it."""

import json
import os
import pathlib
import struct
import subprocess
import zlib

import pyroaring
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("PETALITE_BUILD", "build/release")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("puffin")
    subprocess.run([BUILD / "tests/petalite_write_puffin", folder], check=True)
    return (folder / "1.puffin").read_bytes(), json.loads((folder / "expected.json").read_text())


def read_footer(data):
    assert data[:4] == b"PFA1" and data[-4:] == b"PFA1"
    size, flags = struct.unpack("<iI", data[-12:-4])
    assert flags == 0
    assert data[-16 - size : -12 - size] == b"PFA1"
    return json.loads(data[-12 - size : -12].decode("utf-8"))


def deletion_vector(blob):
    (length,) = struct.unpack(">i", blob[:4])
    assert length == len(blob) - 8
    body = blob[4:-4]
    assert body[:4] == bytes.fromhex("d1d33964")
    assert struct.unpack(">I", blob[-4:]) == (zlib.crc32(body),)
    return pyroaring.BitMap64.deserialize(body[4:])


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def delete_commits(blob):
    """As docs/format.md has it."""
    assert blob[:4] == b"PDC1"
    count, at = varint(blob, 4)
    deaths, commit = [], 0
    while len(deaths) < count:
        more, at = varint(blob, at)
        run, at = varint(blob, at)
        commit += more
        deaths += [[position, commit] for position in struct.unpack_from(f"<{run}I", blob, at)]
        at += 4 * run
    assert at == len(blob) - 4
    return deaths


def test_the_footer_is_as_specified(written):
    data, expected = written
    footer = read_footer(data)
    assert footer["properties"]["created-by"].startswith("petalite version ")
    end = 4
    for blob in footer["blobs"]:
        assert blob["offset"] == end
        end += blob["length"]
        assert blob["snapshot-id"] == -1 and blob["sequence-number"] == -1
        assert all(isinstance(field, int) for field in blob["fields"])
        assert "compression-codec" not in blob
        assert all(isinstance(value, str) for value in blob["properties"].values())
    vectors = [blob for blob in footer["blobs"] if blob["type"] == "deletion-vector-v1"]
    assert [(b["properties"]["referenced-data-file"], b["offset"], b["length"]) for b in vectors] == [
        (e["file"], e["offset"], e["length"]) for e in expected
    ]


def test_the_dead_and_their_commits_are_found(written):
    data, expected = written
    blobs = {}
    for blob in read_footer(data)["blobs"]:
        content = data[blob["offset"] : blob["offset"] + blob["length"]]
        blobs[blob["type"], blob["properties"]["referenced-data-file"]] = blob, content
    for log in expected:
        blob, content = blobs["deletion-vector-v1", log["file"]]
        dead = deletion_vector(content)
        assert list(dead) == log["dead"]
        assert blob["properties"]["cardinality"] == str(len(dead))
        if log["young"]:
            assert delete_commits(blobs["petalite-delete-commits-v1", log["file"]][1]) == log["young"]
        else:
            assert ("petalite-delete-commits-v1", log["file"]) not in blobs


def test_pyroaring_writes_the_same_bitmaps(written):
    data, expected = written
    for log in expected:
        blob = data[log["offset"] : log["offset"] + log["length"]]
        bitmap = pyroaring.BitMap64(log["dead"])
        bitmap.run_optimize()
        assert blob[8:-4] == bitmap.serialize()
