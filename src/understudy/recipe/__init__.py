"""Recipes: everything that can be chosen about a retarget, in a file that people can read and edit."""

from understudy.recipe.model import Cast, PropEntry, Reading, Recipe
from understudy.recipe.prepare import Prepared, prepare
from understudy.recipe.reading import read_recipe, recipe_from
from understudy.recipe.writing import recipe_text, write_recipe

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
