"""Recipes: all options of a retarget, in a TOML file to be read and edited.

Imports `retarget`, `transition`, `analogy` and what is below them. `batch`, `studio` and `app` import it.
"""

from understudy.recipe.reading import read_recipe, recipe_from
from understudy.recipe.writing import recipe_text, write_recipe

__all__ = ["read_recipe", "recipe_from", "recipe_text", "write_recipe"]
