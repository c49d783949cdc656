"""Which files of a folder are clips, and what the result of each clip is called."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import PurePosixPath

from understudy.base.errors import FileError, OptionError
from understudy.batch.location import Folder, Location
from understudy.batch.model import REJECTED_FOLDER, STATE_FOLDER, Job
from understudy.io import formats
from understudy.retarget.actor import SAMPLE

DEFAULT_SUFFIX = ".bvh"
"""The suffix of results where neither the user nor the target's file gives a writable one."""

MAX_ANIMATION_NAME_LENGTH = 80
"""Characters of an animation's name that go into a file name."""


@dataclass(eq=False, kw_only=True)
class Listing:
    """What a source folder holds."""

    names: set[str] = field(default_factory=set)
    """All files, relative to the folder."""
    skipped: list[str] = field(default_factory=list)
    """A sentence on each sub-folder that was not listed."""


def find_clips(
    source: Location, patterns: Iterable[str] = (), excluded: Location | None = None, listing: Listing | None = None
) -> dict[str, int]:
    """List the motion files in a folder and its sub-folders: sizes in bytes by file name.

    Args:
        source: The folder.
        patterns: Such as `*.bvh` or `walks/**`; a file that matches any of them is taken. Empty for all motion files.
        excluded: A folder whose files are not sources: the output folder, which may lie inside the source folder.
        listing: Gets the names of all files, motions or not, and what could not be listed.
    """
    patterns, listing = tuple(patterns), Listing() if listing is None else listing
    motion_suffixes = tuple(s for format in formats().values() if format.motions for s in format.suffixes)
    readable_suffixes = tuple(s for format in formats().values() if format.read is not None for s in format.suffixes)
    excluded_prefix = _relative_prefix(source, excluded)
    clips = {}
    for name, size in source.files(listing.skipped):
        listing.names.add(name)
        if excluded_prefix and name.startswith(excluded_prefix):
            continue
        suffix = PurePosixPath(name).suffix.lower()
        if patterns:
            taken = suffix in readable_suffixes and any(matches(name, pattern) for pattern in patterns)
        else:
            taken = suffix in motion_suffixes
        if taken:
            clips[name] = size
    if not clips:
        wanted = f"that matches {' or '.join(patterns)}" if patterns else f"that ends in {', '.join(motion_suffixes)}"
        raise FileError(source.text(), None, f"holds no motion file {wanted}", hint="--pattern chooses the files")
    return clips


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern takes a file. A pattern without a slash is compared with the last part of the name only."""
    if "/" not in pattern:
        return fnmatch(PurePosixPath(name).name, pattern)
    return fnmatch(name, pattern) or fnmatch(name, pattern.replace("**/", ""))


def _relative_prefix(source: Location, excluded: Location | None) -> str:
    """The excluded folder relative to the source folder, with a slash; empty where it is not inside."""
    if not (isinstance(source, Folder) and isinstance(excluded, Folder)):
        return ""
    source_path, excluded_path = source.path.resolve(), excluded.path.resolve()
    if source_path == excluded_path:
        raise OptionError(
            f"Source and output are the same folder, `{source.text()}`: results would be read as sources",
            hint="name another folder with -o",
        )
    if not excluded_path.is_relative_to(source_path):
        return ""
    return excluded_path.relative_to(source_path).as_posix() + "/"


def output_suffix(format: str | None, target: str | None) -> str | None:
    """The file suffix of results: that of the format, else that of the target's file; None for each source's suffix.

    Args:
        format: A format's name or a suffix, such as `glb` or `.glb`.
        target: The target's file; None where each source's character is scaled.
    """
    if format is None:
        if target is None:
            return None
        suffix = PurePosixPath(target.partition("#")[0]).suffix.lower()
        return suffix if not target.startswith(SAMPLE) and _is_writable(suffix) else DEFAULT_SUFFIX
    suffix = "." + format.lower().lstrip(".")
    suffix = formats()[format.lower()].suffixes[0] if format.lower() in formats() else suffix
    if not _is_writable(suffix):
        writable = sorted(s for entry in formats().values() if entry.write is not None for s in entry.suffixes)
        raise OptionError(f"Results cannot be written as `{format}`; known: {', '.join(writable)}")
    return suffix


def _is_writable(suffix: str) -> bool:
    return any(suffix in format.suffixes and format.write is not None for format in formats().values())


def make_jobs(files: dict[str, list[str]], suffix: str | None, only: str | None = None) -> list[Job]:
    """Make a job for each clip and name its result after the clip.

    Results that would share a file name keep the source's suffix in their names too.

    Args:
        files: The animations of each motion file; none or one where the file is one clip.
        suffix: Of the results; None for each source's suffix.
        only: The name of the only animation to take of files that list theirs; None for all.
    """
    jobs = []
    if only is not None:
        files = {file: animations for file, animations in files.items() if not animations or only in animations}
    for file, animations in files.items():
        source_suffix = PurePosixPath(file).suffix.lower()
        result_suffix = suffix or (source_suffix if _is_writable(source_suffix) else DEFAULT_SUFFIX)
        taken = animations if only is None else [name for name in animations if name == only]
        for animation in taken if len(animations) > 1 else [""]:
            stem = PurePosixPath(file).with_suffix("")
            output = f"{stem}_{_file_name_part(animation)}{result_suffix}" if animation else f"{stem}{result_suffix}"
            clip = f"{file}#{animation}" if animation else file
            jobs.append(Job(clip=clip, file=file, animation=animation, output=_avoid_reserved_folders(output)))
    counts = Counter(job.output.casefold() for job in jobs)
    return [replace(job, output=_unique_output(job)) if counts[job.output.casefold()] > 1 else job for job in jobs]


def _file_name_part(animation: str) -> str:
    """An animation's name without the characters that a file name cannot hold."""
    return re.sub(r"[^\w.-]+", "_", animation)[:MAX_ANIMATION_NAME_LENGTH]


def _avoid_reserved_folders(output: str) -> str:
    """The name of a result, changed where it would lie in the folder of rejected results or of the run's state."""
    return f"_{output}" if output.split("/")[0] in (REJECTED_FOLDER, STATE_FOLDER) and "/" in output else output


def _unique_output(job: Job) -> str:
    """A name with the source's suffix, and with a digest of the animation's name where there is one."""
    suffix = PurePosixPath(job.output).suffix
    if not job.animation:
        return _avoid_reserved_folders(job.file + suffix)
    digest = hashlib.sha256(job.animation.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return _avoid_reserved_folders(f"{job.file}_{_file_name_part(job.animation)}_{digest}{suffix}")


def rejected_output(output: str) -> str:
    """Where a result goes that is unusable."""
    return f"{REJECTED_FOLDER}/{output}"


def is_in_shard(file: str, shard: tuple[int, int]) -> bool:
    """Whether a file belongs to shard I of N. This depends on its name only, not on which other files there are."""
    digest = hashlib.sha256(file.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % shard[1] == shard[0] - 1


def sort_jobs(jobs: Iterable[Job], sizes: dict[str, int]) -> list[Job]:
    """Sort jobs by file size, largest first, so that no long job starts last and runs alone."""
    return sorted(jobs, key=lambda job: (-sizes[job.file], job.clip))
