"""Recipes: a written recipe reads back the same, and wrong input is refused with its line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import FileError, OptionError, UnderstudyError, UnknownNameError
from understudy.base.toml import find_lines
from understudy.constraints import Constraint, PointRef, kinds
from understudy.constraints.base import Unit
from understudy.constraints.function import Function
from understudy.constraints.place import Place
from understudy.figure.contacts import Contact, Detection
from understudy.figure.skeleton import Point
from understudy.recipe import read_recipe, recipe_text, write_recipe
from understudy.recipe import reading as reading_module
from understudy.recipe import writing as writing_module
from understudy.recipe.writing import constraint_lines
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.driver import prepare
from understudy.retarget.plan import Options
from understudy.retarget.scale import parse_scale, part_bones, scale_skeleton
from understudy.retarget.spec import PropEntry, Recipe, parse_spacing
from understudy.solve.solvers import make_solver, solvers

WALK = '[[actor]]\nsource = "sample:walk"\ntarget = "sample:child"\n'


@pytest.fixture
def recipe(tmp_path: Path) -> Callable[[str], Recipe]:
    def make(text: str) -> Recipe:
        path = tmp_path / "r.toml"
        path.write_text(text, encoding="utf-8")
        return read_recipe(path, trust=True)

    return make


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same, through dataclasses and arrays."""
    if is_dataclass(one) and not isinstance(one, type):
        return type(one) is type(other) and all(
            equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.init
        )
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        # Constraints normalise directions and rotations each time, which may change the last bit.
        return one is not None and other is not None and np.allclose(one, other, rtol=1e-14, atol=1e-15)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


# Writing and reading back


def test_a_recipe_reads_back_as_it_was_written(recipe: Callable[[str], Recipe]) -> None:
    original = Recipe(
        actors=(
            ActorSpec(source='my "walk".bvh', target="hero.bvh", name="one", joints=("Hips", "LeftLeg")),
            ActorSpec(source="b.bvh", scale={"legs": 1.3, "mixamorig:Head": 0.1 + 0.2}, name="two", moves=False),
            ActorSpec(source="c.bvh", scale=0.6, name="three", root_moves=False, morph=(0.5, 1.25)),
        ),
        reading=Reading(unit="cm", up="Z", frames="3:-1", fps=59.94, lenient=True, keep_reference=True),
        options=Options(
            plants="fixed", floor=False, limits=False, keep=("Head",), stiffness={"a.b": 3.0},
            detection=Detection(speed=0.2, gap=1 / 3),
        ),
        spacing=4 / 30,
        solver="lmult",
        solver_options={"iterations": 7, "method": "gradients"},
        contacts=(
            Contact(
                point=Point(name="LHeel", joint="LFoot", offset=[0.1, -1 / 3, 1e-17]), start=1 / 30, end=2.0,
                place=np.array([1 / 3, 0.0, -7.1]), actor="one", confidence=0.25,
            ),
            Contact(
                point=Point(name="Palm", joint="Hand"), start=0.0, end=1.0, actor="one", on="two",
                other=Point(name="Grip", joint="Hand", offset=[0.0, 0.1, 0.0]),
            ),
        ),
        constraints=(
            Place(point=PointRef(point="Head", actor="one"), target=np.array([1.0, 2.0, 1 / 7]), instants=(0.5,)),
        ),
        props=(PropEntry(name="box", sizes=np.full((1, 3), 0.4), positions=np.array([[1.0, 0.2, 0.0]])),),
    )  # fmt: skip
    again = recipe(recipe_text(original))
    for field in ("actors", "reading", "options", "spacing", "solver", "solver_options", "contacts"):
        assert equal(getattr(again, field), getattr(original, field)) or field == "solver_options", field
    assert equal(again.constraints, original.constraints)
    assert equal(again.props, original.props)
    solver, expected = (make_solver(r.solver, r.solver_options, 0.1) for r in (again, original))
    assert solver == expected


@pytest.mark.parametrize("name", sorted(solvers()))
def test_every_solver_reads_back(name: str, recipe: Callable[[str], Recipe]) -> None:
    again = recipe(recipe_text(Recipe(actors=(ActorSpec(source="a.bvh", target="b.bvh"),), solver=name)))
    assert again.solver == name
    assert make_solver(name, again.solver_options, 0.1) == make_solver(name, {}, 0.1)


def test_levels_of_the_solver(recipe: Callable[[str], Recipe]) -> None:
    text = WALK + "[solver]\nlevels = [{ spacing = 0.2, rate = 10.0, stiffness = 1e3, steps = 2 }]\n"
    solver = make_solver("spacetime", recipe(text).solver_options, 0.1)
    assert solver.levels[0].steps == 2  # type: ignore[attr-defined]
    with pytest.raises(FileError, match=re.escape("r.toml:5: solver, levels: entry 1: `steps` is missing")):
        recipe(text.replace(", steps = 2", ""))


def test_every_option_is_written_and_explained() -> None:
    text = recipe_text(Recipe(actors=(ActorSpec(source="a.bvh", target="b.bvh"),), contacts=()))
    tomllib.loads(text)
    for kind in (ActorSpec, Reading, Options, Detection, PropEntry, *kinds().values()):
        for field in fields(kind):
            assert re.search(rf"(?m)^#?{field.name} = ", text) or field.name == "detection", field.name
    for name, solver in solvers().items():
        assert name in text
        for field in fields(solver):
            assert f"{field.name} = " in text, (name, field.name)
    for kind in kinds():
        assert f'#kind = "{kind}"' in text
    assert "Leg lengths a second below which a point is at rest." in text


def test_every_example_of_the_written_recipe_is_toml(recipe: Callable[[str], Recipe]) -> None:
    text = recipe_text(Recipe(actors=(ActorSpec(source="a.bvh", target="b.bvh"),), contacts=()))
    uncommented = re.sub(r"(?m)^#(?=[a-z_\[])", "", text)
    table = tomllib.loads(uncommented)
    examples = {example["kind"]: example for example in table["constraint"]}
    assert set(examples) == set(kinds())
    assert examples["place"]["point"] == {"point": "..."}
    assert examples["function"]["points"] == [{"point": "..."}]


@pytest.mark.parametrize("kind", sorted(kinds()))
@pytest.mark.parametrize("seed", range(6))
def test_every_kind_of_constraint_reads_back(kind: str, seed: int, recipe: Callable[[str], Recipe]) -> None:
    constraint = kinds()[kind].example(np.random.default_rng(seed))
    constraint = replace(constraint, start=1 / 3, end=2.5, weight=2.0, priority=1, name="a 'name' of \"its\" own")
    (again,) = recipe(WALK + "\n".join(constraint_lines(constraint))).constraints
    assert equal(again, constraint)


@dataclass(frozen=True, eq=False, kw_only=True)
class Level(Constraint):
    """A kind that the package does not define."""

    kind: ClassVar[str] = "level"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointRef
    height: float
    """Metres."""
    sides: tuple[PointRef, ...] = ()

    def point_refs(self) -> tuple[PointRef, ...]:
        return (self.point, *self.sides)

    def rows(self, view: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def example(cls, rng: np.random.Generator) -> Level:
        return cls(point=PointRef(point="tip"), height=float(rng.normal()))


def test_a_new_kind_is_read_and_written(recipe: Callable[[str], Recipe], monkeypatch: pytest.MonkeyPatch) -> None:
    all_kinds = {**kinds(), "level": Level}
    monkeypatch.setattr(reading_module, "kinds", lambda: all_kinds)
    monkeypatch.setattr(writing_module, "kinds", lambda: all_kinds)
    text = WALK + '[[constraint]]\nkind = "level"\npoint = "Head"\nheight = 1\nsides = [{ point = "Neck" }, "Hips"]\n'
    (constraint,) = recipe(text).constraints
    assert isinstance(constraint, Level)
    assert constraint.height == 1.0
    assert [ref.point for ref in constraint.sides] == ["Neck", "Hips"]
    assert '#kind = "level"' in recipe_text(Recipe(actors=(ActorSpec(source="a", target="b"),)))


@pytest.mark.parametrize("value", ['"Head"', '{ point = "Head", actor = "one" }'])
def test_spot_is_read_as_point_and_written_as_point(value: str, recipe: Callable[[str], Recipe]) -> None:
    older = recipe(WALK + f'[[constraint]]\nkind = "place"\nspot = {value}\ntarget = [0, 0, 1]\n')
    newer = recipe(WALK + f'[[constraint]]\nkind = "place"\npoint = {value}\ntarget = [0, 0, 1]\n')
    assert recipe_text(older) == recipe_text(newer)
    assert tomllib.loads(recipe_text(older))["constraint"][0].keys() == {"kind", "point", "target"}


def test_contacts_are_detected_unless_listed(recipe: Callable[[str], Recipe]) -> None:
    assert recipe(WALK).contacts is None
    assert recipe(WALK + '[options]\ncontacts = "listed"\n').contacts == ()
    contacts = recipe(WALK + '[[contact]]\npoint = "LeftFoot"\nstart = 0\nend = 1\nplace = [0, 0, 0]\n').contacts
    assert contacts is not None
    assert contacts[0].point.joint == "LeftFoot"


def test_the_short_form_of_one_actor(recipe: Callable[[str], Recipe]) -> None:
    (actor,) = recipe('source = "a.bvh"\nscale = { legs = 1.3 }\n').actors
    assert (actor.source, actor.scale) == ("a.bvh", {"legs": 1.3})


def test_an_unchanged_recipe_gives_exactly_the_same(tmp_path: Path) -> None:
    plain = prepare(Recipe(actors=(ActorSpec(source="sample:walk", target="sample:child"),)))
    write_recipe(replace(plain.recipe, contacts=plain.plan.contacts), tmp_path / "r.toml")
    again = prepare(read_recipe(tmp_path / "r.toml"))
    one, other = (prepared.solve(prepared.spacings()[0]).motion for prepared in (plain, again))
    assert np.array_equal(one.root, other.root)
    assert np.array_equal(one.rotations, other.rotations)


def test_a_morph_in_a_recipe(recipe: Callable[[str], Recipe]) -> None:
    share = prepare(recipe(WALK + "morph = [1.0, 3.0]\n")).plan.assignments[0].share
    assert share is not None
    assert share[[0, 30, 60, 90, 150]].tolist() == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    with pytest.raises(OptionError, match="The morph from 7 to 8 s is outside the motion, which lasts 5 s"):
        prepare(recipe(WALK + "morph = [7, 8]\n"))


# A user's function


def test_a_function_beside_the_recipe_is_found(tmp_path: Path, recipe: Callable[[str], Recipe]) -> None:
    (tmp_path / "custom.py").write_text("def low(points):\n    return points[:, 0, 1] - 1.0\n")
    text = WALK + '[[constraint]]\nkind = "function"\nfunction = "custom:low"\npoints = ["Head"]\n'
    (constraint,) = recipe(text).constraints
    assert isinstance(constraint, Function)
    assert constraint.function(np.full((2, 1, 3), 3.0)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ('"custom.low"', "expected a function as `module:function`, got the text 'custom.low'"),
        ('"custom:lov"', "module `custom` has no function `lov`; nearest: `low`"),
        ('"broken:low"', "module `broken` cannot be loaded: ZeroDivisionError: division by zero"),
        ('"not_there:low"', "module `not_there` cannot be loaded: there is no such module"),
        ('"custom:LIMIT"', "`custom:LIMIT` is no function but a int"),
        ("3", "expected a function as `module:function`, got the number 3"),
    ],
)
def test_a_function_that_cannot_be_used_is_refused(
    function: str, message: str, tmp_path: Path, recipe: Callable[[str], Recipe]
) -> None:
    (tmp_path / "custom.py").write_text("LIMIT = 3\ndef low(points):\n    return points[:, 0, 1]\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    text = WALK + f'[[constraint]]\nkind = "function"\nfunction = {function}\npoints = ["Head"]\n'
    with pytest.raises(FileError, match=re.escape(f"r.toml:6: constraint 1, function: {message}")):
        recipe(text)


# Errors with their line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WALK + "[optons]\n", ":4: optons: there is no key `optons`; nearest: `options`"),
        (WALK + '[options]\nplant = "free"\n', ":5: options, plant: there is no key `plant`; nearest: `plants`"),
        (WALK + '[options]\nplants = "fre"\n', ":4: options: Expected plants, one of free, fixed, none; got `fre`"),
        (WALK + "[options]\nfloor = 1\n", ":5: options, floor: expected true or false, got the number 1"),
        (WALK + '[options]\nkeep = "Head"\n', ":5: options, keep: expected a list in brackets, got the text 'Head'"),
        (WALK + "[options]\nkeep = [3]\n", ":5: options, keep: entry 1: expected a text in quotes, got the number 3"),
        (WALK + "[options]\nspacing = -1\n", ":5: options, spacing: Expected a key spacing: auto, all, seconds"),
        (WALK + '[options]\ncontacts = "some"\n', ":5: options, contacts: expected `detect` or `listed`, got `some`"),
        (WALK + "[options.stiffness]\nHead = true\n", ":5: options, stiffness, Head: `Head`: expected a number"),
        (WALK + "[detection]\nsped = 1.0\n", ":5: detection, sped: there is no key `sped`; nearest: `speed`"),
        (WALK + '[detection]\nspeed = "slow"\n', ":5: detection, speed: expected a number, got the text 'slow'"),
        (WALK + "[detection]\nspeed = nan\n", ":5: detection, speed: expected a number, got nan"),
        (WALK + '[solver]\nname = "lmul"\n', ":5: solver, name: There is no solver `lmul`; nearest: `lmult`"),
        (WALK + "[solver]\nmargn = 1\n", ":5: solver, margn: there is no key `margn`; nearest: `margin`"),
        (WALK + "[solver]\nspacing = 1\n", ":5: solver, spacing: the spacing of keys goes into [options]"),
        (WALK + '[reading]\nframes = "3-4"\n', ":4: reading: Expected frames as A:B, such as 10:50, 10: or :50; got"),
        (WALK + "[reading]\nfps = -3.0\n", ":4: reading: Expected frames per second above zero, got -3"),
        (WALK + '\n[actor]\nsource = "a"\n', ":5: not valid TOML: Cannot declare"),
        ('[actor]\nsource = "a"\n', ":1: expected a list of `actor` tables"),
        ('[[actor]]\ntarget = "b"\n', ":1: actor 1: `source` is missing"),
        (WALK + "morph = [2, 1]\n", ":1: actor 1: A morph must end after it starts; got 2 to 1 s"),
        (WALK + "morph = [1]\n", ":4: actor 1, morph: expected 2 entries, got 1"),
        (WALK + '[[actor]]\nsource = "a"\n', ":4: two actors are called ``; every actor needs a different name"),
        ('source = "a"\n' + WALK, ":1: `source` is given outside the [[actor]] entries; put it into one of them"),
        (WALK + '[[contact]]\npoint = "a"\nstart = 0\n', ":4: contact 1: `end` is missing"),
        (WALK + '[[contact]]\npoint = "a"\nstart = 2\nend = 1\n', ":4: A contact must end after it starts; got 2.0"),
        (
            WALK + '[[contact]]\npoint = "a"\nstart = 0\nend = 1\nplace = [1, nan, 2]\n',
            ":8: contact 1, place: expected numbers, got nan at [1]",
        ),
        (
            WALK + '[[contact]]\npoint = "a"\nstart = 0\nend = 1\nplace = [1, 2]\n',
            ":8: contact 1, place: expected three finite numbers in metres, got [1.0, 2.0]",
        ),
        (
            WALK + '[[contact]]\npoint = "a"\nstart = 0\nend = 1\nother = { pont = "b" }\n',
            ":8: contact 1, other, pont: there is no key `pont`; nearest: `point`",
        ),
        (WALK + '[[contact]]\npoint = "a"\nbegin = 0\n', ":6: contact 1, begin: there is no key `begin`; "),
        (WALK + '[[constraint]]\nkind = "plaice"\n', ":5: constraint 1, kind: there is no kind `plaice`; nearest: `p"),
        (WALK + "[[constraint]]\nstart = 1\n", ":4: constraint 1: `kind` is missing"),
        (WALK + '[[constraint]]\nkind = "place"\npoint = "Head"\n', ":4: constraint 1: `target` is missing"),
        (
            WALK + '[[constraint]]\nkind = "place"\npoint = "Head"\ntarget = [0, nan, 1]\n',
            ":7: constraint 1, target: expected numbers, got nan at [1]",
        ),
        (
            WALK + '[[constraint]]\nkind = "place"\npoint = "Head"\ntarget = [0, inf, 1]\n',
            ":4: constraint 1: Constraint `place Head`: target: expected three finite numbers",
        ),
        (
            WALK + '[[constraint]]\nkind = "place"\npoint = { joint = "Head" }\ntarget = [0, 0, 1]\n',
            ":6: constraint 1, point, joint: there is no key `joint`; nearest: `point`",
        ),
        (
            WALK + '[[constraint]]\nkind = "place"\npoint = "Head"\ntarget = [0, 0, 1]\nstart = 3\nend = 1\n',
            ":4: Constraint `place Head` must end after it starts; got 3.0 to 1.0 s",
        ),
        (
            WALK + '[[constraint]]\nkind = "place"\npoint = "Head"\nspot = "Head"\ntarget = [0, 0, 1]\n',
            ":7: constraint 1, spot: `spot` is the older spelling of `point`; expected one of them, got both",
        ),
        (WALK + '[[constraint]]\nkind = "distance"\nspot = "Head"\n', ":6: constraint 1, spot: there is no key `spot`"),
        (
            WALK + '[[constraint]]\nkind = "attach"\npoint = "Head"\nprop = "bix"\n',
            ":7: constraint 1, prop: there is no prop `bix`; there are none",
        ),
        (WALK + '[[prop]]\nname = "box"\n', ":4: Prop `box`: expected either positions, for a prop that does not"),
        (WALK + '[[prop]]\nname = "box"\npath = "b.csv"\n', "b.csv: there is no such file"),
        ("source = [\n", ":1: not valid TOML: Invalid value"),
    ],
)  # fmt: skip
def test_wrong_recipes_are_refused_with_their_line(text: str, message: str, recipe: Callable[[str], Recipe]) -> None:
    with pytest.raises(FileError) as caught:
        recipe(text)
    assert message in caught.value.message


def test_unknown_keys_come_with_a_hint(recipe: Callable[[str], Recipe]) -> None:
    with pytest.raises(FileError) as caught:
        recipe(WALK + "[solver]\nmargn = 1\n")
    assert "`margin`" in caught.value.hint


def test_a_missing_recipe(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no\.toml: there is no such file"):
        read_recipe(tmp_path / "no.toml")


def test_a_recipe_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_bytes(b'source = "\xff"\n')
    with pytest.raises(FileError, match="the text is not UTF-8"):
        read_recipe(tmp_path / "r.toml")


def test_files_that_are_missing_are_named_from_the_recipe(tmp_path: Path, recipe: Callable[[str], Recipe]) -> None:
    with pytest.raises(FileError) as caught:
        prepare(recipe('source = "gone.bvh"\nscale = 0.6\n'))
    assert caught.value.message == f"{tmp_path / 'gone.bvh'}: there is no such file"
    assert caught.value.hint == "files there: r.toml"


def test_lines_are_found_past_lists_over_several_lines() -> None:
    lines = find_lines("a = [\n  [1, 2],\n]\n[[b]]\nc = 1\n[[b]]\n'd e' = 2\n[f.g]\nh = 1\n")
    assert lines[("a",)] == 1
    assert lines[("b", 0, "c")] == 5
    assert lines[("b", 1)] == 6
    assert lines[("b", 1, "d e")] == 7
    assert lines[("f", "g", "h")] == 9


# Contacts and joints against the actors


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            'point = "LeftFot"\nplace = [0, 0, 0]',
            "Contact of `LeftFot` at 0 s: no joint `LeftFot`; nearest: `LeftFoot`",
        ),
        ('point = "LeftFoot"\nactor = "lead"', "Contact of `LeftFoot` at 0 s: no actor `lead`"),
        ('point = "LeftFoot"\non = "bix"', "Contact of `LeftFoot` at 0 s: nothing here is called `bix`"),
        (
            'point = "LeftHand"\non = "other"\nother = { point = "RightHand" }',
            "Contact of `LeftHand` at 0 s: no actor `other` to touch",
        ),
    ],
)
def test_contacts_with_unknown_names(entry: str, message: str, recipe: Callable[[str], Recipe]) -> None:
    with pytest.raises(UnknownNameError) as caught:
        prepare(recipe(f"{WALK}[[contact]]\nstart = 0\nend = 1\n{entry}\n"))
    assert message in caught.value.message


def test_a_contact_outside_the_motion(recipe: Callable[[str], Recipe]) -> None:
    text = WALK + '[[contact]]\npoint = "LeftFoot"\nstart = 7\nend = 8\nplace = [0, 0, 0]\n'
    with pytest.raises(OptionError, match="it spans 7 to 8 s, the motion 0 to 5 s"):
        prepare(recipe(text))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            'point = "LeftHnd"\ntarget = [0, 0, 0]',
            "Constraint `place LeftHnd`: Point `LeftHnd` is neither a joint nor an",
        ),
        ('point = { point = "Head", actor = "me" }\ntarget = [0, 0, 0]', "Constraint `place Head`: no actor `me`"),
        (
            'point = "Head"\ntarget = [0, 0, 0]\nstart = 8',
            "Constraint `place Head` holds at no frame: it spans 8 to inf s",
        ),
    ],
)
def test_constraints_with_unknown_names(entry: str, message: str, recipe: Callable[[str], Recipe]) -> None:
    with pytest.raises(UnderstudyError) as caught:
        prepare(recipe(f'{WALK}[[constraint]]\nkind = "place"\n{entry}\n'))
    assert message in caught.value.message


def test_joints_to_keep_must_exist(recipe: Callable[[str], Recipe]) -> None:
    with pytest.raises(UnknownNameError, match="Option keep: no joint `Hed`; nearest: `Head`"):
        prepare(recipe(WALK + '[options]\nkeep = ["Hed"]\n'))
    with pytest.raises(UnknownNameError, match="Option stiffness: no joint `Hed`; nearest: `Head`"):
        prepare(recipe(WALK + "[options]\nstiffness = { Hed = 2.0 }\n"))


# Props


def test_a_constraint_takes_its_path_from_a_prop(tmp_path: Path, recipe: Callable[[str], Recipe]) -> None:
    (tmp_path / "b.csv").write_text("time,x,y,z\n0,1,2,3\n0.5,1,2,4\n\n")
    prop = '[[prop]]\nname = "box"\nsizes = [[0.4, 0.2, 0.1]]\n'
    attach = '[[constraint]]\nkind = "attach"\npoint = "Head"\nprop = "box"\ngrip = [0.1, 0, 0]\n'
    (constraint,) = recipe(f'{WALK}{prop}path = "b.csv"\n{attach}').constraints
    assert constraint.path.tolist() == [[1, 2, 3], [1, 2, 4]]  # type: ignore[attr-defined]
    assert constraint.times.tolist() == [0.0, 0.5]  # type: ignore[attr-defined]
    region = '[[constraint]]\nkind = "region"\nshape = "box"\npoint = "Head"\nprop = "box"\n'
    (constraint,) = recipe(f"{WALK}{prop}positions = [[1.0, 2.0, 3.0]]\n{region}").constraints
    assert constraint.centre.tolist() == [1.0, 2.0, 3.0]  # type: ignore[attr-defined]
    assert constraint.size.tolist() == [0.4, 0.2, 0.1]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,x\n", ":1: expected the columns time,x,y,z, and optionally qw,qx,qy,qz"),
        ("", ":1: expected the columns time,x,y,z"),
        ("time,x,y,z\n0,1,2,a\n", ":2: expected numbers, got `0,1,2,a`"),
        ("time,x,y,z\n0,1,2,3\n1,1,2\n", ":3: expected 4 finite numbers, got 3"),
        ("time,x,y,z\n0,1,2,nan\n", ":2: expected 4 finite numbers, got 4"),
        ("time,x,y,z\n1,1,2,3\n1,1,2,3\n", "expected at least one row, and increasing times"),
    ],
)
def test_a_path_that_cannot_be_read(text: str, message: str, tmp_path: Path, recipe: Callable[[str], Recipe]) -> None:
    (tmp_path / "b.csv").write_text(text)
    with pytest.raises(FileError) as caught:
        recipe(WALK + '[[prop]]\nname = "box"\npath = "b.csv"\n')
    assert f"b.csv{message}" in caught.value.message or f"b.csv: {message}" in caught.value.message


# Scales and spacings


def test_scales_by_part_and_joint() -> None:
    adult = samples.character("adult")
    small = scale_skeleton(adult, parse_scale("0.8,legs=1.3,feet=1,Head=2"))
    ratio = small.lengths[1:] / adult.lengths[1:]
    by = dict(zip(adult.names[1:], ratio.round(6).tolist()))
    assert by["LeftLeg"] == by["RightFoot"] == 1.3
    assert by["LeftToeBase"] == 1.0
    assert by["Head"] == 2.0
    assert by["LeftUpLeg"] == by["LeftArm"] == by["LeftHand"] == by["Spine"] == 0.8
    assert scale_skeleton(adult, "0.8,legs=1.3,feet=1,Head=2").lengths.tolist() == small.lengths.tolist()


def test_parts_do_not_overlap_and_cover_the_body() -> None:
    adult = samples.character("adult")
    parts = [set(part_bones(adult, part).tolist()) for part in ("legs", "arms", "trunk", "head")]
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert set().union(*parts) == set(range(1, adult.num_joints))


@pytest.mark.parametrize("text", ["", "big", "legs", "legs=", "=2", "legs=1,legs=2", "1,2"])
def test_wrong_scales_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"Expected a scale such as 0\.6"):
        parse_scale(text)
    with pytest.raises(OptionError, match=r"Expected a scale such as 0\.6"):
        scale_skeleton(samples.character("adult"), text)


def test_scales_of_missing_parts_are_refused() -> None:
    adult = samples.character("adult")
    with pytest.raises(UnknownNameError, match="Scale `lags` names neither a part of the body nor a joint; nearest"):
        scale_skeleton(adult, {"lags": 1.0})
    with pytest.raises(OptionError, match="Expected a scale above zero, got legs = -1"):
        scale_skeleton(adult, {"legs": -1.0})
    with pytest.raises(UnknownNameError, match="The body has no arms that can be told by the names of its joints"):
        scale_skeleton(samples.character("shark"), {"arms": 1.2})


@pytest.mark.parametrize(
    ("spacing", "seconds"), [("auto", "auto"), ("all", "all"), (0.1, 0.1), ("0.1", 0.1), ("3 frames", 0.1), ("3f", 0.1)]
)
def test_spacings(spacing: object, seconds: object) -> None:
    assert parse_spacing(spacing) == seconds


@pytest.mark.parametrize("spacing", ["", "some", "0", -1.0, True, float("nan"), "1.2.3", [1]])
def test_wrong_spacings_are_refused(spacing: object) -> None:
    with pytest.raises(
        OptionError, match=r"Expected a key spacing: auto, all, seconds from 0\.001 to 10000, or frames at 30"
    ):
        parse_spacing(spacing)


def test_a_name_that_is_no_text_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.bvh")
    recipe = Recipe(actors=(ActorSpec(source=odd),))
    with pytest.raises(
        FileError, match=r"cannot hold a name that is not UTF-8: source = \"caf\\udce9\.bvh\""
    ) as raised:
        write_recipe(recipe, tmp_path / "a.toml")
    assert raised.value.hint == "rename that file"
    assert not (tmp_path / "a.toml").exists()
