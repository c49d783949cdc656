"""Recipes from tables without a file: the same recipes, and errors with the keys that lead to them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from understudy.base.fields import FieldError
from understudy.recipe import read_recipe, recipe_from, recipe_text
from understudy.recipe.writing import name_from, relative_to_folder
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.spec import PropEntry, Recipe


def test_tables_give_the_same_recipe_as_their_file(tmp_path) -> None:
    path = tmp_path / "walk.toml"
    path.write_text(recipe_text(Recipe(actors=(ActorSpec(source="sample:walk", scale=0.6),), spacing=0.1)))
    read, converted = read_recipe(path), recipe_from(tomllib.loads(path.read_text()), tmp_path)
    assert recipe_text(read) == recipe_text(converted)
    assert converted.folder == tmp_path


@pytest.mark.parametrize(
    ("table", "keys", "message"),
    [
        (
            {"contact": [{"point": "a", "start": 0.0, "end": "x"}]},
            ("contact", 0, "end"),
            "contact 1, end: expected a number",
        ),
        ({"options": {"plants": 3}}, ("options", "plants"), "options, plants: expected a text"),
        ({"detection": {"nope": 3}}, ("detection", "nope"), "detection, nope: there is no key `nope`"),
        ({"solver": {"name": "x"}}, ("solver", "name"), "There is no solver `x`"),
        ({"constraint": [{"kind": "place"}]}, ("constraint", 0), "is missing"),
        ({"constraint": [{}]}, ("constraint", 0), "`kind` is missing"),
        ({"actor": [{"source": "a", "scale": "x"}]}, ("actor", 0, "scale"), "expected a number"),
        ({"actor": [{"source": "a"}, {"source": "b"}]}, ("actor", 1), "two actors are called"),
        ({"actor": 3}, ("actor",), "expected a list of `actor` tables"),
        ({"source": "a", "actor": [{"source": "a"}]}, ("source",), "is given outside the [[actor]] entries"),
        ({"nope": 3}, ("nope",), "there is no key `nope`"),
    ],
)
def test_errors_lead_to_the_key(table: dict[str, Any], keys: tuple[Any, ...], message: str) -> None:
    with pytest.raises(FieldError) as caught:
        recipe_from(table, Path())
    assert caught.value.keys == keys
    assert message in caught.value.message


def test_a_recipe_is_named_from_another_folder(tmp_path) -> None:
    recipe = Recipe(
        actors=(ActorSpec(source="walk.bvh", target="sample:child", map="../m.toml"),),
        reading=Reading(skeleton="a.asf"),
        props=(PropEntry(name="box", path="box.csv"),),
        folder=tmp_path / "in",
    )
    moved = relative_to_folder(recipe, tmp_path / "out" / "deep")
    assert moved.actors[0].source == "../../in/walk.bvh"
    assert moved.actors[0].target == "sample:child"
    assert moved.actors[0].map == "../../m.toml"
    assert moved.reading.skeleton == "../../in/a.asf"
    assert moved.reading.target_skeleton is None
    assert moved.props[0].path == "../../in/box.csv"
    assert moved.folder == tmp_path / "out" / "deep"
    assert recipe_text(relative_to_folder(moved, tmp_path / "in")) == recipe_text(recipe)
    assert name_from(tmp_path, str(tmp_path / "a.bvh")) == "a.bvh"
