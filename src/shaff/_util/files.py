"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shaff.errors import InputError, InputTypeError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` when the block ends without error.

    The name keeps its suffix, since writers such as matplotlib choose their format by it. What is
    no file but a stream (a pipe, a terminal) is never replaced: it is written into.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shaff._util.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    replace = _replacing_file if check_target(path) else _filling_stream
    with replace(Path(path)) as temporary:
        yield temporary


def check_target(path: str | os.PathLike[str]) -> bool:
    """Return True for a file or a free name, False for a stream; refuse anything else.

    Examples
    --------
    >>> from shaff._util.files import check_target
    >>> check_target("free-name.json")
    True
    >>> check_target(".")
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: cannot write to .: it is a folder.
    """
    if not isinstance(path, str | os.PathLike):  # a number would be an open file
        raise InputTypeError(f"cannot write to {path!r}: it is no path.")
    try:
        mode = os.stat(path).st_mode  # of what a link points to
    except (FileNotFoundError, NotADirectoryError):
        return True
    refused = ((stat.S_ISDIR, "folder"), (stat.S_ISBLK, "disk"), (stat.S_ISSOCK, "socket"))
    for is_kind, kind in refused:
        if is_kind(mode):
            raise InputError(f"cannot write to {os.fspath(path)}: it is a {kind}.")
    return stat.S_ISREG(mode)


@contextmanager
def _replacing_file(path: Path) -> Iterator[Path]:
    # Through a link, the file it points to is replaced, not the link.
    target = path.resolve()
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _filling_stream(path: Path) -> Iterator[Path]:
    """Write into a stream once all bytes are there; put nothing beside it."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / f"stream{path.suffix}"
        yield temporary
        with temporary.open("rb") as source, path.open("wb") as stream:
            shutil.copyfileobj(source, stream)
