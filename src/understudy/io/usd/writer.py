"""Writes USD: a skeleton with rest and bind transforms, an animation, and skinned meshes."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from understudy.base.quaternion import Array, conjugate, continuous, multiply, rotate, to_matrix
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Look, Material, Mesh, binds_of_rest, skinned
from understudy.io.child import need
from understudy.io.clip import Clip, WriteOptions, describe_lost_joints, name_unit, world_from_file
from understudy.io.gltf.writer import bone_mesh
from understudy.io.matrices import make_affine
from understudy.io.usd.layout import NotInPlaceError, UsdLayout, insert_motion

ENDINGS = (".usda", ".usdc", ".usdz")

MAX_BIND_DIFFERENCE = 1e-4
"""Largest difference of a mesh's bind matrices from those of the rest pose, in metres for translations."""


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a USD file: text, binary or package by the ending of its name; `.usd` is binary.

    A motion of a character that was read from USD goes into the character's own file, whose other content is unchanged.

    Args:
        clip: What to write.
        stream: The file to write to.
        options: The file's name, unit and up axis. The defaults are those of a USD clip, else metres and Y.

    Returns:
        What was left out, a sentence each.
    """
    need("pxr", "usd-core", "usd", "Writing USD")
    from_usd = clip.format == "usd"
    unit = options.unit or (clip.unit if from_usd else 1.0)
    up = options.up or (clip.up if from_usd else "Y")
    notes = []
    layout = clip.layout if isinstance(clip.layout, UsdLayout) and clip.layout.fits(clip.skeleton) else None
    if layout is not None and clip.motion is not None:
        try:
            data, more = _own_file(clip.motion, layout, options)
        except NotInPlaceError as problem:
            notes.append(f"the character's own file could not be changed ({problem}); a new file is written")
        else:
            stream.write(data)
            return (*more, *_kept_conventions(clip, options))
    if up not in ("Y", "Z"):
        up = "Y"
        notes.append(f"USD cannot have {options.up or clip.up} up: it is written with Y up")
    ending = Path(options.path).suffix.lower() if options.path else ENDINGS[0]
    ending = ending if ending in ENDINGS else ".usdc"
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / f"character{'.usda' if ending == '.usda' else '.usdc'}"
        notes += _author(clip, plain, unit, up, packed=ending == ".usdz")
        if ending == ".usdz":
            packed = plain.with_suffix(".usdz")
            import_module("pxr.UsdUtils").CreateNewUsdzPackage(
                import_module("pxr.Sdf").AssetPath(str(plain)), str(packed)
            )
            plain = packed
        stream.write(plain.read_bytes())
    return tuple(notes)


def _own_file(motion: Motion, layout: UsdLayout, options: WriteOptions) -> tuple[bytes, list[str]]:
    """The character's own file with a motion, and notes; the file as it is, if the motion came from it."""
    target = Path(options.path or layout.path)
    same_folder = layout.packed or target.resolve().parent == Path(layout.path).parent
    same_ending = target.suffix.lower() == Path(layout.path).suffix.lower()
    if motion is layout.motion and same_ending and same_folder:
        return layout.data, []
    title = motion.name if motion.name != motion.skeleton.name else target.stem
    try:
        return insert_motion(motion, layout, title or "motion", target)
    except import_module("pxr.Tf").ErrorException as error:
        raise NotInPlaceError(" ".join(str(error).split())[:120]) from None


def _kept_conventions(clip: Clip, options: WriteOptions) -> tuple[str, ...]:
    """A note where a unit or an axis was asked for that the character's own file does not have."""
    if (options.unit or clip.unit) == clip.unit and (options.up or clip.up) == clip.up:
        return ()
    return (f"the character's own file keeps its unit ({name_unit(clip.unit)}) and its up axis ({clip.up})",)


def _author(clip: Clip, path: Path, unit: float, up: str, *, packed: bool) -> list[str]:
    """Make the stage and save it; images are saved beside it if it will be packed with them."""
    usd, geometry, skel = (import_module(f"pxr.{part}") for part in ("Usd", "UsdGeom", "UsdSkel"))
    stage = usd.Stage.CreateNew(str(path))
    geometry.SetStageUpAxis(stage, up)
    geometry.SetStageMetersPerUnit(stage, unit)
    root = skel.Root.Define(stage, "/Character")
    if clip.skeleton.name:
        root.GetPrim().SetDisplayName(clip.skeleton.name)
    stage.SetDefaultPrim(root.GetPrim())
    paths = _paths(clip.skeleton)
    skeleton = _skeleton(stage, clip.skeleton, paths, unit, up)
    skel.BindingAPI.Apply(root.GetPrim()).CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    notes = _losses(clip)
    meshes = [mesh for mesh in clip.meshes if mesh.num_joints == clip.skeleton.num_joints and len(mesh.triangles)]
    if len(meshes) < len(clip.meshes):
        notes.append(f"{len(clip.meshes) - len(meshes)} meshes are for other joints or have no faces, and are left out")
    for i, mesh in enumerate(meshes or [bone_mesh(clip.skeleton)]):
        notes += _mesh(stage, mesh, i, clip.skeleton, unit, up)
        if mesh.look is not None:
            _paint(stage, mesh.look, i, up, path.parent if packed else None)
    if not packed and any(material.images for mesh in meshes if mesh.look for material in mesh.look.materials):
        notes.append("images are written into .usdz only; here their surfaces are plain")
    if clip.motion is not None:
        taken = {"Skeleton"}
        animation = _animation(stage, clip.motion, paths, unit, up, taken)
        stage.SetTimeCodesPerSecond(clip.motion.fps)
        stage.SetFramesPerSecond(clip.motion.fps)
        stage.SetStartTimeCode(0)
        stage.SetEndTimeCode(clip.motion.num_frames - 1)
        for motion in clip.more_motions:
            _animation(stage, motion, paths, unit, up, taken, codes_per_frame=clip.motion.fps / motion.fps)
        binding = skel.BindingAPI.Apply(skeleton.GetPrim())
        binding.CreateAnimationSourceRel().SetTargets([animation.GetPath()])
    stage.GetRootLayer().Save()
    return notes


def _paths(skeleton: Skeleton) -> list[str]:
    """The USD path of each joint: the valid identifiers of its ancestors and itself."""
    tf = import_module("pxr.Tf")
    paths: list[str] = []
    taken: set[str] = set()
    for joint, name in enumerate(skeleton.names):
        parent = f"{paths[skeleton.parents[joint]]}/" if joint else ""
        base = path = parent + tf.MakeValidIdentifier(name)
        number = 2
        while path in taken:
            path, number = f"{base}_{number}", number + 1
        taken.add(path)
        paths.append(path)
    return paths


def _matrices(matrices: Array) -> Any:
    """Matrices (n, 4, 4) as the library's type, which is for row vectors."""
    matrix_type = import_module("pxr.Gf").Matrix4d
    return import_module("pxr.Vt").Matrix4dArray([matrix_type(*matrix.T.ravel().tolist()) for matrix in matrices])


def _locals(offsets: Array, rotations: Array, unit: float, up: str) -> tuple[Array, Array]:
    """Offsets (..., J, 3) and rotations (..., J, 4) in the file's unit and axes. Only the root is rotated."""
    file_from_world = conjugate(world_from_file(up))
    offsets, rotations = np.array(offsets) / unit, np.array(rotations)
    offsets[..., 0, :] = rotate(file_from_world, offsets[..., 0, :])
    rotations[..., 0, :] = multiply(file_from_world, rotations[..., 0, :])
    return offsets, rotations


def _skeleton(stage: Any, skeleton: Skeleton, paths: list[str], unit: float, up: str) -> Any:
    sdf, vt, gf = import_module("pxr.Sdf"), import_module("pxr.Vt"), import_module("pxr.Gf")
    prim = import_module("pxr.UsdSkel").Skeleton.Define(stage, "/Character/Skeleton")
    prim.CreateJointsAttr(paths)
    prim.CreateJointNamesAttr(list(skeleton.names))
    offsets, rest = _locals(skeleton.offsets, skeleton.rest, unit, up)
    prim.CreateRestTransformsAttr(_matrices(make_affine(to_matrix(rest), offsets)))
    positions, rotations = skeleton.rest_world
    file_from_world = conjugate(world_from_file(up))
    bound = make_affine(to_matrix(multiply(file_from_world, rotations)), rotate(file_from_world, positions) / unit)
    prim.CreateBindTransformsAttr(_matrices(bound))
    if skeleton.ends:
        # UsdSkel has no end points of bones. Other programs ignore attributes that they do not know.
        ends = (
            ("endNames", sdf.ValueTypeNames.StringArray, [end.name for end in skeleton.ends]),
            ("endJoints", sdf.ValueTypeNames.StringArray, [end.joint for end in skeleton.ends]),
            (
                "endOffsets",
                sdf.ValueTypeNames.Double3Array,
                vt.Vec3dArray([gf.Vec3d(*(end.offset / unit).tolist()) for end in skeleton.ends]),
            ),
        )
        for key, kind, value in ends:
            prim.GetPrim().CreateAttribute(f"understudy:{key}", kind, True).Set(value)
    return prim


def _animation(
    stage: Any, motion: Motion, paths: list[str], unit: float, up: str, taken: set[str], codes_per_frame: float = 1.0
) -> Any:
    """A SkelAnimation of a motion; its name is added to those that are taken."""
    skel, vt, gf = import_module("pxr.UsdSkel"), import_module("pxr.Vt"), import_module("pxr.Gf")
    name = import_module("pxr.Tf").MakeValidIdentifier(motion.name or "motion")
    name = name if not name.startswith("Mesh") else f"{name}_motion"
    while name in taken:
        name += "_motion"
    taken.add(name)
    prim = skel.Animation.Define(stage, f"/Character/{name}")
    if motion.name and motion.name != name:
        prim.GetPrim().SetDisplayName(motion.name)
    prim.CreateJointsAttr(paths)
    offsets = np.array(np.broadcast_to(motion.skeleton.offsets, (motion.num_frames, len(paths), 3)))
    if motion.offsets is not None:
        offsets = np.array(motion.offsets)
    offsets[:, 0] = motion.root
    offsets, rotations = _locals(offsets, motion.rotations, unit, up)
    translations_attribute, rotations_attribute = prim.CreateTranslationsAttr(), prim.CreateRotationsAttr()
    prim.CreateScalesAttr(vt.Vec3hArray(len(paths), gf.Vec3h(1, 1, 1)))
    rotations = continuous(rotations)
    for frame in range(motion.num_frames):
        code = frame * codes_per_frame
        translations_attribute.Set(vt.Vec3fArray.FromNumpy(offsets[frame].astype(np.float32)), code)
        rotations_attribute.Set(vt.QuatfArray([gf.Quatf(*rotation) for rotation in rotations[frame].tolist()]), code)
    return prim


def _mesh(stage: Any, mesh: Mesh, number: int, skeleton: Skeleton, unit: float, up: str) -> list[str]:
    """Add a mesh in the rest pose, skinned to the skeleton; returns notes."""
    geometry, skel, vt, gf = (import_module(f"pxr.{part}") for part in ("UsdGeom", "UsdSkel", "Vt", "Gf"))
    notes, vertices, shapes = [], mesh.vertices, [shape.offsets for shape in mesh.shapes]
    if np.abs(mesh.joint_from_mesh - binds_of_rest(skeleton)).max() > MAX_BIND_DIFFERENCE:
        notes.append(f"mesh `{mesh.name}` was bound in another pose than the rest pose, and is bound anew in that")
        vertices = skinned(mesh, skeleton)[0]
        shapes = [
            skinned(replace(mesh, vertices=mesh.vertices + offsets, shapes=()), skeleton)[0] - vertices
            for offsets in shapes
        ]
    prim = geometry.Mesh.Define(stage, f"/Character/Mesh{number}")
    prim.GetPrim().SetDisplayName(mesh.name or f"Mesh{number}")
    points = vt.Vec3fArray.FromNumpy((vertices @ to_matrix(world_from_file(up)) / unit).astype(np.float32))
    prim.CreatePointsAttr(points)
    prim.CreateExtentAttr(geometry.PointBased.ComputeExtent(points))
    prim.CreateFaceVertexCountsAttr(vt.IntArray(len(mesh.triangles), 3))
    prim.CreateFaceVertexIndicesAttr(vt.IntArray.FromNumpy(mesh.triangles.ravel().astype(np.int32)))
    prim.CreateSubdivisionSchemeAttr(geometry.Tokens.none)
    binding = skel.BindingAPI.Apply(prim.GetPrim())
    width = mesh.weights.shape[1]
    binding.CreateJointIndicesPrimvar(False, width).Set(vt.IntArray.FromNumpy(mesh.joints.ravel().astype(np.int32)))
    weights = vt.FloatArray.FromNumpy(mesh.weights.ravel().astype(np.float32))
    binding.CreateJointWeightsPrimvar(False, width).Set(weights)
    binding.CreateGeomBindTransformAttr(gf.Matrix4d(1.0))
    if mesh.shapes:
        _shapes(stage, mesh, shapes, prim, to_matrix(world_from_file(up)) / unit)
        if any(shape.weight for shape in mesh.shapes):
            notes.append(f"USD has weights of blend shapes in animations only: those of mesh `{mesh.name}` are zero")
    return notes


def _shapes(stage: Any, mesh: Mesh, offsets: list[Array], prim: Any, to_file: Array) -> None:
    """Add blend shapes to a mesh."""
    skel, tf, vt, sdf = (import_module(f"pxr.{part}") for part in ("UsdSkel", "Tf", "Vt", "Sdf"))
    paths: list[Any] = []
    for number, (shape, moved) in enumerate(zip(mesh.shapes, offsets)):
        path = prim.GetPath().AppendChild(f"Shape{number}_{tf.MakeValidIdentifier(shape.name)}")
        made = skel.BlendShape.Define(stage, path)
        vertices = np.flatnonzero(np.any(moved != 0.0, axis=1)).astype(np.int32)
        made.CreateOffsetsAttr(vt.Vec3fArray.FromNumpy((moved[vertices] @ to_file).astype(np.float32)))
        made.CreatePointIndicesAttr(vt.IntArray.FromNumpy(vertices))
        made.CreateNormalOffsetsAttr(vt.Vec3fArray(len(vertices)))
        paths.append(sdf.Path(path))
    binding = skel.BindingAPI(prim.GetPrim())
    binding.CreateBlendShapesAttr(vt.TokenArray([shape.name for shape in mesh.shapes]))
    binding.CreateBlendShapeTargetsRel().SetTargets(paths)


def _paint(stage: Any, look: Look, number: int, up: str, folder: Path | None) -> None:
    """Add normals, texture coordinates and materials to a mesh; images are written into the folder if there is one."""
    geometry, shade, sdf, vt = (import_module(f"pxr.{part}") for part in ("UsdGeom", "UsdShade", "Sdf", "Vt"))
    prim = geometry.Mesh.Get(stage, f"/Character/Mesh{number}")
    if look.normals is not None:
        normals = (look.normals.reshape(-1, 3) @ to_matrix(world_from_file(up))).astype(np.float32)
        prim.CreateNormalsAttr(vt.Vec3fArray.FromNumpy(normals))
        prim.SetNormalsInterpolation(geometry.Tokens.faceVarying)
    if look.uvs is not None:
        kind = sdf.ValueTypeNames.TexCoord2fArray
        coordinates = geometry.PrimvarsAPI(prim).CreatePrimvar("st", kind, geometry.Tokens.faceVarying)
        coordinates.Set(vt.Vec2fArray.FromNumpy(look.uvs.reshape(-1, 2).astype(np.float32)))
    if any(material.double_sided for material in look.materials):
        prim.CreateDoubleSidedAttr(True)
    for i, material in enumerate(look.materials):
        surface = _material(stage, material, f"/Character/Materials/Mesh{number}_{i}", folder)
        binding = shade.MaterialBindingAPI.Apply(prim.GetPrim())
        if len(look.materials) == 1:
            binding.Bind(surface)
            continue
        faces = np.flatnonzero(look.material_numbers == i).astype(np.int32)
        part = binding.CreateMaterialBindSubset(f"part{i}", vt.IntArray.FromNumpy(faces))
        shade.MaterialBindingAPI.Apply(part.GetPrim()).Bind(surface)


def _material(stage: Any, material: Material, path: str, folder: Path | None) -> Any:
    """A preview surface; with its images if there is a folder to put them into."""
    shade, sdf, gf = (import_module(f"pxr.{part}") for part in ("UsdShade", "Sdf", "Gf"))
    prim = shade.Material.Define(stage, path)
    prim.GetPrim().SetDisplayName(material.name or "material")
    surface = shade.Shader.Define(stage, f"{path}/Surface")
    surface.CreateIdAttr("UsdPreviewSurface")
    kinds = sdf.ValueTypeNames
    opacity, (red, green, blue) = material.colour[3], material.emission
    for name, kind, value in (
        ("diffuseColor", kinds.Color3f, gf.Vec3f(*material.colour[:3])), ("opacity", kinds.Float, opacity),
        ("opacityThreshold", kinds.Float, material.cutoff), ("metallic", kinds.Float, material.metallic),
        ("roughness", kinds.Float, material.roughness), ("emissiveColor", kinds.Color3f, gf.Vec3f(red, green, blue)),
    ):  # fmt: skip
        surface.CreateInput(name, kind).Set(value)
    shown = {"diffuseColor": "rgb"} | ({"opacity": "a"} if material.blended or material.cutoff else {})
    # An input is a number or an image, so that the number scales the image.
    for title, image, scale, inputs in (
        ("Image", material.image, (1.0, 1.0, 1.0, opacity), shown),
        ("Roughness", material.roughness_image, (1.0, material.roughness, material.metallic, 1.0),
         {"roughness": "g", "metallic": "b"}),
        ("Emission", material.emission_image, (red, green, blue, 1.0), {"emissiveColor": "rgb"}),
        ("Normals", material.normal_image, (2.0, 2.0, 2.0, 1.0), {"normal": "rgb"}),
        ("Occlusion", material.occlusion_image, (1.0, 1.0, 1.0, 1.0), {"occlusion": "r"}),
    ):  # fmt: skip
        if not image or folder is None:
            continue
        file = _save_image(image, material.image_name if title == "Image" else "", folder)
        texture = _texture(stage, f"{path}/{title}", file, raw=title not in ("Image", "Emission"))
        texture.CreateInput("scale", kinds.Float4).Set(gf.Vec4f(*scale))
        if title == "Normals":
            texture.CreateInput("bias", kinds.Float4).Set(gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
        for name, channel in inputs.items():
            kind = {"normal": kinds.Normal3f}.get(name, kinds.Color3f) if channel == "rgb" else kinds.Float
            output = texture.CreateOutput(channel, kinds.Float3 if channel == "rgb" else kinds.Float)
            surface.CreateInput(name, kind).ConnectToSource(output)
    prim.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", kinds.Token))
    return prim


def _save_image(image: bytes, name: str, folder: Path) -> str:
    """Put an image into a folder, by its own name where that is free; returns the name of its file."""
    ending = ".png" if image.startswith(b"\x89PNG") else ".jpg"
    name = name if re.fullmatch(r"[A-Za-z0-9_-]+\.(png|jpe?g)", name) else ""
    if not name or ((folder / name).exists() and (folder / name).read_bytes() != image):
        name = f"image_{sha256(image).hexdigest()[:16]}{ending}"
    (folder / name).write_bytes(image)
    return name


def _texture(stage: Any, path: str, file: str, *, raw: bool) -> Any:
    """A shader that looks up an image of the folder of the stage."""
    shade, sdf = (import_module(f"pxr.{part}") for part in ("UsdShade", "Sdf"))
    reader = shade.Shader.Define(stage, f"{path.rpartition('/')[0]}/Coordinates")
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", sdf.ValueTypeNames.String).Set("st")
    texture = shade.Shader.Define(stage, path)
    texture.CreateIdAttr("UsdUVTexture")
    texture.CreateInput("file", sdf.ValueTypeNames.Asset).Set(sdf.AssetPath(f"./{file}"))
    texture.CreateInput("sourceColorSpace", sdf.ValueTypeNames.Token).Set("raw" if raw else "sRGB")
    texture.CreateInput("st", sdf.ValueTypeNames.Float2).ConnectToSource(
        reader.CreateOutput("result", sdf.ValueTypeNames.Float2)
    )
    return texture


def _losses(clip: Clip) -> list[str]:
    notes = describe_lost_joints(clip.skeleton, "USD skeletons have")
    if any(mesh.look is None for mesh in clip.meshes):
        notes.append("of the meshes only the shape and the skin weights are written, no materials")
    return notes
