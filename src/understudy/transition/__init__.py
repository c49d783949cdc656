"""Transitions: one motion goes over into another, of the same body or of any other [Hsieh05, sec. 4].

Imports what is below `metrics`. `recipe`, `studio` and `app` import it.
"""

from __future__ import annotations

from understudy.transition.make import Transition, transition

__all__ = ["Transition", "transition"]
