"""Options that make an outcome of the target and another column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaff.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class OutcomeWords:
    """What is explained of the target, in the user's words; see `shaff.outcomes`.

    Parameters
    ----------
    event : str or None, default=None
        Column that says whether the event was observed at the time that the target holds.
    horizon : float or None, default=None
    of : str or None, default=None
    exceeds : str or None, default=None
        A limit, or a quantile with "q" before it.
    exposure : str or None, default=None
        Column that the counts of the target are divided by.
    """

    event: str | None = None
    horizon: float | None = None
    of: str | None = None
    exceeds: str | None = None
    exposure: str | None = None

    def check(self, classes: bool) -> None:
        """Refuse options that contradict each other, before anything is read."""
        given = {"--event": self.event, "--exceeds": self.exceeds, "--exposure": self.exposure}
        asked = [option for option, word in given.items() if word is not None]
        asked += ["--classes"] * classes
        if len(asked) > 1:
            raise InputError(f"{asked[0]} and {asked[1]} make different outcomes: give one.")
        if self.event is None and (self.horizon is not None or self.of is not None):
            option = "--of" if self.horizon is None else "--horizon"
            raise InputError(f"{option} is about times until an event: name its column by --event.")
        if self.exceeds is not None:
            self._limit()

    @property
    def columns(self) -> dict[str, str | None]:
        """Columns that are part of the outcome beside the target, by option."""
        return {"--event": self.event, "--exposure": self.exposure}

    def outcome(self, frame: pl.DataFrame, target: pl.Series) -> Any:
        """Return the outcome; the target itself if nothing else is asked for."""
        from shaff.outcomes import exceeds, rate, survival_outcome

        if self.event is not None:
            of: Any = self.of or "restricted_mean"
            return survival_outcome(target, frame[self.event], horizon=self.horizon, of=of)
        if self.exposure is not None:
            return rate(target, frame[self.exposure])
        return target if self.exceeds is None else exceeds(target, **self._limit())

    def _limit(self) -> dict[str, float]:
        word = (self.exceeds or "").strip()
        is_quantile = word.startswith("q")
        try:
            number = float(word.removeprefix("q"))
        except ValueError:
            raise InputError(
                f"--exceeds: {self.exceeds!r} is no limit: write 10, or q0.9 for a quantile."
            ) from None
        return {"quantile": number} if is_quantile else {"limit": number}
