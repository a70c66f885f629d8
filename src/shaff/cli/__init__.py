"""The command ``shaff``: its entry, and what it says when something is wrong.

The commands themselves are in `shaff.cli.commands`, which needs typer, rich and polars; this module
needs none of them, so that a missing one gets a sentence and not a traceback. Errors of words,
files and data are sentences too; what no part of shaff expected is a bug and keeps its traceback.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

from shaff._util.interrupts import INTERRUPTED, Interrupts
from shaff.cli.streams import flush, hang_up, settle
from shaff.errors import UserError

_EXTRAS = {"typer": "cli", "rich": "cli", "polars": "cli", "matplotlib": "cli", "jinja2": "report"}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 for success, 2 for an error, 130 for Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after ``shaff``; None takes those of the process.

    Examples
    --------
    >>> from shaff.cli import main
    >>> main(["explain", "no-such-file.csv", "--target", "y"])
    Traceback (most recent call last):
        ...
    SystemExit: 2
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        # A name that a terminal cannot show is no reason to lose the answer.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with Interrupts(ends=arguments is None) as interrupts, warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = _code(words)
        except BaseException:
            # Imports may turn Ctrl-C into an error of their own.
            if not interrupts.came:
                raise
            code = INTERRUPTED
        if code == INTERRUPTED:
            _fail("interrupted")
            settle()
            interrupts.is_told = True
    sys.exit(code)


def _code(words: list[str]) -> int:
    """Run the command; returns the exit code, and says what is wrong."""
    try:
        code = _run(words)
        flush()
        return code
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _fail(f'this command needs {error.name}: pip install "shaff[{extra}]"')
    except (UserError, OSError, ImportError, MemoryError) as error:
        if "--debug" in words:
            raise
        settle()
        return _fail(_said(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        # By typer and rich, when nobody reads the help any more.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        hang_up()
        return 0


def _said(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "memory is full: explain fewer rows (--max-rows) or columns (--drop)."
    if isinstance(error, OSError) and error.strerror:
        # Written beside its place first, a file has a name that nobody knows.
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


def _run(words: list[str]) -> int:
    from shaff.cli.commands import Abort, UsageError, app

    try:
        return int(app(args=words, prog_name="shaff", standalone_mode=False, obj=words) or 0)
    except UsageError as error:
        # As some versions of typer begin what an option says of its value.
        return _fail(error.format_message().replace("Value error, ", ""))
    except Abort:
        return INTERRUPTED


def _fail(message: str) -> int:
    print("shaff:", " ".join(message.split()), file=sys.stderr)
    return 2


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print("shaff: warning:", " ".join(str(message).split()), file=sys.stderr)
