"""Analogies: motions are decomposed into coordinations, which are matched between bodies and recombined [Analogies].

Imports `retarget` and what is below it. `show`, `recipe`, `studio` and `app` import it.
"""

from __future__ import annotations
