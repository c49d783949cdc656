"""Skins of the sample characters: people in shirt and shorts, a dog, a spider, a bird, a shark, a can.

Limbs of the left side are blue and those of the right side orange.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.flesh import Piece, Tube, flesh
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Look, Material, Mesh, binds_of_rest, smooth_normals

UP, ACROSS, AHEAD = np.eye(3)[1], np.eye(3)[0], np.eye(3)[2]

SIDES = (("left", 1.0), ("right", -1.0))


def paint(name: str, colour: str) -> Material:
    """A material of a colour #rrggbb."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    red, green, blue = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4).round(4).tolist()
    return Material(name=name, colour=(red, green, blue, 1.0))


LIMBS = {"left": paint("left limbs", "#4d9fcb"), "right": paint("right limbs", "#ee8556")}

SHOES = {"left": paint("left foot", "#25648a"), "right": paint("right foot", "#b4502c")}

DARK, WHITE = paint("dark", "#2b2d33"), paint("white", "#f7f5f0")


def vector(x: float, y: float, z: float) -> Array:
    """(3,) a shift in the world, metres."""
    return np.array([x, y, z])


class Body:
    """Places of a skeleton in its rest pose by the names of its joints, ends and roles."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        self.places, _ = skeleton.rest_world
        self.number = {**skeleton.index, **roles(skeleton)}
        self.ends = dict(zip((end.name for end in skeleton.ends), skeleton.rest_ends, strict=True))
        self.end_joint = {end.name: skeleton.index[end.joint] for end in skeleton.ends}

    def at(self, name: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
        """(3,) the place of a joint or end, shifted in the world; metres."""
        place = self.places[self.number[name]] if name in self.number else self.ends[name]
        return np.asarray(place + vector(x, y, z))

    def mix(self, first: str, second: str, share: float) -> Array:
        """(3,) a place on the way from one joint or end to another."""
        return (1.0 - share) * self.at(first) + share * self.at(second)

    def end_below(self, joint: str, far: bool = True) -> str:
        """The name of the farthest (or nearest) end that is fixed to a joint."""
        names = [name for name, number in self.end_joint.items() if number == self.number[joint]]
        distances = [float(np.linalg.norm(self.ends[name] - self.at(joint))) for name in names]
        return names[int(np.argmax(distances) if far else np.argmin(distances))]


@record(eq=True)
class Outfit:
    """The colours of a person, as #rrggbb, and its build."""

    shirt: str
    shorts: str
    hair: str
    face: str = "#efc7a4"
    stout: float = 1.0
    """Thickness, as a factor."""


OUTFITS = {
    "adult": Outfit(shirt="#f3efe6", shorts="#4a505c", hair="#5a3d2b"),
    "child": Outfit(shirt="#f5c84c", shorts="#5b7a5a", hair="#7a4a24", stout=1.12),
    "giant": Outfit(shirt="#86b07c", shorts="#4b4438", hair="#33302e", stout=1.08),
    "stretched": Outfit(shirt="#c58bb5", shorts="#4f4a66", hair="#8a5a33"),
    "follow": Outfit(shirt="#e7b7bd", shorts="#6b4f63", hair="#6a4a3a", stout=0.94),
    "other": Outfit(shirt="#c9d3dd", shorts="#3f4a4f", hair="#3a3029"),
}


def person(skeleton: Skeleton, outfit: Outfit) -> list[Piece]:
    """A person in shirt, shorts and shoes, of a skeleton with a human's roles."""
    body = Body(skeleton)
    hip = abs(float(body.at("left_upper_leg")[0] - body.at("right_upper_leg")[0])) / 2.0
    shoulder = abs(float(body.at("left_upper_arm")[0] - body.at("right_upper_arm")[0])) / 2.0
    unit = outfit.stout * 0.5 * (hip / 0.09 + shoulder / 0.18)
    pieces = [*_clothes(body, outfit, unit, hip, shoulder), *_head(body, outfit, unit)]
    for side, sign in SIDES:
        pieces += [*_arm(body, side, unit), *_leg(body, side, sign, unit)]
    return pieces


def _spine(body: Body) -> list[str]:
    """The joints from the hips up to the one that carries neck and shoulders."""
    chain = body.skeleton.chain(int(body.skeleton.parents[body.number["neck"]]))
    names = [body.skeleton.names[joint] for joint in chain]
    return names[[body.number[name] for name in names].index(body.number["hips"]) :]


def _clothes(body: Body, outfit: Outfit, unit: float, hip: float, shoulder: float) -> list[Piece]:
    spine = _spine(body)
    bottom, top = body.at("left_upper_leg") * [0.0, 1.0, 1.0], body.at("neck")
    rise = top - bottom

    def carrier(share: float) -> int:
        """The joint of the spine that carries a share of the height of the trunk."""
        height = float(bottom[1] + share * rise[1])
        below = [name for name in spine if body.at(name)[1] <= height + 1e-6]
        return body.number[below[-1] if below else spine[0]]

    def trunk(shares: Sequence[float], depths: Sequence[float], wide: float) -> Tube:
        points = [bottom + share * rise + vector(0.0, 0.0, 0.006 * unit) for share in shares]
        middles = [carrier(0.5 * (a + b)) for a, b in pairwise(shares)]
        return Tube.through(points, np.array(depths) * unit, middles, axes=[(ACROSS, wide)])

    girth = shoulder / (0.18 * unit)
    shirt = [trunk((0.16, 0.30, 0.46, 0.62, 0.76, 0.86), (0.103, 0.093, 0.095, 0.104, 0.098, 0.07), 1.42 * girth)]
    shorts = [trunk((0.02, 0.14, 0.26), (0.082, 0.092, 0.078), 1.42 * girth)]
    for side, sign in SIDES:
        chest, arm, leg = spine[-1], f"{side}_upper_arm", f"{side}_upper_leg"
        yoke = [body.at(chest) * [0, 1, 1] + 0.80 * (body.at("neck") - body.at(chest)), body.at(arm, y=-0.012 * unit)]
        clavicle = body.number.get(f"{side}_shoulder", body.number[chest])
        shirt.append(Tube.through(yoke, [0.062 * unit, 0.060 * unit], clavicle))
        sleeve = [body.at(arm, y=-0.004 * unit), body.mix(arm, f"{side}_lower_arm", 0.42)]
        shirt.append(Tube.through(sleeve, [0.062 * unit, 0.053 * unit], body.number[arm]))
        hem = body.mix(leg, f"{side}_lower_leg", 0.46) + vector(0.004 * sign * unit, 0.0, 0.0)
        seat = [body.at(leg, y=0.01 * unit, z=-0.012 * unit), hem]
        shorts.append(Tube.through(seat, [0.081 * unit, 0.071 * unit], body.number[leg]))
    spacing = 0.027 * unit
    return [
        Piece(
            material=paint("shirt", outfit.shirt), tubes=shirt, spacing=spacing, blend=0.022 * unit,
            softness=0.05 * unit
        ),
        Piece(
            material=paint("shorts", outfit.shorts), tubes=shorts, spacing=spacing, blend=0.01 * unit,
            softness=0.05 * unit,
        ),
    ]  # fmt: skip


def _head(body: Body, outfit: Outfit, unit: float) -> list[Piece]:
    head, neck = body.number["head"], body.number["neck"]
    base, crown = body.at("head"), body.at(body.end_below("head"))
    size = float(np.linalg.norm(crown - base))
    face = paint("face", outfit.face)

    def place(x: float, y: float, z: float) -> Array:
        return base + size * np.array([x, y, z])

    skull = Tube.through(
        [place(0, 0.42, 0.0), place(0, 0.46, 0.03)], 0.46 * size, head, axes=[(UP, 1.14), (ACROSS, 0.9)]
    )
    jaw = Tube.through([place(0, 0.05, 0.14), place(0, 0.2, 0.12)], [0.25 * size, 0.34 * size], head)
    nose = Tube.through([place(0, 0.40, 0.46), place(0, 0.27, 0.53)], [0.035 * size, 0.062 * size], head)
    stalk = [body.at("neck", y=-0.03 * unit), body.mix("neck", "head", 0.6), base + vector(0.0, 0.12 * size, 0.0)]
    throat = Tube.through(stalk, np.array([0.062, 0.052, 0.054]) * unit, [neck, neck])
    ears = [Tube.through(place(0.41 * s, 0.34, -0.02), 0.085 * size, head, axes=[(ACROSS, 0.6)]) for _, s in SIDES]
    hair = [
        Tube.through(
            [place(0, 0.56, -0.09), place(0, 0.50, -0.02)], 0.47 * size, head, axes=[(UP, 1.06), (ACROSS, 0.94)]
        ),
    ]
    fringe = [place(-0.30, 0.83, 0.22), place(0.0, 0.92, 0.32), place(0.30, 0.83, 0.22)]
    hair.append(Tube.through(fringe, np.array([0.14, 0.15, 0.14]) * size, head))
    pieces = [
        Piece(
            material=face, tubes=[skull, jaw, nose, throat, *ears], spacing=0.095 * size, blend=0.03 * size,
            softness=0.03 * unit,
        ),
        Piece(material=paint("hair", outfit.hair), tubes=hair, spacing=0.125 * size, blend=0.04 * size),
    ]  # fmt: skip
    eyes = [Tube.through(place(0.165 * s, 0.42, 0.425), 0.052 * size, head, axes=[(UP, 1.35)]) for _, s in SIDES]
    return [*pieces, Piece(material=DARK, tubes=eyes, spacing=0.032 * size)]


def _arm(body: Body, side: str, unit: float) -> list[Piece]:
    upper, lower, hand = (f"{side}_{part}" for part in ("upper_arm", "lower_arm", "hand"))
    reach = body.at(body.end_below(hand)) - body.at(hand)
    points = [
        body.mix(upper, lower, 0.2), body.mix(upper, lower, 0.4), body.mix(upper, lower, 0.75), body.at(lower),
        body.mix(lower, hand, 0.28), body.at(hand), body.at(hand) + 0.2 * reach,
    ]  # fmt: skip
    numbers = [body.number[name] for name in (upper, upper, upper, lower, lower, hand)]
    arm = Tube.through(points, np.array([0.034, 0.042, 0.041, 0.037, 0.040, 0.025, 0.019]) * unit, numbers)
    along = reach / np.linalg.norm(reach)
    # The thumb points forward in a T-pose; the palm is flat across it.
    ahead = AHEAD - along * (AHEAD @ along)
    ahead = ahead / np.linalg.norm(ahead)
    number = body.number[hand]

    def place(share: float, forward: float) -> Array:
        return body.at(hand) + share * reach + forward * unit * ahead

    palm = Tube.through(
        [place(0.06, 0.0), place(0.20, 0.0), place(0.42, 0.0)], np.array([0.024, 0.032, 0.034]) * unit, number,
        axes=[(np.cross(along, ahead), 0.62)],
    )  # fmt: skip
    fingers = [
        Tube.through([place(0.40, shift), place(end, 1.2 * shift)], np.array([0.0125, 0.0098]) * unit, number)
        for shift, end in ((0.0235, 0.90), (0.008, 0.95), (-0.008, 0.92), (-0.0235, 0.82))
    ]
    thumb = Tube.through(
        [place(0.12, 0.012), place(0.30, 0.042), place(0.50, 0.060)], np.array([0.017, 0.014, 0.0115]) * unit, number
    )
    return [
        Piece(material=LIMBS[side], tubes=[arm], spacing=0.025 * unit, softness=0.026 * unit),
        Piece(material=LIMBS[side], tubes=[palm, *fingers, thumb], spacing=0.015 * unit, blend=0.004 * unit),
    ]


def _leg(body: Body, side: str, sign: float, unit: float) -> list[Piece]:
    upper, lower, foot = (f"{side}_{part}" for part in ("upper_leg", "lower_leg", "foot"))
    numbers = [body.number[name] for name in (upper, upper, upper, lower, lower, lower)]
    points = [
        body.mix(upper, lower, 0.28), body.mix(upper, lower, 0.45), body.mix(upper, lower, 0.78), body.at(lower,
        z=0.008 * unit),
        body.mix(lower, foot, 0.30) - [0.0, 0.0, 0.012 * unit], body.mix(lower, foot, 0.70), body.at(foot,
        y=-0.01 * unit),
    ]  # fmt: skip
    leg = Tube.through(points, np.array([0.048, 0.061, 0.055, 0.050, 0.054, 0.038, 0.033]) * unit, numbers)
    return [
        Piece(material=LIMBS[side], tubes=[leg], spacing=0.03 * unit, softness=0.035 * unit),
        _shoe(body, side, sign, unit),
    ]


def _shoe(body: Body, side: str, sign: float, unit: float) -> Piece:
    foot, toes = f"{side}_foot", f"{side}_toe"
    ankle, ball = body.at(foot), body.at(toes)
    heel = body.at(body.end_below(foot))
    tip = body.at(body.end_below(toes))
    floor = float(min(heel[1], tip[1]))
    length, rise = float(tip[2] - heel[2]), float(ankle[1] - floor)
    thick = min(0.155 * length, 0.55 * rise)

    def on_sole(place: Array, height: float, x: float = 0.0, z: float = 0.0) -> Array:
        return np.array([place[0] + sign * x * length, floor + height * rise, place[2] + z * length])

    number, toe = body.number[foot], body.number[toes]
    wide = [(ACROSS, 1.12)]
    back = Tube.through([on_sole(heel, 0.42, z=0.15), on_sole(ankle, 0.62)], [thick, 0.95 * thick], number, axes=wide)
    shaft = Tube.through(
        [on_sole(ankle, 0.5), ankle + vector(0, 0.30 * rise, 0)], [0.16 * length, 0.148 * length], number
    )
    middle = Tube.through(
        [on_sole(ankle, 0.55, z=0.06), on_sole(ball, 0.36, 0.012, -0.02)],
        [1.05 * thick, 0.98 * thick],
        number,
        axes=wide,
    )
    front = Tube.through(
        [on_sole(ball, 0.36, 0.012, -0.02), on_sole(tip, 0.30, 0.004, -0.13)], [0.98 * thick, 0.86 * thick], toe,
        axes=[(ACROSS, 1.22)],
    )  # fmt: skip
    return Piece(
        material=SHOES[side], tubes=[back, shaft, middle, front], spacing=0.075 * length, blend=0.035 * length,
        softness=0.08 * length, floor=floor,
    )  # fmt: skip


COAT, SNOUT = paint("coat", "#d9a864"), paint("snout", "#3a2c22")


def dog(skeleton: Skeleton) -> list[Piece]:
    """A dog with a collar of its own coat, hanging ears and coloured legs."""
    body = Body(skeleton)
    number = body.number
    back = ["Hips", "Spine", "Spine1", "Spine2", "Chest"]
    points = [
        body.at("Hips", y=-0.03, z=-0.075),
        body.at("Hips", y=-0.028),
        *(body.at(name, y=-0.045) for name in back[1:4]),
    ]
    points += [body.at("Chest", y=-0.058, z=0.02), body.at("Neck", y=-0.045, z=0.005)]
    carriers = [number[name] for name in ("Hips", "Hips", "Spine", "Spine1", "Spine2", "Chest")]
    trunk = Tube.through(points, [0.075, 0.092, 0.094, 0.098, 0.11, 0.118, 0.085], carriers, axes=[(ACROSS, 0.92)])
    throat = [body.at("Chest", y=-0.01, z=0.05), body.at("Neck", y=-0.005), body.at("Neck1"), body.at("Head", y=-0.015)]
    neck = Tube.through(throat, [0.095, 0.082, 0.068, 0.062], [number[name] for name in ("Neck", "Neck", "Neck1")])
    head, nose = number["Head"], body.at("Nose")
    skull = Tube.through([body.at("Head", z=0.005), body.at("Head", y=0.002, z=0.055)], [0.062, 0.06], head)
    muzzle = [body.at("Head", y=-0.015, z=0.07), nose + vector(0.0, 0.002, -0.06), nose + vector(0.0, 0.004, -0.02)]
    snout = Tube.through(muzzle, [0.046, 0.036, 0.029], head)
    jaw = Tube.through([body.at("Jaw", y=0.005), body.at("Chin", y=0.012, z=-0.01)], [0.03, 0.019], number["Jaw"])
    names = ["Tail", "Tail1", "Tail2", "Tail3", "Tail4"]
    plume = [body.at("Hips", y=0.0, z=-0.09), *(body.at(name) for name in names), body.at("TailTip")]
    tail = Tube.through(
        plume, [0.03, 0.028, 0.026, 0.025, 0.023, 0.019, 0.011], [number["Hips"], *(number[name] for name in names)]
    )
    coat = [trunk, neck, skull, snout, jaw, tail]
    pieces = []
    for side, sign in SIDES:
        pieces += _dog_legs(body, side.capitalize(), coat)
        ear = body.at(f"{side.capitalize()}Ear")
        lobe = Tube.through(
            [ear + vector(-0.012 * sign, 0.028, -0.015), ear + vector(0.006 * sign, 0.0, -0.012),
            ear + vector(0.012 * sign, -0.055, -0.004)],
            [0.017, 0.028, 0.022], head, axes=[(ACROSS, 0.5)],
        )  # fmt: skip
        pieces.append(Piece(material=LIMBS[side], tubes=[lobe], spacing=0.012))
        eye = Tube.through(body.at("Head", x=0.036 * sign, y=0.014, z=0.1), 0.0145, head)
        pieces.append(Piece(material=DARK, tubes=[eye], spacing=0.009))
    tip = Tube.through(nose + vector(0.0, 0.016, -0.006), 0.0155, head, axes=[(ACROSS, 1.3)])
    return [
        Piece(material=COAT, tubes=coat, spacing=0.0185, blend=0.011, softness=0.04),
        Piece(material=SNOUT, tubes=[tip], spacing=0.009),
        *pieces,
    ]


def _dog_legs(body: Body, side: str, coat: list[Tube]) -> list[Piece]:
    """The fore and hind leg of a side; their upper parts go to the coat."""
    number, pieces = body.number, []
    coat.append(
        Tube.through(
            [body.at(f"{side}Scapula", y=-0.03), body.at(f"{side}UpperArm"), body.mix(f"{side}UpperArm",
            f"{side}Forearm", 0.6)],
            [0.05, 0.056, 0.042], [number[f"{side}Scapula"], number[f"{side}UpperArm"]],
        )
    )  # fmt: skip
    coat.append(
        Tube.through(
            [body.at(f"{side}Thigh", z=-0.015), body.mix(f"{side}Thigh", f"{side}Shin", 0.55)], [0.082, 0.066],
            number[f"{side}Thigh"],
        )
    )  # fmt: skip
    fore = [f"{side}{part}" for part in ("UpperArm", "Forearm", "Metacarpus", "ForePaw")]
    hind = [f"{side}{part}" for part in ("Thigh", "Shin", "Metatarsus", "HindPaw")]
    for chain, widths in (
        (fore, (0.024, 0.032, 0.033, 0.024, 0.022, 0.022)),
        (hind, (0.03, 0.044, 0.044, 0.028, 0.023, 0.022)),
    ):
        upper, lower, cannon, paw = chain
        points = [
            body.mix(upper, lower, 0.45), body.mix(upper, lower, 0.7), body.at(lower), body.mix(lower, cannon,
            0.6), body.at(cannon),
            body.at(paw, y=0.004),
        ]  # fmt: skip
        joints = [number[name] for name in (upper, upper, lower, lower, cannon)]
        leg = Tube.through(points, widths, joints)
        pieces.append(Piece(material=LIMBS[side.lower()], tubes=[leg], spacing=0.015, softness=0.02))
        toe = body.at(paw.replace("Paw", "Toe"))
        toes = [
            Tube.through(
                [body.at(paw, x=x, y=-0.006, z=0.012), toe + vector(1.3 * x, 0.017, -0.012)],
                [0.019, 0.016],
                number[paw],
            )
            for x in (-0.014, 0.0, 0.014)
        ]
        heel = Tube.through(body.at(paw, y=-0.006), 0.025, number[paw])
        shoe = SHOES[side.lower()]
        pieces.append(Piece(material=shoe, tubes=[*toes, heel], spacing=0.0125, blend=0.003, floor=float(toe[1])))
    return pieces


def spider(skeleton: Skeleton) -> list[Piece]:
    """A spider with a round abdomen and knees that glow in the colour of their side."""
    body = Body(skeleton)
    number = body.number
    shell, fur = paint("shell", "#5b4a57"), paint("abdomen", "#7d6577")
    front = Tube.through(
        [body.at("Cephalothorax", z=-0.07), body.at("Cephalothorax", y=0.01), body.at("Cephalothorax", y=0.008,
        z=0.085)],
        [0.06, 0.088, 0.062], number["Cephalothorax"], axes=[(UP, 0.72)],
    )  # fmt: skip
    waist, tip = body.at("Abdomen"), body.at("Spinneret")
    rear = Tube.through(
        [waist + vector(0.0, 0.0, 0.0), waist + 0.3 * (tip - waist), waist + 0.62 * (tip - waist), tip],
        [0.03, 0.105, 0.118, 0.022], number["Abdomen"], axes=[(UP, 0.88)],
    )  # fmt: skip
    stalk = Tube.through([body.at("Cephalothorax", z=-0.08), waist - [0.0, 0.0, 0.03]], 0.024, number["Cephalothorax"])
    pieces = [
        Piece(material=shell, tubes=[front, stalk], spacing=0.022, blend=0.008),
        Piece(material=fur, tubes=[rear], spacing=0.028),
    ]
    eyes = [
        Tube.through(body.at("Eyes", x=x, y=y, z=z), r, number["Cephalothorax"])
        for x, y, z, r in (
            (0.018, 0.0, -0.014, 0.014),
            (-0.018, 0.0, -0.014, 0.014),
            (0.046, 0.012, -0.04, 0.01),
            (-0.046, 0.012, -0.04, 0.01),
        )
    ]
    pieces.append(Piece(material=DARK, tubes=eyes, spacing=0.008))
    for side, _ in SIDES:
        word, tubes = side.capitalize(), []
        for count in range(1, 5):
            parts = [f"{word}Leg{count}{part}" for part in ("Coxa", "Femur", "Tibia", "Tarsus")]
            points = [body.at(part) for part in parts]
            middle = 0.5 * (points[1] + points[2])
            shank = 0.6 * points[2] + 0.4 * points[3]
            path = [*points[:2], middle, points[2], shank, points[3], body.at(f"{word}Leg{count}Tip", y=0.007)]
            joints = [number[parts[i]] for i in (0, 1, 1, 2, 2, 3)]
            tubes.append(Tube.through(path, [0.026, 0.024, 0.026, 0.019, 0.019, 0.012, 0.006], joints))
        palp = [body.at(f"{word}Palp"), body.at(f"{word}PalpTip"), body.at(f"{word}PalpEnd")]
        tubes.append(Tube.through(palp, [0.018, 0.015, 0.009], [number[f"{word}Palp"], number[f"{word}PalpTip"]]))
        pieces += [Piece(material=LIMBS[side], tubes=[tube], spacing=0.0155, softness=0.016) for tube in tubes]
    return pieces


def shark(skeleton: Skeleton) -> list[Piece]:
    """A shark, dark above and pale below, with fins of the colours of their sides."""
    body = Body(skeleton)
    number = body.number
    chain = ["Head", "Body", "Spine1", "Spine2", "Spine3", "Spine4", "Tail", "TailFin"]
    snout = body.at("Snout")
    points = [snout - [0.0, 0.0, 0.02], 0.55 * snout + 0.45 * body.at("Head"), *(body.at(name) for name in chain)]
    radii = [0.03, 0.115, 0.175, 0.20, 0.19, 0.165, 0.13, 0.095, 0.062, 0.042]
    carriers = [
        number[name] for name in ("Head", "Head", "Head", "Body", "Spine1", "Spine2", "Spine3", "Spine4", "Tail")
    ]
    skin, pale = paint("back", "#6f8796"), paint("belly", "#e9edee")
    trunk = Tube.through(points, radii, carriers, axes=[(ACROSS, 0.86)])
    lower = [place - [0.0, 0.16 * radius + 0.006, 0.0] for place, radius in zip(points, radii, strict=True)]
    belly = Tube.through(lower[:-1], np.array(radii[:-1]) * 0.97, carriers[:-1], axes=[(ACROSS, 0.885)])
    pieces = [
        Piece(material=skin, tubes=[trunk], spacing=0.042, softness=0.14),
        Piece(material=pale, tubes=[belly], spacing=0.042, softness=0.14),
    ]

    def fin(points: Sequence[Array], radii: Sequence[float], joint: str, thin: ArrayLike, material: Material) -> Piece:
        tube = Tube.through(points, radii, number[joint], axes=[(thin, 0.24)])
        return Piece(material=material, tubes=[tube], spacing=0.024)

    root = body.at("DorsalFin")
    tall = body.at("DorsalTip")
    pieces.append(
        fin(
            [root + vector(0, -0.06, 0.0), root + 0.5 * (tall - root) + vector(0, 0, 0.02), tall],
            [0.13, 0.085, 0.03],
            "DorsalFin",
            ACROSS,
            skin,
        )
    )
    tail = body.at("TailFin")
    for name, widths in (("UpperLobe", (0.075, 0.06, 0.022)), ("LowerLobe", (0.07, 0.05, 0.02))):
        far = body.at(name)
        pieces.append(fin([tail, 0.5 * (tail + far) + vector(0, 0, 0.015), far], widths, "TailFin", ACROSS, skin))
    for side, sign in SIDES:
        word = side.capitalize()
        near, far = body.at(f"{word}PectoralFin", x=-0.05 * sign), body.at(f"{word}PectoralTip")
        thin = np.cross(far - near, AHEAD)
        pieces.append(
            fin(
                [near, 0.5 * (near + far) + vector(0, 0, 0.02), far],
                [0.10, 0.07, 0.02],
                f"{word}PectoralFin",
                thin,
                LIMBS[side],
            )
        )
        eye = Tube.through(
            0.45 * snout + 0.55 * body.at("Head") + vector(0.112 * sign, 0.035, 0.0), 0.022, number["Head"]
        )
        pieces.append(Piece(material=DARK, tubes=[eye], spacing=0.014))
    mouth = [
        body.at("Jaw", x=x, y=-0.03, z=z)
        for x, z in ((0.085, 0.0), (0.062, 0.08), (0.0, 0.125), (-0.062, 0.08), (-0.085, 0.0))
    ]
    pieces.append(Piece(material=DARK, tubes=[Tube.through(mouth, 0.012, number["Head"])], spacing=0.012))
    return pieces


def bird(skeleton: Skeleton) -> list[Piece]:
    """A bird with a pale breast, wings of the colours of their sides, and feet of the same."""
    body = Body(skeleton)
    number = body.number
    back, pale, horn = paint("feathers", "#7c6f66"), paint("breast", "#efe4d2"), paint("beak", "#e0a33a")
    base, tail = body.at("Body"), body.at("Tail")
    rump, tip = body.at("Tail", z=-0.02), body.at("TailTip")
    trunk = Tube.through(
        [rump, *(base + vector(0.0, y, z) for y, z in ((0.005, -0.09), (0.01, 0.02), (0.025, 0.1))),
         body.at("Neck", y=0.01)],
        [0.055, 0.105, 0.128, 0.108, 0.06], number["Body"], axes=[(ACROSS, 0.92)],
    )  # fmt: skip
    throat = [body.at("Neck", y=0.0, z=-0.01), body.at("UpperNeck"), body.at("Head", y=0.01, z=0.005)]
    neck = Tube.through(throat, [0.07, 0.048, 0.052], [number["Neck"], number["UpperNeck"]])
    head = Tube.through([body.at("Head", y=0.02), body.at("Head", y=0.022, z=0.045)], [0.062, 0.05], number["Head"])
    fan = Tube.through([tail, 0.5 * (tail + tip), tip], [0.05, 0.055, 0.045], number["Tail"], axes=[(UP, 0.22)])
    front = [base + vector(0.0, -0.022, 0.01), base + vector(0.0, -0.002, 0.09), body.at("Neck", y=-0.012, z=0.022)]
    breast = Tube.through(front, [0.112, 0.106, 0.052], number["Body"], axes=[(ACROSS, 0.93)])
    crop = Tube.through([body.at("Neck", z=0.012), body.at("UpperNeck", z=0.012)], [0.05, 0.04], number["Neck"])
    beak = Tube.through([body.at("Head", y=0.012, z=0.07), body.at("Beak")], [0.026, 0.005], number["Head"])
    pieces = [
        Piece(material=back, tubes=[trunk, neck, head], spacing=0.022, blend=0.012, softness=0.03),
        Piece(material=back, tubes=[fan], spacing=0.022),
        Piece(material=pale, tubes=[breast, crop], spacing=0.022, blend=0.012, softness=0.03),
        Piece(material=horn, tubes=[beak], spacing=0.012),
    ]
    for side, sign in SIDES:
        word = side.capitalize()
        eye = Tube.through(body.at("Head", x=0.052 * sign, y=0.035, z=0.04), 0.012, number["Head"])
        pieces.append(Piece(material=DARK, tubes=[eye], spacing=0.008))
        parts = [f"{word}Wing", f"{word}Forewing", f"{word}Handwing"]
        path = [body.at(part, y=-0.015) for part in parts] + [body.at(f"{word}WingTip")]
        wing = Tube.through(path, [0.05, 0.075, 0.066, 0.012], [number[part] for part in parts], axes=[(ACROSS, 0.34)])
        pieces.append(Piece(material=LIMBS[side], tubes=[wing], spacing=0.022, softness=0.03))
        hip, knee, ankle = (body.at(f"{word}{part}") for part in ("Thigh", "Shank", "Tarsus"))
        thigh = Tube.through([hip + vector(0.0, 0.02, 0.0), knee], [0.06, 0.036], number[f"{word}Thigh"])
        drum = Tube.through([knee, 0.45 * knee + 0.55 * ankle], [0.036, 0.02], number[f"{word}Shank"])
        pieces.append(Piece(material=back, tubes=[thigh, drum], spacing=0.016, blend=0.01, softness=0.02))
        foot = body.at(f"{word}Toes")
        shank = Tube.through(
            [0.6 * knee + 0.4 * ankle, ankle, foot, foot + vector(0.0, -0.012, 0.015)], [0.017, 0.015, 0.013, 0.012],
            [number[f"{word}Shank"], number[f"{word}Tarsus"], number[f"{word}Toes"]],
        )  # fmt: skip
        pieces.append(Piece(material=SHOES[side], tubes=[shank], spacing=0.01, softness=0.012))
        heel, front_toe = foot + vector(0.0, -0.013, 0.0), body.at(f"{word}Toe", y=0.009)
        spread = vector(0.045, 0.0, -0.018)
        for end in (front_toe, front_toe + spread, front_toe + spread * [-1, 1, 1], body.at(f"{word}HindToe", y=0.009)):
            toe = Tube.through([heel, 0.5 * (heel + end), end], [0.012, 0.011, 0.008], number[f"{word}Toes"])
            pieces.append(Piece(material=SHOES[side], tubes=[toe], spacing=0.012))
    return pieces


def can(skeleton: Skeleton) -> Mesh:
    """A soda can with a blue and an orange half and silver ends, turned on a lathe."""
    body = Body(skeleton)
    top, floor = body.at("Top"), float(body.at("FrontRim")[1])
    height, wide = float(top[1] - floor), float(np.linalg.norm(body.at("FrontTop") - top))
    silver = paint("silver", "#c3c9ce")
    # Radius and height of each ring as shares; a ring that stands twice is a hard edge.
    profile = np.array(CAN_PROFILE) * [wide, height]
    corners = 48
    angles = 2.0 * np.pi * np.arange(corners) / corners
    around = np.stack([np.cos(angles), np.zeros(corners), np.sin(angles)], axis=1)
    vertices = profile[:, None, :1] * around + profile[:, None, 1:] * UP + [top[0], floor, top[2]]
    count = len(profile)
    here, beside = np.arange(corners), (np.arange(corners) + 1) % corners
    start = corners * np.arange(count - 1)[:, None]
    a, b, c, d = start + here, start + beside, start + corners + here, start + corners + beside
    quads = np.stack([a, c, d, b], axis=-1)
    hard = np.abs(np.diff(profile, axis=0)).sum(axis=1) < 1e-9
    painted = np.broadcast_to((~SILVER_BANDS)[:, None], quads.shape[:2])
    left = np.broadcast_to(np.cos(angles + np.pi / corners) > 0.0, quads.shape[:2])
    number = np.where(painted, np.where(left, 0, 1), 2)
    quads, number = quads[~hard].reshape(-1, 4), number[~hard].ravel()
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    places = vertices.reshape(-1, 3)
    return Mesh(
        name="skin", vertices=places, triangles=triangles, joints=np.zeros((len(places), 1), int),
        weights=np.ones((len(places), 1)), joint_from_mesh=binds_of_rest(skeleton),
        look=Look(
            normals=smooth_normals(places, triangles)[triangles], materials=(LIMBS["left"], LIMBS["right"], silver),
            material_numbers=np.tile(number, 2),
        ),
    )  # fmt: skip


CAN_PROFILE = (
    (0.0, 0.055), (0.74, 0.035), (0.80, 0.0), (0.80, 0.0), (0.86, 0.0), (0.86, 0.0), (0.97, 0.05), (0.97, 0.05),
    (1.0, 0.075),
    (1.0, 0.16), (1.0, 0.84), (0.985, 0.89), (0.88, 0.965), (0.88, 0.965), (0.90, 0.985), (0.885, 1.0), (0.84, 1.0),
    (0.82, 0.985), (0.80, 0.972), (0.80, 0.972), (0.0, 0.972),
)  # fmt: skip
"""Rings of the can from the middle of its bottom to the middle of its top."""

SILVER_BANDS = np.array([i < 7 or i > 12 for i in range(len(CAN_PROFILE) - 1)])


def fleshed(design: Callable[[Skeleton], list[Piece]]) -> Callable[[Skeleton], Mesh]:
    """A maker of meshes from a maker of pieces."""
    return lambda skeleton: flesh(skeleton, design(skeleton))


DESIGNS: dict[str, Callable[[Skeleton], Mesh]] = {
    "dog": fleshed(dog), "spider": fleshed(spider), "shark": fleshed(shark), "bird": fleshed(bird), "can": can,
    **{name: fleshed(partial(person, outfit=outfit)) for name, outfit in OUTFITS.items()},
}  # fmt: skip
"""The makers of skins, by the names of the characters."""
