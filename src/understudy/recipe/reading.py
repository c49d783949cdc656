"""Read recipes from TOML. Unknown keys and wrong values are refused with their line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.consent import ConsentError, asking, trust_all
from understudy.base.errors import FileError, UnderstudyError, nearest_names
from understudy.base.fields import FieldError, build, convert, names_of, unknown_key
from understudy.base.toml import Place, line_of, read_toml
from understudy.constraints import Constraint, kinds
from understudy.figure.contacts import Contact, Detection
from understudy.figure.skeleton import Point
from understudy.recipe.props import PropPath, load_prop_path
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.plan import Options
from understudy.retarget.spec import AUTO, MIN_SPACING_SECONDS, PropEntry, Recipe, find_solver, parse_spacing, solvers

TABLES = ("actor", "reading", "options", "detection", "solver", "prop", "contact", "constraint")

SINGLE_ACTOR_KEYS = ("source", "target", "scale")
"""Keys outside any table, which describe the only actor in place of an [[actor]] table."""

RECIPE_OPTIONS = ("spacing", "contacts")
"""Keys of [options] that are fields of `Recipe`, not of `Options`."""

CONTACT_KEYS = ("actor", "point", "joint", "offset", "start", "end", "place", "velocity", "on", "other", "confidence")

PROP_FIELDS = {"path": "positions", "rotations": "rotations", "times": "times", "centre": "middle", "size": "size"}
"""Fields of a constraint that a prop can fill, with the attribute of `PropPath` that fills each."""


Bound = tuple[float, float]
"""The least and the greatest value."""

DETECTION_BOUNDS: dict[str, Bound] = {
    "speed": (0.0, 1e3), "share": (0.0, 1.0), "release": (0.0, 1e3), "radius": (1e-6, 1e3), "window": (0.0, 10.0),
    "shortest": (0.0, 1e3), "gap": (0.0, 1e3),
}  # fmt: skip
"""What the thresholds of contact detection may be. Beyond these they mean nothing, and searches do not end."""

LEVEL_BOUNDS: dict[str, Bound] = {
    "spacing": (0.0, 1e4), "rate": (0.1, 1e4), "stiffness": (1e-6, 1e9), "steps": (0, 10_000), "gain": (0.0, 1.0),
    "smoothing": (0.0, 10.0),
}  # fmt: skip
"""What the settings of a level of the solver may be."""

SOLVER_BOUNDS: dict[str, Bound] = {
    "margin": (0.0, 1.0), "softness": (1e-12, 1e6), "error": (1e-12, 1e3), "gain": (0.0, 1.0), "rate": (0.1, 1e4),
    "iterations": (0, 1_000_000), "rounds": (1, 1_000_000), "accuracy": (1e-15, 1.0), "settled": (0.0, 1.0),
    "cutoff": (1e-3, 1e4), "count": (2, 100_000), "seconds": (0.0, float("inf")),
}  # fmt: skip
"""What the options of solvers may be."""


def check_bounds(thing: Any, bounds: dict[str, Bound], keys: Place = ()) -> None:
    """Refuse a dataclass with a number that is out of bounds."""
    for name, bound in bounds.items():
        value = getattr(thing, name, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            _check_bound(value, bound, (*keys, name))


def _check_bound(value: float, bound: Bound, keys: Place) -> None:
    if not bound[0] <= value <= bound[1]:
        raise FieldError(f"expected a number from {bound[0]:g} to {bound[1]:g}, got {value:g}", keys)


def read_recipe(path: str | Path, *, trust: bool = False) -> Recipe:
    """Read a recipe; the files that it names are relative to its folder.

    Args:
        path: The recipe's file.
        trust: Whether to run the functions that it names. Otherwise functions to which the user has not agreed before
            raise an error that says what would be run.
    """
    table, lines = read_toml(path)
    reader = _RecipeReader(name=str(path), folder=Path(path).parent, table=table, lines=lines)
    if not trust:
        return reader.recipe()
    with asking(trust_all):
        return reader.recipe()


def recipe_from(table: dict[str, Any], folder: Path) -> Recipe:
    """Make a recipe from the tables of its file. A wrong value raises a `FieldError` with the keys that lead to it.

    Args:
        table: The tables, as `tomllib` returns them.
        folder: The folder that file names are relative to.
    """
    return _RecipeReader(name="", folder=folder, table=table, lines=None).recipe()


class _PlacedError(FieldError):
    """An error whose keys start at the top of the recipe."""


class _RecipeReader:
    """Converts the tables of one recipe. `lines` is None for tables that come from no file."""

    def __init__(self, name: str, folder: Path, table: dict[str, Any], lines: dict[Place, int] | None) -> None:
        self.name, self.folder, self.table, self.lines = name, folder, table, lines

    def recipe(self) -> Recipe:
        """The whole recipe."""
        for key in self.table:
            if key not in (*TABLES, *SINGLE_ACTOR_KEYS):
                self._at((), lambda key=key: self._refuse(key))  # type: ignore[misc]
        props = self._entries("prop", lambda table: build(PropEntry, table, folder=self.folder))
        prop_paths = {}
        for number, prop in enumerate(props):
            prop_paths[prop.name] = self._at(("prop", number), lambda prop=prop: load_prop_path(prop, self.folder))  # type: ignore[misc]
        options, spacing, listed = self._at(("options",), self._options)
        solver, solver_options = self._at(("solver",), self._solver)
        contacts = self._entries("contact", self._contact)
        return Recipe(
            actors=self._actors(),
            reading=self._at(("reading",), lambda: build(Reading, self.table.get("reading", {}))),
            options=options,
            spacing=spacing,
            solver=solver,
            solver_options=solver_options,
            contacts=contacts if listed or contacts else None,
            constraints=self._entries("constraint", lambda table: self._constraint(table, prop_paths)),
            props=props,
            folder=self.folder,
        )

    def _refuse(self, key: str) -> None:
        raise unknown_key(key, [*TABLES, *SINGLE_ACTOR_KEYS])

    def _at(self, place: Sequence[str | int], make: Callable[[], Any]) -> Any:
        """Call a function on a part of the recipe; errors get the file and line of that part."""
        try:
            return make()
        except (FileError, _PlacedError, ConsentError):
            raise
        except FieldError as error:
            full_place = (*place, *error.keys)
            raise self._error(full_place, f"{_describe(full_place)}{error.message}", error.hint) from None
        except UnderstudyError as error:
            raise self._error(place, error.message, error.hint) from None

    def _error(self, place: Sequence[str | int], problem: str, hint: str = "") -> UnderstudyError:
        """An error at a place in the recipe, with the file and line if there is a file."""
        if self.lines is None:
            return _PlacedError(problem, tuple(place), hint=hint)
        return FileError(self.name, line_of(self.lines, place), problem, hint=hint)

    def _entries(self, key: str, make: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Convert every entry of an array of tables."""
        entries = self.table.get(key, [])
        if not isinstance(entries, list):
            raise self._error((key,), f"expected a list of `{key}` tables", f"begin each table with [[{key}]]")
        return tuple(
            self._at((key, number), lambda table=table: make(table))  # type: ignore[misc]
            for number, table in enumerate(entries)
        )

    def _actors(self) -> tuple[ActorSpec, ...]:
        actors = self._entries("actor", lambda table: build(ActorSpec, table))
        single = {key: self.table[key] for key in SINGLE_ACTOR_KEYS if key in self.table}
        if single and actors:
            key = next(iter(single))
            raise self._error((key,), f"`{key}` is given outside the [[actor]] entries; put it into one of them")
        if single:
            return (self._at((), lambda: build(ActorSpec, single)),)
        names = [actor.name for actor in actors]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise self._error(
                    ("actor", number), f"two actors are called `{name}`; every actor needs a different name"
                )
        return actors

    def _options(self) -> tuple[Options, Any, bool]:
        table = self.table.get("options", {})
        detection = self._at(("detection",), self._detection)
        if isinstance(table, dict) and "detection" in table:
            raise FieldError("options of contact detection go into the table [detection]", ("detection",))
        options = build(Options, table, besides=RECIPE_OPTIONS)
        for joint, factor in (options.stiffness or {}).items():
            _check_bound(factor, (1e-6, 1e6), ("stiffness", joint))
        spacing = table.get("spacing", AUTO)
        try:
            spacing = parse_spacing(spacing)
        except UnderstudyError as error:
            raise FieldError(error.message, ("spacing",)) from None
        contacts = table.get("contacts", "detect")
        if contacts not in ("detect", "listed"):
            raise FieldError(f"expected `detect` or `listed`, got `{contacts}`", ("contacts",))
        if contacts == "detect" and "contacts" in table and self.table.get("contact"):
            raise FieldError("contacts are to be detected, but there are [[contact]] entries", ("contacts",))
        values = {name: getattr(options, name) for name in names_of(Options)}
        return Options(**{**values, "detection": detection}), spacing, contacts == "listed"

    def _detection(self) -> Detection:
        detection: Detection = build(Detection, self.table.get("detection", {}))
        check_bounds(detection, DETECTION_BOUNDS)
        return detection

    def _solver(self) -> tuple[str, dict[str, object]]:
        table = self.table.get("solver", {})
        if not isinstance(table, dict):
            raise FieldError('expected a table, such as [solver] with name = "spacetime" below')
        name = table.get("name", "spacetime")
        try:
            kind = find_solver(str(name))
        except UnderstudyError as error:
            raise FieldError(error.message, ("name",), hint=f"known: {', '.join(solvers())}") from None
        if "spacing" in table:
            raise FieldError("the spacing of keys goes into [options]", ("spacing",))
        solver = build(kind, {key: value for key, value in table.items() if key != "name"})
        check_bounds(solver, {key: bound for key, bound in SOLVER_BOUNDS.items() if key in table})
        for number, level in enumerate(getattr(solver, "levels", None) or ()):
            check_bounds(level, LEVEL_BOUNDS, ("levels", number))
            if 0.0 < level.spacing < MIN_SPACING_SECONDS:
                raise FieldError(f"expected 0 or at least {MIN_SPACING_SECONDS:g}", ("levels", number, "spacing"))
        for joint, factor in (getattr(solver, "slower", None) or {}).items():
            _check_bound(factor, (1e-3, 1e3), ("slower", joint))
        return kind.name, {key: getattr(solver, key) for key in table if key != "name"}

    def _contact(self, table: dict[str, Any]) -> Contact:
        for key in table:
            if key not in CONTACT_KEYS:
                raise unknown_key(key, list(CONTACT_KEYS))
        for key in ("point", "start", "end"):
            if key not in table:
                raise FieldError(f"`{key}` is missing", hint="a contact needs a point, a start and an end")
        types: dict[str, Any] = {
            "actor": str, "start": float, "end": float, "place": np.ndarray, "velocity": np.ndarray, "on": str,
            "confidence": float,
        }  # fmt: skip
        values = {key: _convert(table[key], key, types[key]) for key in types if key in table}
        for key, unit in (("place", "metres"), ("velocity", "metres a second")):
            vector = values.get(key)
            if vector is not None and (vector.shape != (3,) or not np.all(np.isfinite(vector))):
                raise FieldError(f"expected three finite numbers in {unit}, got {vector.tolist()}", (key,))
        other = None
        if "other" in table:
            if not isinstance(table["other"], dict):
                raise FieldError("expected a table such as { point = NAME, joint = NAME }", ("other",))
            other = _point(table["other"], ("other",))
        return Contact(point=_point(table, ()), other=other, **values)

    def _constraint(self, table: Any, prop_paths: dict[str, PropPath]) -> Constraint:
        if not isinstance(table, dict) or "kind" not in table:
            raise FieldError("`kind` is missing", hint=f"kinds are {', '.join(kinds())}")
        kind = table["kind"]
        if kind not in tuple(kinds()):
            message = f"there is no kind `{kind}`; {nearest_names(str(kind), kinds())}"
            raise FieldError(message, ("kind",), hint=f"kinds are {', '.join(kinds())}")
        fields = {key: value for key, value in table.items() if key not in ("kind", "prop")}
        if "spot" in fields and "point" in names_of(kinds()[kind]):
            # Older recipes spell the key `point` of a constraint `spot`.
            if "point" in fields:
                raise FieldError("`spot` is the older spelling of `point`; expected one of them, got both", ("spot",))
            fields["point"] = fields.pop("spot")
        if "prop" in table:
            fields = {**_fields_from_prop(kinds()[kind], table["prop"], prop_paths), **fields}
        constraint: Constraint = build(kinds()[kind], fields, folder=self.folder, besides=())
        constraint.check_times()
        return constraint


def _fields_from_prop(kind: type[Constraint], name: Any, prop_paths: dict[str, PropPath]) -> dict[str, Any]:
    """The fields of a constraint that a prop fills."""
    if name not in tuple(prop_paths):
        raise FieldError(f"there is no prop `{name}`; {nearest_names(str(name), prop_paths)}", ("prop",))
    names = names_of(kind)
    fields = {key: getattr(prop_paths[name], attribute) for key, attribute in PROP_FIELDS.items() if key in names}
    if not fields:
        raise FieldError(f"kind `{kind.kind}` takes nothing from a prop", ("prop",))
    return {key: value.tolist() for key, value in fields.items() if value is not None}


def _point(table: dict[str, Any], keys: Place) -> Point:
    """A point: its name, and the joint and offset if it is not at a joint."""
    allowed = ("point", "joint", "offset")
    for key in table:
        if keys and key not in allowed:
            error = unknown_key(key, list(allowed))
            raise FieldError(error.message, (*keys, key), hint=error.hint)
    name = _convert(table.get("point", ""), "point", str)
    joint = _convert(table.get("joint", name), "joint", str)
    offset = _convert(table.get("offset", [0.0, 0.0, 0.0]), "offset", np.ndarray)
    try:
        return Point(name=name, joint=joint, offset=offset)
    except UnderstudyError as error:
        raise FieldError(error.message, (*keys, "offset")) from None


def _convert(value: Any, key: str, hint: Any) -> Any:
    try:
        return convert(value, hint)
    except FieldError as error:
        raise FieldError(error.message, (key, *error.keys), hint=error.hint) from None


def _describe(place: Place) -> str:
    """A place in the recipe as the start of a message: `contact 3, start: `."""
    parts: list[str] = []
    for key in place:
        if isinstance(key, int) and parts and parts[-1] in TABLES:
            parts[-1] = f"{parts[-1]} {key + 1}"
        elif not isinstance(key, int):
            parts.append(key)
    return f"{', '.join(parts)}: " if parts else ""
