"""Which files of a folder are motions, and what their results are called."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import PurePosixPath

from understudy.batches.model import REJECTED, STATE, Job
from understudy.batches.places import Folder, Place
from understudy.errors import FileError, OptionError
from understudy.io import formats
from understudy.recipe.loading import SAMPLE

SEVERAL = (".fbx", ".glb", ".gltf", ".usd", ".usda", ".usdc", ".usdz")
"""Endings of files that may hold several animations."""
MOTIONS = ("bvh", "amc", "fbx", "gltf", "usd", "npz")
"""Formats whose files are taken for motions if no pattern says otherwise; others mostly hold something else."""
USUAL = ".bvh"
"""The ending of results where neither the user nor the target's file says one."""


def find_clips(source: Place, patterns: Iterable[str] = (), leave: Place | None = None) -> dict[str, int]:
    """The motion files in a folder and below, with their sizes, by name.

    Args:
        source: The folder.
        patterns: Such as `*.bvh` or `walks/**`; a file that fits one is taken. All motion files if not given.
        leave: A folder whose files are no sources: the output's, where it lies inside.
    """
    chosen = tuple(patterns)
    endings = tuple(suffix for name in MOTIONS for suffix in formats()[name].suffixes)
    known = tuple(suffix for found in formats().values() if found.read is not None for suffix in found.suffixes)
    skipped = _inside(source, leave)
    clips = {}
    for name, size in source.files():
        if skipped and name.startswith(skipped):
            continue
        ending = PurePosixPath(name).suffix.lower()
        if ending in (known if chosen else endings) and (not chosen or any(fits(name, each) for each in chosen)):
            clips[name] = size
    if not clips:
        asked = f"that fits {' or '.join(chosen)}" if chosen else f"that ends in {', '.join(endings)}"
        raise FileError(source.text(), None, f"holds no motion file {asked}", hint="--pattern says which are wanted")
    return clips


def fits(name: str, pattern: str) -> bool:
    """Whether a pattern takes a file: by its whole name from the folder, or by its own where it has no slash."""
    if "/" not in pattern:
        return fnmatch(PurePosixPath(name).name, pattern)
    return fnmatch(name, pattern) or fnmatch(name, pattern.replace("**/", ""))


def _inside(source: Place, leave: Place | None) -> str:
    if not (isinstance(source, Folder) and isinstance(leave, Folder)):
        return ""
    here, there = source.path.resolve(), leave.path.resolve()
    if here == there:
        raise OptionError(
            f"Source and output are one folder, `{source.text()}`: results would be taken for sources",
            hint="name another folder with -o",
        )
    return there.relative_to(here).as_posix() + "/" if there.is_relative_to(here) else ""


def output_ending(wanted: str | None, target: str | None) -> str | None:
    """The ending of results: the one asked for, else the target's own; None for that of each source.

    Args:
        wanted: A format's name or an ending, such as `glb` or `.glb`.
        target: The target's file; None where each source's own character is scaled.
    """
    if wanted is None:
        if target is None:
            return None
        own = PurePosixPath(target.partition("#")[0]).suffix.lower()
        return own if not target.startswith(SAMPLE) and _writable(own) else USUAL
    ending = "." + wanted.lower().lstrip(".")
    ending = formats()[wanted.lower()].suffixes[0] if wanted.lower() in formats() else ending
    if not _writable(ending):
        can = sorted(suffix for found in formats().values() if found.write is not None for suffix in found.suffixes)
        raise OptionError(f"Results cannot be written as `{wanted}`; known: {', '.join(can)}")
    return ending


def _writable(ending: str) -> bool:
    return any(ending in found.suffixes and found.write is not None for found in formats().values())


def make_jobs(files: dict[str, list[str]], ending: str | None) -> list[Job]:
    """A job for each clip, with what its result is called: as the clip, with both endings where two would be one file.

    Args:
        files: The motion files, each with its animations; none, or one, where the file is the clip.
        ending: Of the results; None for each source's own.
    """
    made = []
    for file, animations in files.items():
        own = PurePosixPath(file).suffix.lower()
        suffix = ending or (own if _writable(own) else USUAL)
        for animation in animations if len(animations) > 1 else [""]:
            stem = PurePosixPath(file).with_suffix("")
            output = f"{stem}_{_plain(animation)}{suffix}" if animation else f"{stem}{suffix}"
            clip = f"{file}#{animation}" if animation else file
            made.append(Job(clip=clip, file=file, animation=animation, output=_aside(output)))
    counts = Counter(job.output.casefold() for job in made)
    return [replace(job, output=_distinct(job)) if counts[job.output.casefold()] > 1 else job for job in made]


def _plain(animation: str) -> str:
    """An animation's name as part of a file's."""
    return re.sub(r"[^\w.-]+", "_", animation)[:80]


def _aside(output: str) -> str:
    """A name that is not in the folder of results that are no use, nor in the one that a run keeps for itself."""
    return f"_{output}" if output.split("/")[0] in (REJECTED, STATE) and "/" in output else output


def _distinct(job: Job) -> str:
    """A name that tells the source's ending too, and which of several animations of one name it is."""
    suffix = PurePosixPath(job.output).suffix
    if not job.animation:
        return _aside(job.file + suffix)
    told = hashlib.sha256(job.animation.encode()).hexdigest()[:8]
    return _aside(f"{job.file}_{_plain(job.animation)}_{told}{suffix}")


def rejected(output: str) -> str:
    """Where a result goes that was made but is no use."""
    return f"{REJECTED}/{output}"


def order_jobs(jobs: Iterable[Job], sizes: dict[str, int]) -> list[Job]:
    """Jobs with the largest files first, so that none is left running alone at the end."""
    return sorted(jobs, key=lambda job: (-sizes[job.file], job.clip))
