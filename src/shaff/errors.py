"""Errors about what a user gave: settings, data, files.

`InputError` is a `ValueError` and `InputTypeError` a `TypeError`, so code that catches those keeps
working; `UserError` is both. Anything else that shaff raises is a bug of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten

# Characters of what another library says; some print whole columns.
LONGEST_REASON = 200


class UserError(Exception):
    """An error whose message is one sentence that tells the user what to change.

    Examples
    --------
    >>> from shaff.errors import InputError, InputTypeError, UserError
    >>> issubclass(InputError, ValueError), issubclass(InputTypeError, TypeError)
    (True, True)
    >>> issubclass(InputError, UserError)
    True
    """


class InputError(UserError, ValueError):
    """A value that cannot be used."""


class InputTypeError(UserError, TypeError):
    """A value of a type that cannot be used."""


class WorkersLostError(UserError, RuntimeError):
    """Worker processes were lost repeatedly, and their work with them."""


class MemoryFullError(UserError, MemoryError):
    """Memory that does not hold what a fit needs."""


class StorageError(UserError, OSError):
    """A place that cannot be read or written."""


@contextmanager
def as_user_errors() -> Iterator[None]:
    """Turn errors of other libraries about the user's data into user errors."""
    try:
        yield
    except UserError:
        raise
    except OverflowError as error:
        raise InputError(
            "The data hold a number beyond all floating-point numbers: replace it."
        ) from error
    except ValueError as error:
        raise InputError(_in_one_line(error)) from error
    except TypeError as error:
        raise InputTypeError(_in_one_line(error)) from error


@contextmanager
def as_fitting_errors(name: str) -> Iterator[None]:
    """Say in one sentence why a model of another library cannot be fitted."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{name} cannot be fitted to these rows ({reason_of(error)}).") from error


@contextmanager
def words_for_full_memory() -> Iterator[None]:
    """Turn what a library says of memory into a sentence about rows and columns."""
    try:
        yield
    except UserError:
        raise
    except MemoryError as error:
        raise MemoryFullError(
            "memory is full: take fewer rows (max_rows), fewer columns, or fewer n_jobs."
        ) from error


def _in_one_line(error: Exception) -> str:
    text = str(error)
    if "\n" in text:  # scikit-learn prints the array that it does not like
        text = re.sub(r"(array=)?\[.*\]\.?", "", text, flags=re.DOTALL)
    return " ".join(text.split())


def reason_of(error: BaseException) -> str:
    """Return the kind of an error and what it says, in one line that is not too long.

    Examples
    --------
    >>> from shaff.errors import reason_of
    >>> reason_of(ValueError("cut short\\n  at byte 7."))
    'ValueError: cut short at byte 7'
    """
    text = shorten(str(error), LONGEST_REASON, placeholder=" …").removesuffix(".")
    return f"{type(error).__name__}: {text}"


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or else its kind.

    Examples
    --------
    >>> from shaff.errors import first_line
    >>> first_line(ValueError("cut short\\n  at byte 7")), first_line(EOFError())
    ('cut short', 'EOFError')
    """
    return str(error).strip().partition("\n")[0] or type(error).__name__
