"""Recipes: everything that can be chosen about a retarget, in a file that people can read and edit."""

from __future__ import annotations

from understudy.recipe.reading import read_recipe, recipe_from
from understudy.recipe.writing import recipe_text, write_recipe
from understudy.retarget.model import Cast, PropEntry, Reading, Recipe
from understudy.retarget.prepare import Prepared, prepare

__all__ = [
    "Cast",
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
