"""How inputs stand to each other: layers of an order, and groups of groups.

An order has layers; inputs of one layer come before those of the next. A hierarchy has groups whose
members are inputs. Both say which orders of the inputs an effect is an average over: those in which
the layers follow each other, or those in which the members of a group stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaff._util.typing import BoolArray, IntArray, IntpArray, Players, is_list, is_whole
from shaff._util.words import listed
from shaff.errors import InputError, InputTypeError
from shaff.subsets import Subsets

Order = Sequence[Sequence[str | int] | str | int]
FlatGroups = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of an order: a game of its own, once the inputs before it are known.

    Its subsets are those of its members; each stands for their union with all that come before.

    Parameters
    ----------
    before : bool array of shape (n_players,)
        Players of earlier layers.
    members : int array
        Players of the layer.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import Layer
    >>> from shaff.subsets import Subsets
    >>> layer = Layer(np.array([True, False, False]), np.array([1, 2]))
    >>> layer.lifted(Subsets.singletons(2)).masks().astype(int).tolist()
    [[1, 1, 0], [1, 0, 1]]
    """

    before: BoolArray
    members: IntpArray

    @property
    def after(self) -> BoolArray:
        """Players that are known once the layer is."""
        known = self.before.copy()
        known[self.members] = True
        return known

    def lifted(self, subsets: Subsets) -> Subsets:
        """Return subsets of the members together with all players before them."""
        masks = np.tile(self.before, (len(subsets), 1))
        masks[:, self.members] = subsets.masks()
        return Subsets.from_masks(masks)

    def places(self, masks: BoolArray) -> IntArray:
        """Return which of some subsets of all players lie strictly inside the layer."""
        after = self.after
        within = (masks >= self.before).all(axis=1) & (masks <= after).all(axis=1)
        n_members = masks[:, self.members].sum(axis=1)
        return np.flatnonzero(within & (n_members > 0) & (n_members < len(self.members)))

    def taken(self, masks: BoolArray) -> BoolArray:
        """Return what subsets of all players hold of the layer."""
        return masks[:, self.members]


def layers_of(codes: IntpArray) -> tuple[Layer, ...]:
    """Return the layers, given the place of each player's layer.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import layers_of
    >>> [layer.members.tolist() for layer in layers_of(np.array([1, 0, 1]))]
    [[1], [0, 2]]
    """
    return tuple(Layer(codes < k, np.flatnonzero(codes == k)) for k in range(codes.max() + 1))


@dataclass(frozen=True, eq=False)
class Structure:
    """The order and the hierarchy of some inputs; a plain game has neither.

    Parameters
    ----------
    order : int array of shape (n_inputs,) or None, default=None
        Place of the layer that each input is in.
    unions : int array of shape (n_inputs,) or None, default=None
        Code of the upper group that each input is in.
    union_names : tuple of str, default=()
        Names of the upper groups.
    """

    order: IntpArray | None = None
    unions: IntpArray | None = None
    union_names: tuple[str, ...] = ()

    @property
    def parts(self) -> IntpArray | None:
        """Code of the part of the inputs within which all are treated alike; None if all are."""
        return self.unions if self.order is None else self.order

    def among(self, places: IntpArray) -> Structure:
        """Return the structure of the inputs at these places, in their order."""
        order, unions = self.order, self.unions
        return Structure(
            None if order is None else order[places],
            None if unions is None else unions[places],
            self.union_names,
        )

    def layers(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Return the names of the inputs of each layer; none without an order."""
        if self.order is None:
            return ()
        return tuple(
            tuple(names[j] for j in np.flatnonzero(self.order == k))
            for k in range(self.order.max() + 1)
        )

    def hierarchy(self, names: tuple[str, ...]) -> dict[str, tuple[str, ...]] | None:
        """Return the names of the inputs of each upper group; None without a hierarchy."""
        if self.unions is None:
            return None
        return {
            union: tuple(names[j] for j in np.flatnonzero(self.unions == k))
            for k, union in enumerate(self.union_names)
        }


PLAIN = Structure()


def flattened(groups: Any) -> tuple[Any, dict[str, str]]:
    """Return groups of columns without the upper level, and the upper group of those that have one.

    Examples
    --------
    >>> from shaff.data.structure import flattened
    >>> flattened({"home": {"size": ["area", "rooms"], "place": ["x", "y"]}, "age": ["year"]})[1]
    {'size': 'home', 'place': 'home'}
    """
    if not isinstance(groups, Mapping) or not any(isinstance(g, Mapping) for g in groups.values()):
        return groups, {}
    flat: FlatGroups = {}
    upper: dict[str, str] = {}
    for label, inside in groups.items():
        parts = inside if isinstance(inside, Mapping) else {label: inside}
        if not parts:
            raise InputError(
                f"The group {label!r} has no groups in it: name some, or leave it out."
            )
        for name, columns in parts.items():
            _check_part(str(label), str(name), columns, flat)
            flat[str(name)] = columns
            if isinstance(inside, Mapping):
                upper[str(name)] = str(label)
    return flat, upper


def _check_part(label: str, name: str, columns: Any, flat: FlatGroups) -> None:
    if isinstance(columns, Mapping):
        raise InputError(
            f"groups[{label!r}][{name!r}] has groups in it: there are two levels, not three."
        )
    if name in flat:
        raise InputError(f"Two groups are named {name!r}: rename one of them.")


def read_structure(
    order: Any, upper: Mapping[str, str], players: Players, names: tuple[str, ...],
    columns: tuple[str, ...],
) -> Structure:  # fmt: skip
    """Return the structure of inputs, checked.

    Parameters
    ----------
    order : list of lists of str or int, or None
        Names of inputs, or places of columns, layer by layer.
    upper : dict of str
        Upper group of the inputs that have one; see `flattened`.
    players : list of int arrays
        Columns of the inputs.
    names, columns : tuples of str
        Names of the inputs, and of all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import read_structure
    >>> names = ("age", "sex", "bmi")
    >>> players = [np.array([j]) for j in range(3)]
    >>> read_structure([["age", "sex"], ["bmi"]], {}, players, names, names).order.tolist()
    [0, 0, 1]
    """
    if order is not None and upper:
        raise InputError("order and groups of groups do not go together: leave out one of them.")
    if upper:
        return _read_unions(upper, names)
    if order is None:
        return PLAIN
    return Structure(order=_read_order(order, _Inputs(players, names, columns)))


def _read_unions(upper: Mapping[str, str], names: tuple[str, ...]) -> Structure:
    """Inputs without an upper group are one by themselves."""
    clash = [label for label in upper.values() if label in names]
    if clash:
        raise InputError(f"The group {clash[0]!r} has the name of an input: rename one of them.")
    labels = [upper.get(name, name) for name in names]
    union_names = tuple(dict.fromkeys(labels))
    codes = np.array([union_names.index(label) for label in labels], dtype=np.intp)
    return Structure(unions=codes, union_names=union_names)


class _Inputs:
    """Finds inputs as an order names them."""

    def __init__(self, players: Players, names: tuple[str, ...], columns: tuple[str, ...]) -> None:
        self.names, self._columns = names, columns
        self._player_of = {int(j): k for k, player in enumerate(players) for j in np.ravel(player)}
        self._n_columns = [np.size(player) for player in players]

    def find(self, given: Any) -> int:
        """Return the place of an input, by its name or by the place of its column."""
        if isinstance(given, str) and given in self.names:
            return self.names.index(given)
        is_column = isinstance(given, str) and given in self._columns
        column = self._columns.index(given) if is_column else given
        if not is_whole(column) or int(column) not in self._player_of:
            raise InputError(
                f"order names {given!r}, which is no input; there are {listed(self.names)}."
            )
        player = self._player_of[int(column)]
        if self.names[player] != self._columns[int(column)]:
            raise InputError(
                f"order names the column {given!r}, which is in the group {self.names[player]!r}: "
                "name the group."
            )
        return player


def _read_order(order: Any, inputs: _Inputs) -> IntpArray:
    if not is_list(order):
        raise InputTypeError('order must be a list of layers, such as [["age", "sex"], ["bmi"]].')
    codes = np.full(len(inputs.names), -1, dtype=np.intp)
    for place, layer in enumerate(order):
        alone = isinstance(layer, str) or is_whole(layer)
        if not alone and not is_list(layer):
            raise InputTypeError(f"Layer {place + 1} of order is no list of inputs: {layer!r}.")
        members = [inputs.find(each) for each in ([layer] if alone else layer)]
        if not members:
            raise InputError(f"Layer {place + 1} of order is empty: name inputs, or leave it out.")
        for j in members:
            _check_new(inputs.names[j], codes[j], place)
            codes[j] = place
    missing = [inputs.names[j] for j in np.flatnonzero(codes < 0)]
    if missing:
        raise InputError(f"order lacks {listed(missing)}: each input must be in one layer.")
    return codes


def _check_new(name: str, known: int, place: int) -> None:
    if known == place:
        raise InputError(f"order names {name!r} twice in layer {place + 1}.")
    if known >= 0:
        raise InputError(
            f"order names {name!r} in layer {known + 1} and in layer {place + 1}: an input is in "
            "one layer only."
        )
