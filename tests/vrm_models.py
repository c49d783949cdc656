"""VRM models of the sample human, with the structure of the official samples: licence, map of bones, expressions on
blend shapes, first person, look-at, spring bones with colliders, and toon materials."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np

from understudy import samples
from understudy.base.quaternion import from_axis_angle, multiply, rotate
from understudy.figure.roles import roles
from understudy.io import Clip
from understudy.io.gltf.writer import build
from understudy.io.vrm.reader import ROLE_OF_BONE

META = {
    "name": "Sample adult", "version": "1.0", "authors": ["Understudy"], "licenseUrl": "https://vrm.dev/licenses/1.0/",
    "avatarPermission": "everyone", "commercialUsage": "corporation", "creditNotation": "unnecessary",
    "modification": "allowModificationRedistribution", "allowRedistribution": True,
}  # fmt: skip
META_0 = {
    "title": "Sample adult", "version": "1.0", "author": "Understudy", "allowedUserName": "Everyone",
    "violentUssageName": "Allow", "sexualUssageName": "Disallow", "commercialUssageName": "Allow",
    "licenseName": "CC0", "contactInformation": "", "reference": "",
}  # fmt: skip
RANGE = {"inputMaxValue": 90.0, "outputScale": 10.0}
TOON = {"specVersion": "1.0", "shadeColorFactor": [0.9, 0.8, 0.8], "shadingToonyFactor": 0.9}


def model(version: int, *, anonymous: bool = True, backwards: bool = False) -> bytes:
    """A VRM model of the sample human. Names of bones may say nothing; VRM 0.x models look backwards."""
    skeleton = samples.character("adult")
    joints = roles(skeleton)
    if anonymous:
        names = tuple(f"bone{i:03d}" for i in range(skeleton.num_joints))
        ends = tuple(replace(end, joint=names[skeleton.index[end.joint]]) for end in skeleton.ends)
        skeleton = replace(skeleton, names=names, ends=ends)
    if backwards:
        turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.pi)
        offsets, rest = skeleton.offsets.copy(), skeleton.rest.copy()
        offsets[0], rest[0] = rotate(turn, offsets[0]), multiply(turn, rest[0])
        skeleton = replace(skeleton, offsets=offsets, rest=rest)
    builder, _ = build(Clip.of(skeleton), 1.0, "Y", "")
    tree = builder.tree
    bones = {bone: joints[role] for bone, role in ROLE_OF_BONE.items() if role in joints}
    mesh = next(number for number, node in enumerate(tree["nodes"]) if "mesh" in node)
    # A blend shape of the face: the vertices again, so that a weight of 1 doubles the body.
    primitive = tree["meshes"][0]["primitives"][0]
    primitive["targets"] = [{"POSITION": primitive["attributes"]["POSITION"]}]
    tree["meshes"][0]["weights"] = [0.0]
    tree["meshes"][0]["extras"] = {"targetNames": ["Joy"]}
    tree.setdefault("materials", [{"name": "skin", "pbrMetallicRoughness": {"baseColorFactor": [0.9, 0.7, 0.6, 1.0]}}])
    primitive["material"] = 0
    # A strand of hair that swings: two nodes below the head that are no bones of a human.
    hair = len(tree["nodes"])
    tree["nodes"] += [
        {"name": "hair", "translation": [0.0, 0.15, -0.1], "children": [hair + 1]},
        {"name": "hair_end", "translation": [0.0, -0.1, -0.05]},
    ]
    head = tree["nodes"][bones["head"]]
    head["children"] = [*head.get("children", []), hair]
    extensions = _version_0(bones, hair) if version == 0 else _version_1(bones, mesh, hair)
    tree["extensions"], tree["extensionsUsed"] = extensions, list(extensions)
    if version == 1:
        tree["materials"][0]["extensions"] = {"VRMC_materials_mtoon": TOON}
        tree["extensionsUsed"].append("VRMC_materials_mtoon")
    stream = io.BytesIO()
    builder.write(stream, text=False)
    return stream.getvalue()


def _version_0(bones: dict[str, int], hair: int) -> dict[str, Any]:
    named = [{"bone": bone, "node": node, "useDefaultValues": True} for bone, node in bones.items()]
    shape = {"name": "Joy", "presetName": "joy", "binds": [{"mesh": 0, "index": 0, "weight": 100.0}], "isBinary": False}
    springs = {
        "stiffiness": 1.0, "gravityPower": 0.0, "gravityDir": {"x": 0.0, "y": -1.0, "z": 0.0}, "dragForce": 0.4,
        "center": -1, "hitRadius": 0.02, "bones": [hair], "colliderGroups": [0],
    }  # fmt: skip
    collider = {"offset": {"x": 0.0, "y": 0.1, "z": 0.0}, "radius": 0.1}
    return {
        "VRM": {
            "exporterVersion": "UniVRM-0.99", "specVersion": "0.0", "meta": META_0, "humanoid": {"humanBones": named},
            "firstPerson": {"firstPersonBone": bones["head"], "meshAnnotations": [], "lookAtTypeName": "Bone"},
            "blendShapeMaster": {"blendShapeGroups": [shape]},
            "secondaryAnimation": {
                "boneGroups": [springs], "colliderGroups": [{"node": bones["spine"], "colliders": [collider]}]
            },
            "materialProperties": [
                {"name": "skin", "shader": "VRM_USE_GLTFSHADER", "renderQueue": 2000, "floatProperties": {},
                 "vectorProperties": {}, "textureProperties": {}, "keywordMap": {}, "tagMap": {}}
            ],
        }
    }  # fmt: skip


def _version_1(bones: dict[str, int], mesh: int, hair: int) -> dict[str, Any]:
    happy = {"morphTargetBinds": [{"node": mesh, "index": 0, "weight": 1.0}], "isBinary": False}
    collider = {"node": bones["spine"], "shape": {"sphere": {"offset": [0.0, 0.1, 0.0], "radius": 0.1}}}
    return {
        "VRMC_vrm": {
            "specVersion": "1.0", "meta": META,
            "humanoid": {"humanBones": {bone: {"node": node} for bone, node in bones.items()}},
            "firstPerson": {"meshAnnotations": [{"node": mesh, "type": "auto"}]},
            "lookAt": {
                "offsetFromHeadBone": [0.0, 0.06, 0.0], "type": "bone", "rangeMapHorizontalInner": RANGE,
                "rangeMapHorizontalOuter": RANGE, "rangeMapVerticalDown": RANGE, "rangeMapVerticalUp": RANGE,
            },
            "expressions": {"preset": {"happy": happy}, "custom": {"wink": {"isBinary": True}}},
        },
        "VRMC_springBone": {
            "specVersion": "1.0", "colliders": [collider], "colliderGroups": [{"name": "body", "colliders": [0]}],
            "springs": [
                {
                    "name": "hair", "colliderGroups": [0],
                    "joints": [{"node": hair, "stiffness": 1.0, "dragForce": 0.5}, {"node": hair + 1}],
                }
            ],
        },
    }  # fmt: skip
