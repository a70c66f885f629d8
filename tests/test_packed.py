"""Packed files are read whole or refused: cut, joined, padded, encrypted and damaged ones."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest
import zstandard

from shaff.data.sources.packed import read_bytes
from shaff.errors import InputError

TABLE = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(3000))
SKIPPED = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"size"


def zipped(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", data)
    return file.getvalue()


STREAMS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}
PACKERS = {**STREAMS, "zip": zipped}


@pytest.fixture
def read(tmp_path):
    def read(data):
        path = tmp_path / "a.csv.packed"
        path.write_bytes(data)
        return read_bytes(path)

    return read


@pytest.mark.parametrize("kind", PACKERS)
def test_a_file_that_was_cut_is_never_a_shorter_table(kind, read):
    packed = PACKERS[kind](TABLE)
    assert read(packed) == TABLE
    lengths = {*range(8, len(packed), len(packed) // 30), *range(len(packed) - 9, len(packed))}
    for length in sorted(lengths):
        with pytest.raises(InputError, match="damaged or cut short"):
            read(packed[:length])


@pytest.mark.parametrize("kind", STREAMS)
def test_parts_that_were_packed_one_by_one_are_read_to_the_last(kind, read):
    half, pack = len(TABLE) // 2, STREAMS[kind]
    parts = pack(TABLE[:half]), pack(TABLE[half:])
    assert read(b"".join(parts)) == TABLE
    for end in (parts[1][:-3], b"BZh9", b"rest", parts[1][:4]):
        with pytest.raises(InputError, match="damaged or cut short"):
            read(parts[0] + end)


def test_padding_and_frames_to_skip_are_no_data(read):
    for pack in (gzip.compress, lzma.compress):
        assert read(pack(TABLE) + bytes(8)) == TABLE
    assert read(SKIPPED + zstandard.compress(TABLE) + SKIPPED) == TABLE


def said_or_read(read, data):
    try:
        return read(data)
    except InputError as error:
        return "several lines" if "\n" in str(error) else "a sentence"


@pytest.mark.parametrize("kind", PACKERS)
def test_a_changed_byte_gives_the_same_table_or_a_sentence(kind, read):
    packed = (
        zstandard.ZstdCompressor(write_checksum=True).compress(TABLE)
        if kind == "zst"
        else PACKERS[kind](TABLE)
    )
    for place in range(6, len(packed), max(len(packed) // 150, 1)):
        changed = bytearray(packed)
        changed[place] ^= 0x55
        assert said_or_read(read, bytes(changed)) in (TABLE, "a sentence")


def test_archives_that_cannot_be_opened_are_named(read):
    encrypted, unknown = bytearray(zipped(TABLE)), bytearray(zipped(TABLE))
    entry = unknown.rindex(b"PK\x01\x02")
    encrypted[6] |= 1
    encrypted[entry + 8] |= 1
    unknown[8:10] = unknown[entry + 10 : entry + 12] = (97).to_bytes(2, "little")
    with pytest.raises(InputError, match="it is encrypted"):
        read(bytes(encrypted))
    with pytest.raises(InputError, match="compression method is not supported"):
        read(bytes(unknown))
