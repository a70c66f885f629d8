"""Pricing subsets: each once, in chunks, with a progress bar, and saved as they go."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import joblib
import numpy as np

from shaff._files import replacing
from shaff._typing import BoolArray
from shaff.progress import Progress, Silent
from shaff.protocols import ValueFunction, Values
from shaff.subsets import Subsets

# Subsets between two looks at progress and checkpoint. More, and a stop loses more; fewer, and
# the kernels share less of a tree's preparation (`benchmarks.pairs`).
CHUNK = 64


class Evaluator:
    """Prices each subset once, whoever asks for it.

    Parameters
    ----------
    values : ValueFunction
    checkpoint : Checkpoint or None
        Where chunks are saved, and found again by another run.
    progress : Progress or None
    priced : Values or None
        What has been priced already, with influences.

    Examples
    --------
    >>> from shaff.datasets import experiment_1a
    >>> from shaff.data.problem import Problem
    >>> from shaff.evaluator import Evaluator
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.ridge import RidgeValues
    >>> exp = experiment_1a(n=100, random_state=0)
    >>> evaluator = Evaluator(RidgeValues(Problem.of(exp.X, exp.y, random_state=0)))
    >>> twice = [evaluator.price(Subsets.full(15)).v[0] for _ in range(2)]
    >>> evaluator.n_priced, bool(twice[0] == twice[1])
    (1, True)
    """

    def __init__(
        self,
        values: ValueFunction,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
        priced: Values | None = None,
    ) -> None:
        self._values, self._checkpoint = values, checkpoint
        self.progress = progress or Silent()
        self.n_players = values.n_players
        # Where a subset was priced: a chunk of values, and the place in it; without influences
        # (False) and with them (True).
        self._found: dict[bool, dict[bytes, tuple[Values, int]]] = {False: {}, True: {}}
        if priced is not None:
            self._remember(priced, influences=True)

    @property
    def n_priced(self) -> int:
        """Subsets that have been priced."""
        return len(self._found[False].keys() | self._found[True].keys())

    def price(
        self, subsets: Subsets, *, influences: bool = True, total: int | None = None
    ) -> Values:
        """Values in the order of the subsets; those that are not known yet chunk by chunk.

        The values do not depend on the chunks. ``total`` is what the progress bar is to end at.
        """
        new = subsets[self._is_new(subsets, influences)].unique()
        for start in range(0, len(new), CHUNK):
            chunk = self._price_chunk(new[start : start + CHUNK], influences)
            self._remember(chunk, influences)
            self.progress.update(self.n_priced, total)
        return replace(self._gather(subsets, influences), subsets=subsets)

    def n_new(self, subsets: Subsets) -> int:
        """How many of the subsets have not been priced yet."""
        return len(subsets[self._is_new(subsets, influences=False)].unique())

    def _is_new(self, subsets: Subsets, influences: bool) -> BoolArray:
        new = [self._find(key, influences) is None for key in subsets.keys()]
        return np.array(new, dtype=bool)

    def _find(self, key: bytes, influences: bool) -> tuple[Values, int] | None:
        found = self._found[True].get(key)
        return self._found[False].get(key) if found is None and not influences else found

    def _price_chunk(self, chunk: Subsets, influences: bool) -> Values:
        values = self._checkpoint.load(chunk, influences) if self._checkpoint else None
        if values is None:
            values = self._values.values(chunk, influences=influences)
            if self._checkpoint:
                self._checkpoint.save(values, influences)
        return values

    def _remember(self, values: Values, influences: bool) -> None:
        for place, key in enumerate(values.subsets.keys()):
            self._found[influences][key] = (values, place)

    def _gather(self, subsets: Subsets, influences: bool) -> Values:
        """What was priced, in the order of the subsets; neighbours in a chunk at once."""
        runs: list[tuple[Values, int, int]] = []
        for key in subsets.keys():
            found = self._find(key, influences)
            assert found is not None
            values, place = found
            if runs and runs[-1][0] is values and runs[-1][2] == place:
                runs[-1] = (values, runs[-1][1], place + 1)
            else:
                runs.append((values, place, place + 1))
        parts = [values[first:end] for values, first, end in runs]
        if not influences:
            parts = [part.without_rows() for part in parts]
        return Values.concatenate(parts)


class Checkpoint:
    """Priced chunks as files: written whole or not at all, found again by their content.

    The name of a file is a hash of the run (``fingerprint``: data, model, settings) and of the
    chunk's subsets, so another run never reads it by mistake.
    """

    def __init__(self, directory: str | os.PathLike[str], fingerprint: bytes) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.fingerprint = fingerprint

    def _path(self, subsets: Subsets, influences: bool) -> Path:
        digest = hashlib.sha256(self.fingerprint + bytes([influences]) + subsets.words.tobytes())
        return self.directory / f"{digest.hexdigest()[:32]}.npz"

    def load(self, subsets: Subsets, influences: bool) -> Values | None:
        """The chunk's values, if a run has saved them; a damaged file counts as none."""
        try:
            path = self._path(subsets, influences)
            with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                values = Values(subsets, **{name: saved[name] for name in saved})
        except (OSError, ValueError, TypeError, EOFError, BadZipFile, zlib.error):
            return None
        return values if len(values.v) == len(subsets) else None

    def save(self, values: Values, influences: bool) -> None:
        """Write the chunk whole or not at all."""
        arrays = {field.name: getattr(values, field.name) for field in fields(values)}
        del arrays["subsets"]
        with replacing(self._path(values.subsets, influences)) as temporary:
            np.savez(temporary, **{name: a for name, a in arrays.items() if a is not None})


def fingerprint(*parts: Any) -> bytes:
    """A hash of arrays, models and plain settings, the same in every process."""
    digest: str = joblib.hash(parts, hash_name="sha1")
    return digest.encode()
