"""A recipe made ready: files loaded, contacts found, the plan laid out, the solver chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.base.fields import names_of
from understudy.base.plugins import scan
from understudy.base.quaternion import Array
from understudy.correspondence.map_file import is_plain, read_map
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, PointPair
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import Contact, contact_points, detect_contacts
from understudy.figure.floor import leg_ratio
from understudy.figure.motion import Motion
from understudy.retarget.actor import ActorData, load
from understudy.retarget.driver import is_driven
from understudy.retarget.driver import match_actor as assign
from understudy.retarget.feature_driving import drive
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.retarget.spec import ALL, AUTO, RATE, SPACINGS, ActorSpec, Reading, Recipe, Spacing
from understudy.solve.solvers.base import Solution, Solver, Watch

FAR = 4.0
"""How many times larger or smaller a target is that looks like a mistaken unit."""

UNSURE = 0.6
"""Confidence below which a pair of bones is spoken of."""

Loading = Callable[[ActorSpec, Reading, Path], ActorData]

Casting = Callable[[ActorData, Path], tuple[Assignment, list[str]]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """A retarget that is ready to be solved."""

    recipe: Recipe
    cast: tuple[ActorData, ...]
    contacts: tuple[Contact, ...]
    """The sources'."""
    notes: tuple[str, ...]
    """What was found and decided on the way, a sentence each."""
    plan: Plan | None
    """None for a body that is driven by features."""
    points: tuple[PointPair, ...] = ()
    """Which points drive it, where a map says so."""

    def start(self, which: int) -> Motion:
        """The motion that an actor's result is compared with: the source's on a body of the target's size."""
        return self.cast[which].motion if self.plan is None else self.plan.starts[which]

    def spacings(self) -> tuple[float, ...]:
        """Seconds between keys: one, or three where all variants are asked for."""
        if self.recipe.spacing == ALL:
            if not has_keys(self.recipe.solver):
                raise OptionError(
                    f"Solver `{self.recipe.solver}` has no evenly spaced keys: there are no variants of their spacing"
                )
            return tuple(frames / RATE for frames in SPACINGS)
        return (self.spacing(self.recipe.spacing),)

    def spacing(self, wanted: Spacing) -> float:
        """A key spacing in seconds, chosen by the motions' own frequencies if left to us."""
        if not isinstance(wanted, str):
            return wanted
        assert wanted == AUTO
        moving = [each.motion for each in self.cast if each.cast.moves] or [self.cast[0].motion]
        return min(choose_spacing(motion) for motion in moving)

    def solve(self, spacing: float, watch: Watch | None = None) -> Solution:
        """Solve it with keys that far apart, where the solver has evenly spaced keys."""
        if self.plan is None:
            only = self.cast[0]
            options = replace(self.recipe.options, spacing=spacing)
            return drive(
                only.motion, only.target, self.points or None, contacts=self.contacts, options=options, watch=watch
            ).solution
        return self.plan.solve(make_solver(self.recipe.solver, self.recipe.solver_options, spacing), watch)


@cache
def solvers() -> dict[str, type[Solver]]:
    """Every solver by its name in recipes."""
    return {found.name: found for _, found in scan("understudy.solve.solvers", "SOLVER")}


def find_solver(name: str) -> type[Solver]:
    """A solver by name, or an error that names the nearest ones."""
    if name not in solvers():
        raise UnknownNameError(
            f"There is no solver `{name}`; {nearest_names(name, solvers())}", hint=f"known: {', '.join(solvers())}"
        )
    return solvers()[name]


def make_solver(name: str, options: dict[str, object], spacing: float) -> Solver:
    """A solver with its options; the spacing is for those whose keys are evenly spaced."""
    kind = find_solver(name)
    values: dict[str, Any] = dict(options)
    if has_keys(name):
        values.setdefault("spacing", spacing)
    return kind(**values)


def has_keys(name: str) -> bool:
    """Whether a solver's unknowns are evenly spaced keys."""
    return "spacing" in names_of(find_solver(name))


def prepare(recipe: Recipe, *, loading: Loading = load, casting: Casting | None = None) -> Prepared:
    """Load what a recipe names and lay out its plan; files and parts that are known may be given by other functions."""
    if not recipe.actors:
        raise OptionError("A recipe needs at least one actor", hint="give it a source and a target")
    cast = tuple(loading(each, recipe.reading, recipe.folder) for each in recipe.actors)
    notes = [note for each in cast for note in each.notes]
    parts = []
    for each in cast:
        part, said = (casting or make_part)(each, recipe.folder)
        parts.append(part)
        notes += [*_oddities(each, part), *([] if is_driven(part) else said)]
    contacts = recipe.contacts
    if contacts is None:
        contacts = find_contacts(cast, recipe.options)
        notes += _left_out(cast)
    _check_contacts(contacts, recipe, cast)
    if not contacts and recipe.options.plants != "none":
        notes.append("no contacts are known: nothing is planted, and only the size of the movement is adapted")
    _check_keep(recipe.options, cast)
    if any(is_driven(part) for part in parts):
        return _driven(recipe, cast, parts, contacts, notes)
    whole = plan(
        parts, constraints=recipe.constraints, contacts=contacts, options=replace(recipe.options, spacing=None)
    )
    return Prepared(recipe=recipe, cast=cast, contacts=whole.contacts, plan=whole, notes=(*notes, *whole.notes))


def _driven(
    recipe: Recipe,
    cast: tuple[ActorData, ...],
    parts: Sequence[Assignment],
    contacts: tuple[Contact, ...],
    notes: list[str],
) -> Prepared:
    """A body without limbs, which features drive."""
    if len(parts) > 1 or recipe.constraints:
        raise OptionError(
            f"{cast[0].cast.target}: nothing corresponds but the body as a whole, so features drive it: only "
            "one actor at a time, and without constraints of a recipe",
            hint="say in a map which bones correspond (`understudy map`, --map)",
        )
    alignment = parts[0].alignment
    assert alignment is not None
    said = f"{cast[0].cast.target}: no limbs correspond, so its points follow the source's feet and hips"
    points = alignment.correspondence.points
    return Prepared(recipe=recipe, cast=cast, contacts=contacts, plan=None, points=points, notes=(*notes, said))


def find_contacts(cast: Sequence[ActorData], options: Options) -> tuple[Contact, ...]:
    """The contacts of all actors that move: those that samples bring, else found in their motions."""
    several, found = len(cast) > 1, []
    names = {each.cast.name for each in cast}
    for each in cast:
        if not each.cast.moves:
            continue
        known = each.contacts
        if known is None:
            known = detect_contacts(each.motion, contact_points(each.motion), options.detection)
        # A partner who is not in the cast cannot be held on to.
        known = tuple(c for c in known if c.other is None or (several and c.on in names))
        found += [replace(contact, actor=each.cast.name) for contact in known]
    return tuple(found)


def _left_out(cast: Sequence[ActorData]) -> list[str]:
    """A sentence for each actor whose partner is not there."""
    names = {each.cast.name for each in cast}
    return [
        f"{each.cast.source}: who it holds on to is not among the actors, so those contacts are left out"
        for each in cast
        if each.cast.moves and any(c.other is not None and c.on not in names for c in each.contacts or ())
    ]


def make_part(loaded: ActorData, folder: Path, given: Correspondence | None = None) -> tuple[Assignment, list[str]]:
    """An actor's part, by a map that is given or its own, and how its target was matched with the source."""
    cast = loaded.cast
    if given is None and cast.map is not None:
        given = read_map(folder / cast.map, loaded.motion.skeleton, loaded.target)
    if given is not None and is_plain(given):
        given = None
    try:
        part = assign(
            loaded.motion,
            loaded.target,
            correspondence=given,
            target_motion=loaded.target_motion,
            alignment=cast.align,
            source_pose=loaded.references[0],
            target_pose=loaded.references[1],
            name=cast.name,
            moves=cast.moves,
            joints=cast.joints,
            root_moves=cast.root_moves,
            share=None if cast.morph is None else _share(loaded.motion, cast.morph),
        )
    except CorrespondenceError as error:
        raise CorrespondenceError(f"{cast.source} onto {cast.target}: {error.message}", hint=error.hint) from None
    return part, _matched(part, loaded)


def _matched(part: Assignment, loaded: ActorData) -> list[str]:
    """How the bones of two characters were matched, in a sentence or two."""
    if part.alignment is None:
        return []
    pairs = part.alignment.correspondence.pairs
    how = "each moving from its own stance" if part.alignment.stance else "bones pointing alike"
    said = [f"{loaded.cast.target or loaded.cast.source}: {len(pairs)} pairs of bones correspond, {how}"]
    unsure = sorted((pair for pair in pairs if pair.confidence < UNSURE), key=lambda pair: pair.confidence)
    if unsure:
        said.append(
            f"least sure is {unsure[0]} ({unsure[0].reason}); `understudy map` writes the map down, to be changed and "
            "given with --map"
        )
    return said


def _share(motion: Motion, morph: tuple[float, float]) -> Array:
    """(F,) how much of the target a body is that turns into it over some seconds."""
    first, last = morph
    if last < 0.0 or first > motion.duration:
        raise OptionError(
            f"The morph from {first:g} to {last:g} s is outside the motion, which lasts {motion.duration:g} s"
        )
    if first == last:
        return (motion.times >= first).astype(float)
    return np.clip((motion.times - first) / (last - first), 0.0, 1.0)


def _oddities(loaded: ActorData, part: Assignment) -> list[str]:
    """What about a pair of characters may be a mistake."""
    said, name = [], loaded.cast.target or loaded.cast.source
    ratio = leg_ratio(loaded.motion.skeleton, loaded.target)
    if loaded.cast.target is not None and not 1.0 / FAR < ratio < FAR:
        said.append(
            f"{name}: its legs are {ratio:.3g} times as long as the source's; if that is no wonder of its own, "
            "the unit of one file was guessed wrong (--unit, --target-unit)"
        )
    if part.alignment is not None:
        return said
    lost = loaded.motion.skeleton.lengths[1:] > 1e-2 * loaded.motion.skeleton.lengths.max()
    lost &= loaded.target.lengths[1:] < 1e-9
    if lost.any():
        names = [loaded.target.names[j + 1] for j in np.flatnonzero(lost)[:3]]
        said.append(f"{name}: the bone to `{'`, `'.join(names)}` has length zero: what hangs there moves as one point")
    return said


def _check_contacts(contacts: Sequence[Contact], recipe: Recipe, cast: Sequence[ActorData]) -> None:
    """Refuse contacts of or with what there is not."""
    actors = {each.cast.name: each for each in cast}
    props = [prop.name for prop in recipe.props] + [prop.name for each in cast for prop in each.props]
    for contact in contacts:
        what = f"Contact of `{contact.point.name}` at {contact.start:g} s"
        if contact.actor and contact.actor not in actors:
            raise UnknownNameError(f"{what}: no actor `{contact.actor}`; {nearest_names(contact.actor, actors)}")
        whose = actors.get(contact.actor, cast[0])
        if contact.point.joint not in whose.motion.skeleton.index:
            names = whose.motion.skeleton.names
            raise UnknownNameError(
                f"{what}: no joint `{contact.point.joint}`; {nearest_names(contact.point.joint, names)}",
                hint=f"`understudy info {whose.cast.source}` lists the joints",
            )
        if contact.other is not None and contact.on not in actors:
            raise UnknownNameError(f"{what}: no actor `{contact.on}` to touch; {nearest_names(contact.on, actors)}")
        known = ["floor", "hold", *props, *actors]
        if contact.on not in known:
            raise UnknownNameError(
                f"{what}: nothing here is called `{contact.on}`; {nearest_names(contact.on, known)}",
                hint="a contact is on the floor, a hold, a prop or another actor",
            )
        duration = whose.motion.duration
        if contact.start > duration or contact.end < 0.0:
            raise OptionError(
                f"{what}: it spans {contact.start:g} to {contact.end:g} s, the motion 0 to {duration:g} s",
                hint="times count from the first frame kept",
            )


def _check_keep(options: Options, cast: Sequence[ActorData]) -> None:
    """Refuse joints that are kept or stiff and that no actor has."""
    known = list(dict.fromkeys(name for each in cast for name in each.target.names))
    for what, names in (("keep", options.keep), ("stiffness", options.stiffness or {})):
        for name in names:
            if name not in known:
                raise UnknownNameError(f"Option {what}: no joint `{name}`; {nearest_names(name, known)}")
