"""Find contacts in a motion: the points of the body that stay still, for how long, and where.

How still is still is a share of the body's leg length, so that one setting fits a child, a giant and a dog. Here what
is found is set beside what a sample knows about itself.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from understudy import samples
from understudy.figure.contacts import Detection, contact_points, detect_contacts
from understudy.show.picture import draw

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

scene = samples.motion("walk")
motion = scene.motion

print("points watched:", ", ".join(point.name for point in contact_points(motion)))
found = detect_contacts(motion)
print(f"{len(found)} contacts found, {len(scene.contacts)} known")
for contact in found[:4]:
    place = "moving" if contact.place is None else " ".join(f"{value:.2f}" for value in contact.place)
    print(f"  {contact.point.name:<16} {contact.start:.2f} to {contact.end:.2f} s at {place}")

# What the sample says about the same points, watched as they are.
points = {contact.point.name: contact.point for contact in scene.contacts}
watched = detect_contacts(motion, list(points.values()))
for name in points:
    known = [contact for contact in scene.contacts if contact.point.name == name]
    mine = [contact for contact in watched if contact.point.name == name]
    late = [min(abs(other.start - contact.start) for other in known) for contact in mine]
    print(f"{name:<16} known {len(known)}, found {len(mine)}, starts within {max(late, default=0.0):.2f} s")

# A stricter idea of standing still finds shorter contacts or fewer.
strict = detect_contacts(motion, how=Detection(shortest=0.3))
print(f"{len(strict)} last at least 0.3 s")

marked = [scene, replace(scene, contacts=found)]
draw(marked, out / "contacts.png", labels=["known", "found"], style="filmstrip", views="side", count=7)
print("drawn: contacts.png")
