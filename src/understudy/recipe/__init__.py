"""Recipes: everything that can be chosen about a retarget, in a file that people can read and edit."""

from __future__ import annotations

from understudy.recipe.reading import read_recipe, recipe_from
from understudy.recipe.writing import recipe_text, write_recipe
from understudy.retarget.prepare import Prepared, prepare
from understudy.retarget.spec import ActorSpec, PropEntry, Reading, Recipe

__all__ = [
    "ActorSpec",
    "Prepared",
    "PropEntry",
    "Reading",
    "Recipe",
    "prepare",
    "read_recipe",
    "recipe_from",
    "recipe_text",
    "write_recipe",
]
