"""Errors about what a user gave: settings, data, files.

`InputError` is a `ValueError` and `InputTypeError` a `TypeError`, so code that catches those keeps
working; `UserError` is both. Anything else that shaff raises is a bug of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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


class StorageError(UserError, OSError):
    """A place that cannot be read or written."""


@contextmanager
def as_user_errors() -> Iterator[None]:
    """Turn errors of other libraries about the user's data into user errors."""
    try:
        yield
    except UserError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
    except TypeError as error:
        raise InputTypeError(str(error)) from error
