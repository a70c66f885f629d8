"""Damaged files: tables of every format, saved results and files of options, and what shaff makes
of them.

    PYTHONPATH=src:tests:. python tests/corruption.py [--files 2000 --results 2000 --configs 500]
    PYTHONPATH=src:tests:. python tests/corruption.py --first 100000  # other damages

prints how many were refused in one line, how many were read, how many rows or columns were lost
without a word, and how many ended in a traceback. `test_corruption` runs a sample.

What counts as lost depends on what the format can tell. Packed text and spreadsheets have
checksums: they are read to the last cell, or refused. Databases and binary tables without checksums
must have all rows and columns. Text has as many rows as its lines say, by a second reader.
"""

import argparse
import bz2
import csv
import gzip
import io
import json
import lzma
import os
import sqlite3
import sys
import tempfile
import tomllib
import traceback
import warnings
import zipfile
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from uuid import uuid4

import duckdb
import numpy as np
import polars as pl
import zstandard
from results import SAVED
from rich.console import Console

from shaff.cli import main as run_command
from shaff.cli.outputs import as_csv
from shaff.cli.printing import print_result
from shaff.data.sources.files import Source, read_source, with_types
from shaff.errors import InputError
from shaff.results.effects import EffectsResult
from shaff.results.files import load_result

REFUSED, RIGHT, LOST, TRACEBACK = "refused", "right", "lost", "traceback"
N = 60
FRAME = pl.DataFrame(
    {
        "size": [round(20 + 1.37 * k, 2) for k in range(N)],
        "town": [("Ulm", "Bonn", "Köln, Süd")[k % 3] for k in range(N)],
        "rooms": [k % 5 for k in range(N)],
        "price": [1000 + 17 * k for k in range(N)],
    }
)


# Files as they should be --------------------------------------------------------------------------


def text(separator=","):
    return FRAME.write_csv(separator=separator).encode()


def json_lines():
    return FRAME.write_ndjson().encode()


def written(write, name="file"):
    """The bytes of a file that is written by a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def zipped(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", data)
    return file.getvalue()


def to_sqlite(path):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA page_size=512")  # damage meets more than empty space
        database.execute("CREATE TABLE houses (size REAL, town TEXT, rooms INTEGER, price INTEGER)")
        database.executemany("INSERT INTO houses VALUES (?, ?, ?, ?)", FRAME.rows())


def to_duckdb(path):
    with closing(duckdb.connect(path)) as database:
        database.execute("CREATE TABLE houses (size DOUBLE, town TEXT, rooms INT, price INT)")
        database.executemany("INSERT INTO houses VALUES (?, ?, ?, ?)", FRAME.rows())


def checked_zstandard(data):
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


# Ending -> a file of it. Those of `EXACT` have checksums over all that they hold.
MAKERS = {
    ".csv": text,
    ".tsv": lambda: text("\t"),
    ".txt": lambda: FRAME.write_csv(separator=";", quote_style="always").encode("utf-16"),
    ".csv.gz": lambda: gzip.compress(text()),
    ".csv.bz2": lambda: bz2.compress(text()),
    ".csv.xz": lambda: lzma.compress(text()),
    ".csv.zst": lambda: checked_zstandard(text()),
    ".csv.zip": lambda: zipped(text()),
    ".jsonl": json_lines,
    ".jsonl.gz": lambda: gzip.compress(json_lines()),
    ".parquet": lambda: written(lambda path: FRAME.write_parquet(path, row_group_size=20)),
    ".pq": lambda: written(lambda path: FRAME.write_parquet(path, compression="uncompressed")),
    ".arrow": lambda: written(lambda path: FRAME.write_ipc(path, record_batch_size=20)),
    ".feather": lambda: written(lambda path: FRAME.write_ipc(path, compression="lz4")),
    ".xlsx": lambda: written(FRAME.write_excel, "a.xlsx"),
    ".sqlite": lambda: written(to_sqlite),
    ".duckdb": lambda: written(to_duckdb),
}
EXACT = {".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".csv.zip", ".jsonl.gz", ".xlsx", ".duckdb"}
TEXTS = {".csv", ".tsv", ".txt", ".jsonl"}


@cache
def intact(ending):
    return MAKERS[ending]()


# Damage -------------------------------------------------------------------------------------------


def cut(data, rng):
    return data[: rng.integers(len(data))]


def flip(data, rng):
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 5)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def grow(data, rng):
    place, n = rng.integers(len(data) + 1), int(rng.integers(1, 40))
    more = [rng.bytes(n), bytes(n), data[place : place + n]][rng.integers(3)]
    return data[:place] + more + data[place:]


def swap(data, rng):
    """Two stretches of the same length change places."""
    n = int(rng.integers(1, max(2, min(64, len(data) // 4))))
    one, other = sorted(rng.integers(len(data) - n, size=2))
    if other < one + n:
        return data[:one] + data[one : one + n][::-1] + data[one + n :]
    parts = data[:one], data[one : one + n], data[one + n : other], data[other : other + n]
    return parts[0] + parts[3] + parts[2] + parts[1] + data[other + n :]


def drop(data, rng):
    """A stretch is missing."""
    place, n = rng.integers(len(data)), rng.integers(1, 40)
    return data[:place] + data[place + n :]


DAMAGES = (cut, flip, grow, swap, drop)


def damaged(data, rng):
    return DAMAGES[rng.integers(len(DAMAGES))](data, rng)


# Tables -------------------------------------------------------------------------------------------


def outcome(work):
    """What becomes of a piece of work: its own word for it, a refusal, or a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()
    except InputError as error:
        return REFUSED if "\n" not in str(error) else TRACEBACK
    except BaseException:
        traceback.print_exc()
        return TRACEBACK


def table_outcome(ending, data, folder):
    # A name of its own: polars may still have the file before in reach, mapped to memory.
    path = Path(folder) / f"{uuid4().hex}{ending}"
    path.write_bytes(data)

    def read():
        frame = with_types(read_source(Source((path,)))).frame
        if frame.height == 0:  # which the commands refuse
            return REFUSED
        return RIGHT if is_whole(frame, ending, data) else LOST

    found = outcome(read)
    path.unlink()
    return found


def is_whole(frame, ending, data):
    if ending in EXACT:
        return same_cells(frame)
    if ending == ".jsonl":
        return frame.height == count_json(data)
    if ending in TEXTS:
        n_rows, n_columns = count_text(data)
        return frame.height >= n_rows and frame.width >= n_columns
    return frame.height >= N and frame.width >= FRAME.width


def same_cells(frame):
    return frame.columns == FRAME.columns and all(
        frame[name].cast(FRAME.schema[name], strict=False).equals(FRAME[name])
        for name in FRAME.columns
    )


def count_json(data):
    return sum(bool(line.strip()) for line in data.split(b"\n"))


def count_text(data):
    """Rows and columns by the reader of Python; a quotation mark without its fellow counts for a
    character, so that each line is a row then."""
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        try:
            lines = data.decode(encoding).lstrip("\r\n").split("\n")
            break
        except UnicodeDecodeError:
            continue
    separator = max(",;\t|", key=lines[0].count)
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator, strict=True))
    except csv.Error:
        rows = [line.split(separator) for line in lines]
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    return len(rows) - 1, len(rows[0])


# Results ------------------------------------------------------------------------------------------

ODD = [None, True, -1, 2.5, 1e308, 10**30, "", "x", "Infinity", "\ud800", [], [[]], [None], ["a"],
       {}, {"a": [1]}, [[1, 2], [3, 4]]]  # fmt: skip


def places(value, path=()):
    """Every place in nested lists and objects."""
    if not isinstance(value, dict | list):
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        yield from places(item, (*path, key))


def mutated(content, rng):
    """The content with one place changed, left out, cut or doubled."""
    content = json.loads(json.dumps(content))
    options = list(places(content))
    *path, last = options[rng.integers(len(options))]
    holder = content
    for key in path:
        holder = holder[key]
    change = rng.integers(4)
    if change == 0:
        del holder[last]
    elif change < 3 and isinstance(holder[last], list):
        holder[last] = holder[last][:-1] if change == 1 else holder[last] * 2
    else:
        holder[last] = ODD[rng.integers(len(ODD))]
    return content


def shown(result):
    """All text that is made of a result."""
    if isinstance(result, EffectsResult):
        print_result(result, Console(file=io.StringIO(), width=160))
        as_csv(result)
        result._repr_html_()
    return result.summary() + repr(result) + result.to_json()


def result_outcome(text, folder):
    path = Path(folder) / "result.json"
    path.write_text(text, encoding="utf-8")
    return outcome(lambda: RIGHT if shown(load_result(path)) else LOST)


def damaged_result(saved, rng):
    """By its content, or by its bytes."""
    if rng.random() < 0.7:
        return json.dumps(mutated(json.loads(saved), rng))
    return damaged(saved.encode(), rng).decode("utf-8", "replace")


# Files of options ---------------------------------------------------------------------------------

CONFIG = """# How houses are explained.
[explain]
target = "price"
drop = ["rooms"]
estimator = "smooth"
subsets = 4
max-rows = 50
seed = 3
tol = 0.5
quiet = true
categorical = ["town"]
dates = "day-first"
csv = "out.csv"
"""
VALUES = ["true", "-1", "1e400", "nan", '""', "[]", "[1, 'a']", "{a = 1}", "1979-05-27", "0x7f",
          '"\\u0000"', '"é"', "[[[]]]", "9" * 5000]  # fmt: skip


def damaged_config(rng):
    """By its bytes, or one value by another."""
    if rng.random() < 0.5:
        return damaged(CONFIG.encode(), rng)
    lines = CONFIG.splitlines()
    place = rng.integers(2, len(lines))
    name = lines[place].partition(" =")[0]
    lines[place] = f"{name} = {VALUES[rng.integers(len(VALUES))]}"
    return "\n".join(lines).encode()


def config_outcome(data, folder):
    """Lost are settings that the file has, and the command does not know, or ignores."""
    table, config = Path(folder) / "houses.csv", Path(folder) / "shaff.toml"
    table.write_bytes(text())
    config.write_bytes(data)
    words = ["explain", table, "--config", config, "--force"]
    if b"target" not in data:
        words += ["--target", "price"]
    return outcome(lambda: command_outcome([*map(str, words)], data))


def command_outcome(words, data):
    out, said = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(said):
        try:
            run_command(words)
        except SystemExit as stop:
            code = stop.code
    lines = [line for line in said.getvalue().splitlines() if ": warning:" not in line]
    if code == 2:
        return REFUSED if len(lines) == 1 and lines[0].startswith("shaff: ") else TRACEBACK
    content = tomllib.loads(data.decode())
    return RIGHT if code == 0 and ("explain" not in content or len(content) == 1) else LOST


# Runs ---------------------------------------------------------------------------------------------


def damaged_tables(n, folder, endings=tuple(MAKERS), first=0):
    for k in range(first, first + n):
        ending, rng = endings[k % len(endings)], np.random.default_rng([1, k])
        yield ending, k, table_outcome(ending, damaged(intact(ending), rng), folder)


def damaged_results(n, folder, first=0):
    for k in range(first, first + n):
        saved, rng = SAVED[k % len(SAVED)], np.random.default_rng([2, k])
        kind = json.loads(saved)["format"].removeprefix("shaff.")
        yield kind, k, result_outcome(damaged_result(saved, rng), folder)


def damaged_configs(n, folder, first=0):
    for k in range(first, first + n):
        yield ".toml", k, config_outcome(damaged_config(np.random.default_rng([3, k])), folder)


def counts(outcomes):
    """How often each thing becomes of each kind, and which cases are not as they should be."""
    found, wrong = {}, []
    for kind, case, word in outcomes:
        found.setdefault(kind, Counter())[word] += 1
        if word in (LOST, TRACEBACK):
            wrong.append((kind, case, word))
    return found, wrong


def report(outcomes):
    found, wrong = counts(outcomes)
    for kind, by_word in {**found, "all": sum(found.values(), Counter())}.items():
        words = ", ".join(f"{by_word[word]} {word}" for word in (REFUSED, RIGHT, LOST, TRACEBACK))
        print(f"{kind:30} {by_word.total():5} cases: {words}", flush=True)
    print(wrong)


def main(words):
    parser = argparse.ArgumentParser()
    for kind, n in (("files", 2000), ("results", 2000), ("configs", 500)):
        parser.add_argument(f"--{kind}", type=int, default=n)
    parser.add_argument("--first", type=int, default=0, help="number of the first case, its seed")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        report(damaged_tables(asked.files, folder, first=asked.first))
        report(damaged_results(asked.results, folder, first=asked.first))
        report(damaged_configs(asked.configs, folder, first=asked.first))


if __name__ == "__main__":
    main(sys.argv[1:])
