"""What a command leaves behind: files that are checked before the work and written whole."""

from __future__ import annotations

import csv
import io
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaff._util.files import check_target, replacing
from shaff.cli import streams
from shaff.errors import InputError

if TYPE_CHECKING:
    from shaff import Comparison, EffectsResult, ManyEffects, Selection
    from shaff.results.comparison import Units
    from shaff.results.local import LocalEffects

IMAGES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
PAGES = (".html", ".htm")
VALUES = (".csv", ".json")
TABLES = (".csv", ".parquet")
STANDARD_OUTPUT = "-"
# A spreadsheet runs what begins so.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Words after which something private may stand, and how it may stand inside of a word.
_PRIVATE = ("--query",)
# Options that do not change the effects.
_NO_MATTER = ("--jobs", "--json", "--csv", "--markdown", "--plot", "--html", "--local",
              "--local-output", "--checkpoint")  # fmt: skip
_WITH_VALUE = (*_PRIVATE, *_NO_MATTER)
_SECRET = re.compile(r"(?i)(token|secret|password|passwd|pwd|api_?key|key)=[^&\s]+|://[^/@\s]+@")


@dataclass(frozen=True)
class Outputs:
    """Where to write what; None for nothing, ``-`` for the standard output."""

    json: str | None = None
    csv: str | None = None
    plot: Path | None = None
    html: Path | None = None
    local: Path | None = None
    kept: Path | None = None
    markdown: str | None = None

    def check(self, force: bool, inputs: Sequence[Path] = ()) -> None:
        """Check the names before a long computation ends in a wrong path."""
        if self._streams.count(STANDARD_OUTPUT) > 1:
            raise InputError(
                "--json, --csv and --markdown: only one of them can have the standard output."
            )
        files = self._files()
        for option, path in files:
            _check_output(path, option, force, inputs)
        if len({path.resolve() for _, path in files}) < len(files):
            raise InputError("two results cannot go to the same file.")
        _check_kind("--plot", self.plot, IMAGES, "matplotlib")
        _check_kind("--html", self.html, PAGES, "jinja2")
        _check_kind("--local-output", self.local, VALUES, "numpy")
        _check_kind("--output", self.kept, TABLES, "polars")

    @property
    def is_alone(self) -> bool:
        """Whether the standard output belongs to a program, not to a person."""
        return STANDARD_OUTPUT in self._streams

    @property
    def _streams(self) -> tuple[str | None, ...]:
        return (self.json, self.csv, self.markdown)

    def write(
        self, result: EffectsResult | Selection, local: LocalEffects | None = None
    ) -> list[Path]:
        """Write everything; returns the files."""
        if self.local is not None and local is not None:
            write_local(local, self.local)
        if self.html is not None:
            result.to_html(self.html, local=local)  # type: ignore[union-attr]
        if self.plot is not None:
            _save_plot(result, self.plot)
        self._write_json(result)
        self._write_csv(as_csv(result))
        self._write_markdown(result)
        return [path for _, path in self._files()]

    def write_comparison(
        self, found: Comparison, level: float = 0.95, units: Units | None = None
    ) -> list[Path]:
        """Write everything of a comparison; returns the files."""
        if self.html is not None:
            found.to_html(self.html)
        if self.plot is not None:
            _save_plot(found, self.plot, level=level, units=units or "share")
        self._write_json(found)
        self._write_csv(as_csv(found, level=level, units=units))
        return [path for _, path in self._files()]

    def write_many(self, many: ManyEffects) -> list[Path]:
        """Write what is asked for of many results; returns the files."""
        if self.html is not None:
            many.to_html(self.html)
        if self.plot is not None:
            _save_plot(many, self.plot)
        self._write_json(many)
        self._write_csv(as_csv(many))
        self._write_markdown(many)
        return [path for _, path in self._files()]

    def _write_json(self, result: EffectsResult | ManyEffects | Comparison | Selection) -> None:
        if self.json == STANDARD_OUTPUT:
            streams.write(result.to_json() + "\n")
        elif self.json is not None:
            result.to_json(self.json)

    def _write_csv(self, text: str) -> None:
        if self.csv == STANDARD_OUTPUT:
            streams.write(text)
        elif self.csv is not None:
            with replacing(self.csv) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="")

    def _write_markdown(self, result: EffectsResult | ManyEffects | Selection) -> None:
        if self.markdown == STANDARD_OUTPUT:
            streams.write(result.to_markdown())
        elif self.markdown is not None:
            result.to_markdown(self.markdown)

    def _files(self) -> list[tuple[str, Path]]:
        named = {"--json": self.json, "--csv": self.csv, "--plot": self.plot, "--html": self.html,
                 "--local-output": self.local, "--output": self.kept,
                 "--markdown": self.markdown}  # fmt: skip
        return [(option, Path(path)) for option, path in named.items()
                if path is not None and path != STANDARD_OUTPUT]  # fmt: skip


def _check_output(path: Path, option: str, force: bool, inputs: Sequence[Path]) -> None:
    try:
        is_file = check_target(path)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None
    if not path.resolve().parent.is_dir():
        raise InputError(f"{option}: there is no folder {path.parent}.")
    if any(path.resolve() == given.resolve() for given in inputs):
        raise InputError(f"{option}: {path} is what is to be read.")
    if is_file and path.exists() and not force:
        raise InputError(f"{option}: {path} already exists; use --force to overwrite it.")
    if is_file:
        _check_folder(path.resolve().parent, option)


def _check_folder(folder: Path, option: str) -> None:
    """Whether files can be made there: nothing but trying has a sure answer."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{option}: cannot write into {folder}: {error.strerror}.") from error


def _check_kind(option: str, path: Path | None, endings: tuple[str, ...], library: str) -> None:
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise InputError(f"{option}: {path} must end in one of {', '.join(endings)}.")
    if find_spec(library) is None:
        raise ModuleNotFoundError(name=library)


def _save_plot(
    result: EffectsResult | ManyEffects | Comparison | Selection, path: Path, **options: Any
) -> None:
    from shaff.show.plots import make_display

    make_display(result, **options).save(path)


def as_csv(
    result: EffectsResult | ManyEffects | LocalEffects | Comparison | Selection, **options: Any
) -> str:
    """Return the table of a result; names that a spreadsheet would run are text to it.

    Options are those of its ``to_frame``.

    Examples
    --------
    >>> from shaff.cli.outputs import as_csv
    >>> from shaff.results._example import example
    >>> print(as_csv(example(names=("=1+1", "bmi"))).splitlines()[2].split(",")[0])
    '=1+1
    """
    frame = result.to_frame("polars", **options)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([inert(name) for name in frame.columns])
    writer.writerows([_cell(entry) for entry in line] for line in frame.iter_rows())
    return file.getvalue()


def write_local(local: LocalEffects, path: Path) -> None:
    """Write values of rows, in the format that the ending of the file says."""
    if path.suffix.lower() == ".json":
        local.to_json(path)
        return
    with replacing(path) as temporary:
        temporary.write_text(as_csv(local), encoding="utf-8", newline="")


def _cell(entry: Any) -> str:
    """Text that is inert, numbers in full, and nothing for what was not computed."""
    if entry is None or entry != entry:
        return ""
    return repr(entry) if isinstance(entry, float) else inert(str(entry))


def inert(text: str) -> str:
    """Text that no spreadsheet runs.

    Examples
    --------
    >>> from shaff.cli.outputs import inert
    >>> inert("@SUM(A1)"), inert("age")
    ("'@SUM(A1)", 'age')
    """
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def public_call(words: Sequence[str]) -> str:
    """Return the command as a report may show it: without options that do not change the effects,
    and without folders, queries and what looks secret.

    Examples
    --------
    >>> from shaff.cli.outputs import public_call
    >>> public_call(["explain", "/home/me/a.sqlite", "--query", "SELECT 1", "--target", "y"])
    "shaff explain a.sqlite --query '...' --target y"
    """
    shown, before = [], ""
    for word in words:
        if word == "--quiet":
            continue
        option, equals, value = word.partition("=")
        if before in _PRIVATE:
            shown.append("...")
        elif option in _PRIVATE and equals:
            shown.append(f"{option}=...")
        elif option not in _NO_MATTER and before not in _NO_MATTER:
            shown.append(f"{option}={_public(value)}" if _is_option(word) else _public(word))
        before = "" if before in _WITH_VALUE else word
    # Quoted, so that nobody's shell runs it as it stands.
    return f"shaff {shlex.join(shown)}".replace(" ...", " '...'")


def _is_option(word: str) -> bool:
    return word.startswith("--") and "=" in word


def _public(word: str) -> str:
    # A path says where somebody works; its last part is what the table is called.
    name = Path(word).name if ("/" in word or "\\" in word) and not word.endswith("/") else word
    return _SECRET.sub("...", name)
