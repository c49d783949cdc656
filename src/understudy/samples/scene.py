"""Samples: scenes of actors, props and contacts, and the makers of characters and motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton


@record
class Prop:
    """A thing in the scene, made of boxes: a carried box is one box, a ladder is several."""

    name: str
    sizes: Array
    """(B, 3) metres, edge lengths of each box."""
    positions: Array
    """(B, 3) metres, world, centres; (F, B, 3) if it moves."""
    rotations: Array
    """(B, 4), or (F, B, 4) if it moves."""
    shape: str = "box"
    """What fills its boxes: "box", "cylinder" or "mesh"."""

    def __repr__(self) -> str:
        return f"<Prop {self.name}>"


@record
class Scene:
    """A sample motion of one or several actors whose contacts are exactly known."""

    name: str
    actors: dict[str, Motion]
    contacts: tuple[Contact, ...]
    props: tuple[Prop, ...] = ()
    floor: float = 0.0
    """Height of the floor, metres."""
    about: str = ""
    """A one-sentence description."""
    tags: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        actors = ", ".join(name or "unnamed" for name in self.actors)
        return f"<Scene {self.name}: {actors}; {len(self.contacts)} contacts>"

    def _repr_html_(self) -> str:
        return self.motion._repr_html_()

    @property
    def motion(self) -> Motion:
        """The motion of the first actor."""
        return next(iter(self.actors.values()))


@record(eq=True)
class CharacterSample:
    """A sample character and its maker."""

    name: str
    about: str
    make: Callable[[], Skeleton]


@record(eq=True)
class MotionSample:
    """A sample motion and its maker, for any rate and length."""

    name: str
    about: str
    seconds: float
    """Default length."""
    make: Callable[[float, float], Scene]
    """Takes frames per second and seconds."""
