"""Write scenes to files: a motion file per actor, and a JSON file of contacts and props."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.figure.contacts import Contact
    from understudy.figure.skeleton import Point
    from understudy.samples.scene import Prop, Scene


UNIT = "cm"
"""The unit of written samples; most programs expect it in a BVH file."""


def sample_unit(path: str | Path) -> str | None:
    """The unit of a sample's file: centimetres, unless the format says what it is in."""
    from understudy.io.clip import format_of

    return None if format_of(path, written=True).metres else UNIT


def write_scene(scene: Scene, path: Path) -> tuple[list[Path], list[str]]:
    """Write a scene: `dance.bvh` becomes `dance_lead.bvh`, `dance_follow.bvh` and `dance.contacts.json`.

    Returns:
        The files, and sentences on what their format could not hold.
    """
    from understudy.base.files import open_to_write
    from understudy.io import Clip, write
    from understudy.samples import skin

    files: list[Path] = []
    lost: list[str] = []
    for actor, motion in scene.actors.items():
        several = len(scene.actors) > 1
        file = path.with_name(f"{path.stem}_{actor}{path.suffix}") if several else path
        lost += write(Clip(skeleton=motion.skeleton, motion=motion, make_skin=skin), file, unit=sample_unit(file))
        files.append(file)
    if scene.contacts or scene.props:
        contacts_file = path.with_name(f"{path.stem}.contacts.json")
        with open_to_write(contacts_file) as stream:
            stream.write(_text(scene_data(scene)).encode())
        files.append(contacts_file)
    return files, lost


def read_contacts(path: str | Path) -> list[Contact]:
    """Read the contacts of a file that `write_scene` wrote."""
    import numpy as np

    from understudy.base.errors import FileError, UnderstudyError
    from understudy.base.files import open_to_read
    from understudy.figure.contacts import Contact
    from understudy.figure.skeleton import Point

    def point(entry: dict[str, Any]) -> Point:
        return Point(name=entry["point"], joint=entry["joint"], offset=entry["offset"])

    with open_to_read(path) as stream:
        try:
            return [
                Contact(
                    point=point(entry),
                    start=entry["start"],
                    end=entry["end"],
                    place=None if entry["place"] is None else np.array(entry["place"], float),
                    actor=entry["actor"],
                    on=entry["on"],
                    other=point(entry["other"]) if entry["other"] else None,
                )
                for entry in json.load(stream)["contacts"]
            ]
        except json.JSONDecodeError as error:
            raise FileError(str(path), error.lineno, f"is not valid JSON: {error.msg}") from None
        except (KeyError, TypeError, ValueError, UnderstudyError) as error:
            problem = f"a contact has no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
            raise FileError(
                str(path),
                None,
                f"holds no contacts: {problem}",
                hint="`understudy samples walk -o walk.bvh` writes an example",
            ) from None


def scene_data(scene: Scene) -> dict[str, Any]:
    """A scene's contacts and props as plain data: metres, seconds, Y up."""
    return {
        "scene": scene.name,
        "about": scene.about,
        "fps": scene.motion.fps,
        "floor": scene.floor,
        "actors": list(scene.actors),
        "contacts": [contact_data(contact) for contact in scene.contacts],
        "props": [prop_data(prop) for prop in scene.props],
    }


def contact_data(contact: Contact) -> dict[str, Any]:
    """A contact as plain data."""
    return {
        "actor": contact.actor,
        **_point_data(contact.point),
        "start": float(contact.start),
        "end": float(contact.end),
        "place": None if contact.place is None else _numbers(contact.place),
        "on": contact.on,
        "other": None if contact.other is None else _point_data(contact.other),
    }


def prop_data(prop: Prop) -> dict[str, Any]:
    """A prop as plain data; a moving prop has positions and rotations per frame."""
    return {
        "name": prop.name,
        "sizes": _numbers(prop.sizes),
        "positions": _numbers(prop.positions),
        "rotations": _numbers(prop.rotations),
    }


def _text(data: dict[str, Any]) -> str:
    """Readable JSON, with one line per contact and prop."""
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = ",\n  ".join(json.dumps(item, ensure_ascii=False, allow_nan=False) for item in value)
            lines.append(f'"{key}": [\n  {inner}\n ]')
        else:
            lines.append(f'"{key}": {json.dumps(value, ensure_ascii=False, allow_nan=False)}')
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _point_data(point: Point) -> dict[str, Any]:
    return {"point": point.name, "joint": point.joint, "offset": _numbers(point.offset)}


def _numbers(values: Any) -> Any:
    """Numbers as lists, rounded to 1e-7."""
    import numpy as np

    return np.round(np.asarray(values, float), 7).tolist()
