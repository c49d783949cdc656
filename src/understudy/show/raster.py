"""Draw skins into pictures without a display: triangles with a depth buffer, lights and a shadow on the floor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.skin import Mesh

KEY_LIGHT, FILL_LIGHT = np.array([0.45, 0.75, 0.55]), np.array([-0.7, 0.15, 0.4])
"""Directions towards the lights: right, up and towards the viewer."""

AMBIENT, KEY, FILL, RIM = 0.42, 0.62, 0.16, 0.22
"""Strength of the light from everywhere, of both lights, and at the edges."""


@record
class Surface:
    """The triangles of all meshes of a body, with a colour each."""

    triangles: np.ndarray
    """(T, 3) vertex numbers."""
    colours: Array
    """(T, 3) linear red, green and blue from 0 to 1."""
    joints: np.ndarray
    """(T,) the joint that carries most of a triangle."""

    @staticmethod
    def of(meshes: Sequence[Mesh]) -> Surface:
        starts = np.cumsum([0, *(mesh.num_vertices for mesh in meshes)])
        triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts[:-1], strict=True)]
        strongest = [mesh.joints[np.arange(mesh.num_vertices), mesh.weights.argmax(axis=1)] for mesh in meshes]
        joints = [joint[mesh.triangles[:, 0]] for mesh, joint in zip(meshes, strongest, strict=True)]
        return Surface(
            triangles=np.concatenate(triangles),
            colours=np.concatenate([triangle_colours(mesh) for mesh in meshes]),
            joints=np.concatenate(joints),
        )


def triangle_colours(mesh: Mesh) -> Array:
    """(T, 3) the linear colours of a mesh's triangles: those of its materials, grey without any."""
    look = mesh.look
    if look is None or not look.materials:
        return np.full((len(mesh.triangles), 3), 0.6)
    table = np.array([material.colour[:3] if not material.image else (0.6, 0.6, 0.6) for material in look.materials])
    return table[look.material_numbers]


def fragments(corners: Array, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, Array, Array]:
    """The pixels that triangles cover.

    Args:
        corners: (T, 3, 3) pixels to the right, pixels down, and nearness, of each corner.
        size: Width and height in pixels.

    Returns:
        (N,) the numbers of the pixels, row by row, (N,) the triangle of each, (N, 3) its shares of the corners, and
        (N,) its nearness. Sorted from far to near.
    """
    flat = corners[..., :2]
    low = np.maximum(np.ceil(flat.min(axis=1) - 0.5), 0.0).astype(np.intp)
    high = np.minimum(np.floor(flat.max(axis=1) - 0.5), np.array(size) - 1).astype(np.intp)
    span = np.maximum(high - low + 1, 0)
    counts = span[:, 0] * span[:, 1]
    triangle = np.repeat(np.arange(len(corners)), counts)
    number = np.arange(len(triangle)) - np.repeat(np.cumsum(counts) - counts, counts)
    column = low[triangle, 0] + number % np.maximum(span[triangle, 0], 1)
    row = low[triangle, 1] + number // np.maximum(span[triangle, 0], 1)
    a, b, c = (flat[:, k] for k in range(3))
    u, v = b - a, c - a
    area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    area = np.where(np.abs(area) > 1e-12, area, 1e-12)
    x, y = column + 0.5 - a[triangle, 0], row + 0.5 - a[triangle, 1]
    second = (x * v[triangle, 1] - y * v[triangle, 0]) / area[triangle]
    third = (y * u[triangle, 0] - x * u[triangle, 1]) / area[triangle]
    shares = np.stack([1.0 - second - third, second, third], axis=1)
    kept = np.flatnonzero((shares >= -1e-6).all(axis=1))
    shares, triangle = shares[kept], triangle[kept]
    near = np.einsum("nk,nk->n", shares, corners[triangle, :, 2])
    order = np.argsort(near, kind="stable")
    return (row * size[0] + column)[kept][order], triangle[order], shares[order], near[order]


def draw_body(
    image: np.ndarray, surface: Surface, seen: Array, normals: Array, *, colours: Array | None = None
) -> None:
    """Draw a body into an image.

    Args:
        image: (H, W, 3) bytes, changed in place.
        surface: Its triangles.
        seen: (V, 3) pixels to the right, pixels down, and metres towards the viewer.
        normals: (V, 3) unit normals in the camera's axes: right, up, towards the viewer.
        colours: (T, 3) linear colours in place of the surface's.
    """
    height, width = image.shape[:2]
    corners = seen[surface.triangles]
    a, b, c = (corners[:, k, :2] for k in range(3))
    # Counterclockwise seen from outside is clockwise in pixels, which count downwards.
    front = np.flatnonzero((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0] < 0.0)
    pixels, triangle, shares, _ = fragments(corners[front], (width, height))
    if not len(pixels):
        return
    # The nearest fragment of a pixel is its last.
    last = np.zeros(width * height, np.intp)
    last[pixels] = np.arange(len(pixels))
    shown = last[np.unique(pixels)]
    triangle, shares = front[triangle[shown]], shares[shown]
    normal = np.einsum("nk,nki->ni", shares, normals[surface.triangles[triangle]])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    base = (surface.colours if colours is None else colours)[triangle]
    image.reshape(-1, 3)[pixels[shown]] = to_bytes(base * light(normal)[:, None])


def light(normals: Array) -> Array:
    """(N,) the light that arrives at normals (N, 3) in the camera's axes."""
    key = np.maximum(normals @ (KEY_LIGHT / np.linalg.norm(KEY_LIGHT)), 0.0)
    fill = np.maximum(normals @ (FILL_LIGHT / np.linalg.norm(FILL_LIGHT)), 0.0)
    sky = 0.85 + 0.15 * normals[:, 1]
    rim = (1.0 - np.clip(normals[:, 2], 0.0, 1.0)) ** 3
    return AMBIENT * sky + KEY * key + FILL * fill + RIM * rim


def draw_shadow(image: np.ndarray, surface: Surface, seen: Array, *, strength: float = 0.28) -> None:
    """Darken the pixels that triangles (their corners (V, 3) projected to the floor) cover, with a soft edge."""
    height, width = image.shape[:2]
    pixels, *_ = fragments(seen[surface.triangles], (width, height))
    covered = np.zeros(width * height)
    covered[pixels] = 1.0
    soft = np.pad(covered.reshape(height, width), 2)
    for axis in (0, 1, 0, 1):
        soft = (soft + np.roll(soft, 1, axis) + np.roll(soft, -1, axis)) / 3.0
    soft = soft[2:-2, 2:-2]
    image[:] = np.rint(image * (1.0 - strength * soft[..., None])).astype(np.uint8)


def to_bytes(linear: Array) -> np.ndarray:
    """Linear colours (..., 3) as bytes of sRGB."""
    clipped = np.clip(linear, 0.0, 1.0)
    curved = np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)
    return np.rint(255.0 * curved).astype(np.uint8)
