"""Recipes read from TOML: every key is known or refused, with the line it is on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import FileError, UnderstudyError, nearest_names
from understudy.base.fields import FieldError, build, convert, names_of, unknown_key
from understudy.base.files import open_to_read
from understudy.base.toml import Place, find_lines, line_of
from understudy.constraints import Constraint, kinds
from understudy.figure.contacts import Contact, Detection
from understudy.figure.skeleton import Point
from understudy.recipe.props import PropPath, load_course
from understudy.retarget.plan import Options
from understudy.retarget.spec import AUTO, ActorSpec, PropEntry, Reading, Recipe, parse_spacing
from understudy.solve.solvers import find_solver, solvers

TABLES = ("actor", "reading", "options", "detection", "solver", "prop", "contact", "constraint")

SHORT = ("source", "target", "scale")
"""Keys of the only actor, where there is one and nothing else to say of it."""

OWN_OPTIONS = ("spacing", "contacts")
"""Keys of [options] that are not fields of `Options`."""

CONTACT_KEYS = ("actor", "point", "joint", "offset", "start", "end", "place", "on", "other", "confidence")

FROM_PROP = {"path": "positions", "rotations": "rotations", "times": "times", "centre": "middle", "size": "size"}
"""Fields of a constraint that a prop gives it, and what of the prop they are."""


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe; files that it names are found from its own folder."""
    with open_to_read(path) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8")
        table = tomllib.loads(text)
    except UnicodeDecodeError:
        raise FileError(str(path), None, "the text is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        said = re.sub(r"\s*\(at .*\)$", "", str(error))
        line = int(found[1]) if found else len(text.splitlines())
        raise FileError(str(path), line, f"no TOML: {said}") from None
    return _RecipeReader(name=str(path), folder=Path(path).parent, table=table, lines=find_lines(text)).recipe()


def recipe_from(table: dict[str, Any], folder: Path) -> Recipe:
    """A recipe from tables as its file holds them; what is wrong is a `FieldError` that says where by its keys.

    Args:
        table: The tables, as `tomllib` gives them.
        folder: What the files in it are named from.
    """
    return _RecipeReader(name="", folder=folder, table=table, lines=None).recipe()


class _PlacedError(FieldError):
    """An error whose keys lead all the way from the recipe's outermost tables."""


class _RecipeReader:
    """Turns the tables of one recipe into what they say; lines are None for tables that come from no file."""

    def __init__(self, name: str, folder: Path, table: dict[str, Any], lines: dict[Place, int] | None) -> None:
        self.name, self.folder, self.table, self.lines = name, folder, table, lines

    def recipe(self) -> Recipe:
        """Everything in the file."""
        for key in self.table:
            if key not in (*TABLES, *SHORT):
                self._at((), lambda key=key: self._refuse(key))  # type: ignore[misc]
        props = self._each("prop", lambda table: build(PropEntry, table, folder=self.folder))
        courses = {}
        for number, prop in enumerate(props):
            courses[prop.name] = self._at(("prop", number), lambda prop=prop: load_course(prop, self.folder))  # type: ignore[misc]
        options, spacing, listed = self._at(("options",), self._options)
        solver, solver_options = self._at(("solver",), self._solver)
        contacts = self._each("contact", self._contact)
        return Recipe(
            actors=self._actors(),
            reading=self._at(("reading",), lambda: build(Reading, self.table.get("reading", {}))),
            options=options,
            spacing=spacing,
            solver=solver,
            solver_options=solver_options,
            contacts=contacts if listed or contacts else None,
            constraints=self._each("constraint", lambda table: self._constraint(table, courses)),
            props=props,
            folder=self.folder,
        )

    def _refuse(self, key: str) -> None:
        raise unknown_key(key, [*TABLES, *SHORT])

    def _at(self, place: Sequence[str | int], make: Callable[[], Any]) -> Any:
        """What is made of a part of the file; errors are given the file and line."""
        try:
            return make()
        except (FileError, _PlacedError):
            raise
        except FieldError as error:
            where = (*place, *error.keys)
            raise self._error(where, f"{_named(where)}{error.message}", error.hint) from None
        except UnderstudyError as error:
            raise self._error(place, error.message, error.hint) from None

    def _error(self, place: Sequence[str | int], problem: str, hint: str = "") -> UnderstudyError:
        """What is wrong at a place, with the file and line where there is a file."""
        if self.lines is None:
            return _PlacedError(problem, tuple(place), hint=hint)
        return FileError(self.name, line_of(self.lines, place), problem, hint=hint)

    def _each(self, key: str, make: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Every entry of an array of tables."""
        entries = self.table.get(key, [])
        if not isinstance(entries, list):
            hint = f"begin each with [[{key}]]"
            raise self._error((key,), f"expected a list of `{key}` tables", hint)
        return tuple(
            self._at((key, number), lambda table=table: make(table))  # type: ignore[misc]
            for number, table in enumerate(entries)
        )

    def _actors(self) -> tuple[ActorSpec, ...]:
        actors = self._each("actor", lambda table: build(ActorSpec, table))
        short = {key: self.table[key] for key in SHORT if key in self.table}
        if short and actors:
            key = next(iter(short))
            raise self._error((key,), f"`{key}` stands alone, and there are [[actor]] entries too")
        if short:
            return (self._at((), lambda: build(ActorSpec, short)),)
        names = [actor.name for actor in actors]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise self._error(("actor", number), f"two actors are called `{name}`; each needs a name of its own")
        return actors

    def _options(self) -> tuple[Options, Any, bool]:
        table = self.table.get("options", {})
        detection = self._at(("detection",), lambda: build(Detection, self.table.get("detection", {})))
        if isinstance(table, dict) and "detection" in table:
            raise FieldError("what is still is said in the table [detection]", ("detection",))
        made = build(Options, table, besides=OWN_OPTIONS)
        # A field's name, so that the message is that of any other key.
        spacing = table.get("spacing", AUTO)
        try:
            spacing = parse_spacing(spacing)
        except UnderstudyError as error:
            raise FieldError(error.message, ("spacing",)) from None
        listed = table.get("contacts", "detect")
        if listed not in ("detect", "listed"):
            raise FieldError(f"expected `detect` or `listed`, got `{listed}`", ("contacts",))
        if listed == "detect" and "contacts" in table and self.table.get("contact"):
            raise FieldError("contacts are to be detected, and there are [[contact]] entries too", ("contacts",))
        values = {name: getattr(made, name) for name in names_of(Options)}
        return Options(**{**values, "detection": detection}), spacing, listed == "listed"

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
            raise FieldError("the key spacing is said in [options]", ("spacing",))
        made = build(kind, {key: value for key, value in table.items() if key != "name"})
        return kind.name, {key: getattr(made, key) for key in table if key != "name"}

    def _contact(self, table: dict[str, Any]) -> Contact:
        for key in table:
            if key not in CONTACT_KEYS:
                raise unknown_key(key, list(CONTACT_KEYS))
        for key in ("point", "start", "end"):
            if key not in table:
                raise FieldError(f"`{key}` is missing", hint="a contact needs a point, a start and an end")
        hints: dict[str, Any] = {
            "actor": str, "start": float, "end": float, "place": np.ndarray, "on": str, "confidence": float,
        }  # fmt: skip
        values = {key: _value(table[key], key, hints[key]) for key in hints if key in table}
        place = values.get("place")
        if place is not None and (place.shape != (3,) or not np.all(np.isfinite(place))):
            raise FieldError(f"expected three finite numbers, metres; got {place.tolist()}", ("place",))
        other = None
        if "other" in table:
            if not isinstance(table["other"], dict):
                raise FieldError("expected a table such as { point = NAME, joint = NAME }", ("other",))
            other = _point(table["other"], ("other",))
        return Contact(point=_point(table, ()), other=other, **values)

    def _constraint(self, table: Any, courses: dict[str, PropPath]) -> Constraint:
        if not isinstance(table, dict) or "kind" not in table:
            raise FieldError("`kind` is missing", hint=f"kinds are {', '.join(kinds())}")
        kind = table["kind"]
        if kind not in kinds():
            raise FieldError(
                f"there is no kind `{kind}`; {nearest_names(str(kind), kinds())}", ("kind",),
                hint=f"kinds are {', '.join(kinds())}",
            )  # fmt: skip
        given = {key: value for key, value in table.items() if key not in ("kind", "prop")}
        if "prop" in table:
            given = {**_from_prop(kinds()[kind], table["prop"], courses), **given}
        made: Constraint = build(kinds()[kind], given, folder=self.folder, besides=())
        made.check_times()
        return made


def _from_prop(kind: type[Constraint], name: Any, courses: dict[str, PropPath]) -> dict[str, Any]:
    """What a prop says about a constraint's fields."""
    if name not in courses:
        raise FieldError(f"there is no prop `{name}`; {nearest_names(str(name), courses)}", ("prop",))
    known = names_of(kind)
    taken = {key: getattr(courses[name], of) for key, of in FROM_PROP.items() if key in known}
    if not taken:
        raise FieldError(f"kind `{kind.kind}` takes nothing from a prop", ("prop",))
    return {key: value.tolist() for key, value in taken.items() if value is not None}


def _point(table: dict[str, Any], keys: Place) -> Point:
    """A point by its name and, where it is not a joint's own place, the joint and the offset."""
    allowed = ("point", "joint", "offset")
    for key in table:
        if keys and key not in allowed:
            error = unknown_key(key, list(allowed))
            raise FieldError(error.message, (*keys, key), hint=error.hint)
    name = _value(table.get("point", ""), "point", str)
    joint = _value(table.get("joint", name), "joint", str)
    offset = _value(table.get("offset", [0.0, 0.0, 0.0]), "offset", np.ndarray)
    try:
        return Point(name=name, joint=joint, offset=offset)
    except UnderstudyError as error:
        raise FieldError(error.message, (*keys, "offset")) from None


def _value(value: Any, key: str, hint: Any) -> Any:
    try:
        return convert(value, hint)
    except FieldError as error:
        raise FieldError(error.message, (key, *error.keys), hint=error.hint) from None


def _named(place: Place) -> str:
    """A place in words, for the head of a message: `contact 3, start: `."""
    parts: list[str] = []
    for key in place:
        if isinstance(key, int) and parts and parts[-1] in TABLES:
            parts[-1] = f"{parts[-1]} {key + 1}"
        elif not isinstance(key, int):
            parts.append(key)
    return f"{', '.join(parts)}: " if parts else ""
