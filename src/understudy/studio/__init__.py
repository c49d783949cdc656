"""The studio: a local web page to edit a retarget, which is solved again during every drag.

Imports `recipe`, `show` and what is below them. Only `app` imports it.
"""

from __future__ import annotations
