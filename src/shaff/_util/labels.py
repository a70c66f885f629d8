"""Labels of any kind as text, and as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.numbers import EXACT, unmasked
from shaff._util.typing import IntpArray, is_list
from shaff.errors import InputError


def text_of(label: Any) -> str:
    """Return a label as text; bytes are read as UTF-8, and those that are not keep their code.

    Examples
    --------
    >>> from shaff._util.labels import text_of
    >>> text_of(1), text_of(b"a"), text_of(b"\\xff")
    ('1', 'a', '\\\\xff')
    """
    return label.decode("utf-8", "backslashreplace") if isinstance(label, bytes) else spelt(label)


def spelt(label: Any) -> str:
    """Return ``str(label)``; Python refuses to spell numbers of thousands of digits.

    Examples
    --------
    >>> from shaff._util.labels import spelt
    >>> spelt(1.5)
    '1.5'
    """
    try:
        return str(label)
    except ValueError as error:
        raise InputError("A label is a number of thousands of digits: pass it as text.") from error


def two_labels(labels: Any) -> tuple[str, str]:
    """Return what two things are called: two different names.

    Examples
    --------
    >>> from shaff._util.labels import two_labels
    >>> two_labels((2023, 2024))
    ('2023', '2024')
    """
    said = tuple(map(text_of, labels)) if is_list(labels) else ()
    if len(said) != 2 or said[0] == said[1]:
        raise InputError(f"labels={labels!r}: give a pair of different names.")
    return said[0], said[1]


def label_array(labels: Any) -> npt.NDArray[Any]:
    """Return labels of any library as an array, of Python's text if they are text.

    Examples
    --------
    >>> import polars as pl
    >>> from shaff._util.labels import label_array
    >>> label_array(["a\\x00", "a"]).tolist(), label_array(pl.Series([1, 2])).tolist()
    (['a\\x00', 'a'], [1, 2])
    """
    plain = unmasked(labels.to_numpy() if hasattr(labels, "to_numpy") else labels)
    array = np.asarray(plain)
    if isinstance(plain, np.ndarray) or not (array.dtype.kind in "US" or _is_rounded(array)):
        return array
    return np.asarray(plain, dtype=object)


def _is_rounded(array: npt.NDArray[Any]) -> bool:
    """Whether integers of a list may have become equal: numpy has no type for all of them."""
    return array.dtype.kind == "f" and bool((np.abs(array) > EXACT).any())


def label_codes(labels: npt.NDArray[Any]) -> tuple[tuple[str, ...], IntpArray]:
    """Return the different labels as text, in the order of letters, and the code of each row.

    numpy's own text drops zero bytes at the end, so that labels which differ by them are compared
    as Python's text.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.labels import label_codes
    >>> names, codes = label_codes(np.array(["b", "a\\x00", "a"], dtype=object))
    >>> names, codes.tolist()
    (('a', 'a\\x00', 'b'), [2, 1, 0])
    """
    if labels.dtype.kind in "OS":
        texts = [text_of(label) for label in labels.tolist()]
    else:
        distinct, place = np.unique(labels, return_inverse=True)
        texts = distinct.astype(str).tolist()
    names = tuple(sorted(set(texts)))
    code = {name: k for k, name in enumerate(names)}
    codes = np.array([code[text] for text in texts], dtype=np.intp)
    return names, codes if labels.dtype.kind in "OS" else codes[place]
