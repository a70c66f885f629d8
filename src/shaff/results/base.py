"""What every result has in common: it is saved as JSON, summarised as text or Markdown, and drawn.

A file says which class it holds and in which version, in the fields ``format`` and
``format_version``; `shaff.load_result` reads it back. Results stand below what shows them, so the
three calls upwards are imported when they are made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from shaff._util.files import replacing
from shaff._util.json import encoded
from shaff._util.numbers import is_number
from shaff.errors import InputError
from shaff.results.schema import check_content

if TYPE_CHECKING:
    from shaff.show.plots import Display as Display


class Result:
    """Base of the results, all of which are frozen dataclasses."""

    _format: ClassVar[str]
    # The last version is the one that is written.
    _versions: ClassVar[tuple[int, ...]] = (1,)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the result as JSON, which `shaff.load_result` reads back bit for bit.

        Parameters
        ----------
        path : path or None, default=None
            File to write as well. It appears whole or not at all.

        Returns
        -------
        str

        Examples
        --------
        >>> from shaff import load_result
        >>> from shaff.results._example import example
        >>> load_result(example().to_json()).effects.tolist()
        [0.1, 0.3]
        """
        lines = [
            f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}"
            for name, value in encoded(self._saved()).items()
        ]
        text = "{\n" + ",\n".join(lines) + "\n}"
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text + "\n", encoding="utf-8")
        return text

    def to_markdown(
        self, path: str | os.PathLike[str] | None = None, *, max_lines: int = 50
    ) -> str:
        """Return the result as Markdown: title, headline, tables, and all notes.

        Issues, pull requests and wikis show it as a page; language models read it as it stands.

        Parameters
        ----------
        path : path or None, default=None
            File to write as well. It appears whole or not at all.
        max_lines : int, default=50
            Lines of each table, the largest effects first; a sentence says how many more there are.

        Returns
        -------
        str

        Examples
        --------
        >>> from shaff.results._example import example
        >>> print(example(target="price").to_markdown().splitlines()[2])
        **Two inputs carry all of what can be explained of price: bmi and age.**
        """
        from shaff.show.markdown import markdown

        if max_lines < 1:
            raise InputError(f"max_lines must be at least 1, got {max_lines!r}.")
        text = markdown(self, max_lines)
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return text

    def _saved(self) -> dict[str, Any]:
        """Content of a file, with its header."""
        header = {"format": self._format, "format_version": self._versions[-1]}
        return {**header, **self._content()}

    def _content(self) -> dict[str, Any]:
        """Plain values of the fields, from which `_from_content` makes the result again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def _from_content(cls, content: Mapping[str, Any]) -> Self:
        check_content(content, cls)
        known = {field.name for field in fields(cls)} & content.keys()  # type: ignore[arg-type]
        return cls(**{name: content[name] for name in known})

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled and copied arrays are writable: freeze them again.
        self.__dict__.update(state)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check and freeze the fields."""

    def _set(self, checked: Mapping[str, Any]) -> None:
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _summary(self, limit: int, **options: Any) -> str:
        from shaff.show.text import summary

        return summary(self, limit, **options)

    def _plot(self, kind: str, **options: Any) -> Display:
        from shaff.show.plots import plot

        return plot(self, kind, **options)


def check_level(level: float) -> None:
    """Refuse levels of intervals that do not lie between 0 and 1."""
    if not is_number(level) or not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level!r}.")
