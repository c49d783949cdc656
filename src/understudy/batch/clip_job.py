"""One clip done from beginning to end: fetched, solved, measured, judged, written; whatever happens becomes a row."""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
import re
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import understudy
from understudy.base.errors import FileError, OptionError, UnderstudyError, UnknownNameError, nearest_names
from understudy.base.files import open_to_read
from understudy.batch.model import DONE, FAILED, REJECTED, STATE, Answer, Job, JobSpec, Row, StopError, versions
from understudy.batch.places import Folder, Location, protocol_of, split
from understudy.figure.sketch import thumbnail
from understudy.io import Clip, formats, read, write
from understudy.io.files import split_clip
from understudy.metrics import Report
from understudy.recipe import recipe_text
from understudy.retarget.actor import SAMPLE
from understudy.retarget.driver import Prepared, prepare
from understudy.retarget.spec import Recipe
from understudy.samples import characters, motions

USUAL = ".bvh"
"""The ending of results where neither the user nor the target's file says one."""


def find_clips(source: Location, patterns: Iterable[str] = (), leave: Location | None = None) -> dict[str, int]:
    """The motion files in a folder and below, with their sizes, by name.

    Args:
        source: The folder.
        patterns: Such as `*.bvh` or `walks/**`; a file that fits one is taken. All motion files if not given.
        leave: A folder whose files are no sources: the output's, where it lies inside.
    """
    chosen = tuple(patterns)
    endings = tuple(suffix for known in formats().values() if known.motions for suffix in known.suffixes)
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


def _inside(source: Location, leave: Location | None) -> str:
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


BLOCK = 1 << 20

BESIDE = {
    ".amc": (".asf",),
    ".csv": (".urdf", ".xml", ".mjcf"),
    ".npz": (".urdf", ".xml", ".mjcf"),
}
"""Endings of the files that a reader may take from the motion's folder, by the motion's ending."""

ASSET = re.compile(rb"@([^@\n]+)@")

LARGEST = 64 << 20
"""Bytes of a text file up to which it is searched for the files that it names."""


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(BLOCK):
                found.update(block)
    except FileNotFoundError:
        raise FileError(str(path), None, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(str(path), None, "is a folder, not a file") from None
    except OSError as error:
        raise FileError(str(path), None, f"cannot be read: {error.strerror}") from None
    return found.hexdigest()


def text_digest(*parts: str) -> str:
    """The SHA-256 of texts, each apart from the next."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def companions(place: Location, name: str, path: Path) -> list[str]:
    """The files beside a motion that its reader looks at, by name from the place.

    Args:
        place: Where the motion is.
        name: Its name there.
        path: Its content on this machine.
    """
    folder = name.rpartition("/")[0]
    lead = f"{folder}/" if folder else ""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in BESIDE:
        return [lead + each for each in place.names(folder) if PurePosixPath(each).suffix.lower() in BESIDE[suffix]]
    named: Iterable[str] = ()
    if suffix == ".gltf":
        named = _gltf_files(path)
    elif suffix in (".usda", ".usd"):
        named = _usd_files(path)
    inside = (PurePosixPath(each) for each in named)
    kept = sorted({str(each) for each in inside if not each.is_absolute() and ".." not in each.parts})
    return [lead + each for each in kept if place.size(lead + each) is not None]


def _gltf_files(path: Path) -> list[str]:
    """The buffers that a glTF text names; a broken one names none, and its reader says what is wrong."""
    try:
        table = json.loads(_text(path))
        uris = [entry["uri"] for entry in table.get("buffers", []) if "uri" in entry]
    except (ValueError, TypeError, AttributeError):
        return []
    return [unquote(uri) for uri in uris if isinstance(uri, str) and not uri.startswith("data:")]


def _usd_files(path: Path) -> list[str]:
    """The layers that a USD text names."""
    data = _text(path)
    if not data.startswith(b"#usda"):
        return []
    return [found.decode("utf-8", "replace").removeprefix("./") for found in ASSET.findall(data)]


def _text(path: Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(LARGEST)


def order_key(recipe: Recipe, target: Path | None, ending: str | None, *, skin: bool = False) -> str:
    """The digest of all that makes results besides the clips: recipe, target, map, skeletons, format and version.

    Args:
        recipe: With one actor.
        target: The target's file; None for a sample, or where the source's own character is scaled.
        ending: Of the results.
        skin: Whether results are measured by the target's skin.
    """
    actor = recipe.actors[0]
    files = [target]
    for name in (actor.map, recipe.reading.skeleton, recipe.reading.target_skeleton):
        files.append(None if name is None else recipe.folder / name)
    digests = ["" if path is None else file_digest(path) for path in files]
    if target is not None:
        place = Folder(path=target.parent)
        digests += [file_digest(target.parent / each) for each in companions(place, target.name, target)]
    digests += [file_digest(path) for path in _function_files(recipe)]
    return text_digest(_without_names(recipe), *digests, ending or "", str(skin), understudy.__version__)


def _function_files(recipe: Recipe) -> list[str]:
    """The files of the user's own functions among the constraints."""
    values = [getattr(each, name.name) for each in recipe.constraints for name in fields(each)]
    found = [inspect.getsourcefile(value) for value in values if inspect.isfunction(value)]
    return [path for path in found if path and Path(path).is_file()]


def _without_names(recipe: Recipe) -> str:
    """The recipe as text, without the names of files: what is in them counts, not where they are."""
    actor = recipe.actors[0]
    target = actor.target if actor.target is None or actor.target.startswith("sample:") else "file"
    plain = replace(actor, source="", target=target, map=None if actor.map is None else "file")
    reading = replace(
        recipe.reading,
        skeleton=None if recipe.reading.skeleton is None else "file",
        target_skeleton=None if recipe.reading.target_skeleton is None else "file",
    )
    return recipe_text(replace(recipe, actors=(plain,), reading=reading))


def clip_key(order: str, output: str, digests: Iterable[str]) -> str:
    """What a clip's result is recognised by.

    Args:
        order: The key of the order.
        output: The name of the result.
        digests: Of the clip's files.
    """
    return text_digest(order, output, *digests)


def fetch_target(recipe: Recipe, folder: Path) -> Path | None:
    """The target's file on this machine, put into the folder if it is elsewhere; None where the target is no file."""
    target = recipe.actors[0].target
    if target is None or target.startswith(SAMPLE):
        return None
    if not protocol_of(target):
        return split_clip(recipe.folder / target)[0]
    place, name = split(target)
    path = place.fetch(name, folder)
    for beside in companions(place, name, path):
        inner = folder / PurePosixPath(beside).parent
        inner.mkdir(parents=True, exist_ok=True)
        place.fetch(beside, inner)
    return path


def check_target(recipe: Recipe, path: Path | None) -> None:
    """Refuse a target that cannot be used, or a file about it that is not there, before any clip meets them.

    Args:
        recipe: With one actor.
        path: The target's file on this machine; None where it is no file.
    """
    target, reading = recipe.actors[0].target, recipe.reading
    for name in (recipe.actors[0].map, reading.skeleton, reading.target_skeleton):
        if name is not None:
            open_to_read(recipe.folder / name).close()
    if path is not None:
        skeleton = None if reading.target_skeleton is None else recipe.folder / reading.target_skeleton
        read(path, unit=reading.target_unit, up=reading.target_up, lenient=reading.lenient, skeleton=skeleton)
    elif target is not None:
        title = target.removeprefix(SAMPLE).partition("/")[0]
        if title not in characters() and title not in motions():
            known = [*characters(), *motions()]
            raise UnknownNameError(f"There is no sample `{title}`; {nearest_names(title, known)}")


@lru_cache(maxsize=1)
def localized(order: JobSpec) -> Recipe:
    """The order's recipe with its target on this machine."""
    actor = order.recipe.actors[0]
    if actor.target is None or not protocol_of(actor.target):
        return order.recipe
    path = fetch_target(order.recipe, Path(tempfile.mkdtemp()))
    return replace(order.recipe, actors=(replace(actor, target=str(path)),))


@lru_cache(maxsize=1)
def key_of(order: JobSpec) -> str:
    """The digest of all that makes results besides the clips."""
    return order_key(order.recipe, fetch_target(localized(order), Path()), order.ending, skin=order.skin)


def fetched_from(order: JobSpec) -> dict[str, str]:
    """The folder that the target was fetched into, and the one it came from; nothing where it was here."""
    here, there = localized(order).actors[0].target, order.recipe.actors[0].target
    if here is None or there is None or here == there:
        return {}
    return {str(Path(here).parent): f"{there.rpartition('/')[0]}/"}


LOCK = f"{STATE}/lock"
"""The file that says which run writes into the output's folder."""

SCRAPS = f"{STATE}/scraps"
"""The folder of files that are not in their place yet."""

HOPELESS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EFBIG,
}  # fmt: skip
"""Errors in writing that the next clip would meet as well."""

PARTS = ("reading", "solving", "measuring", "writing", "drawing")
"""What seconds are spent on."""


@dataclass(eq=False, kw_only=True)
class Clock:
    """Seconds by what they are spent on."""

    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    began: float = field(default_factory=time.perf_counter)
    worked: float = field(default_factory=time.process_time)

    def columns(self) -> Row:
        """Seconds since the beginning, those of them that the processor worked, and by what they were spent on."""
        whole = {"seconds": time.perf_counter() - self.began, "seconds_cpu": time.process_time() - self.worked}
        whole |= {f"seconds_{part}": seconds for part, seconds in self.spent.items()}
        return {name: round(seconds, 6) for name, seconds in whole.items()}

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what is done inside for one part."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent[part] += time.perf_counter() - began


def perform(order: JobSpec, job: Job, tell: Callable[[Row], None] = lambda _: None) -> Answer:
    """Do one clip. Nothing but a lack of memory and an output that cannot be written comes out as an error.

    Args:
        order: What is to be done with every clip.
        job: The clip.
        tell: Told what the clip is recognised by before it is worked on.
    """
    if job.looks:
        return Answer(animations=_animations(order, job))
    clock = Clock()
    row: Row = {"clip": job.clip, "status": FAILED, "reason": ""}
    with _scraps(order) as folder:
        picture, names = "", {str(folder): "", order.source.address(): ""}
        try:
            names |= fetched_from(order)
            with clock.on("reading"):
                path, identity = _fetched(order, job, folder)
            if identity["key"] == job.known and _still_there(order, job):
                return Answer()
            row |= identity
            tell(identity)
            picture = _retargeted(order, job, path, row, folder, clock)
        except UnderstudyError as error:
            row |= {"status": FAILED, "reason": _named(error.message, names)}
        except (MemoryError, StopError):
            raise
        except Exception as error:
            row |= {"status": FAILED, "reason": f"a fault of understudy itself: {_fault(error)}"}
    row |= versions()
    row |= clock.columns()
    row["notes"] = [_named(note, names) for note in row.get("notes", ())]
    return Answer(row=row, picture=picture)


@contextmanager
def _scraps(order: JobSpec) -> Iterator[Path]:
    """A folder for this clip alone, on the output's own disk where that is here, so that files can be moved."""
    parent = None
    if isinstance(order.output, Folder):
        parent = order.output.path / SCRAPS
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent))
    except OSError as error:
        raise StopError(f"{order.output.text()}: cannot be written: {error.strerror}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _animations(order: JobSpec, job: Job) -> list[str]:
    """The names of a file's animations; none for a file that cannot be read, of which its own job will say why."""
    reading = order.recipe.reading
    with _scraps(order) as folder:
        try:
            path = order.source.fetch(job.file, folder)
            for name in companions(order.source, job.file, path):
                _beside(order, name, job.file, folder)
            return list(read(path, unit=reading.unit, up=reading.up, lenient=reading.lenient).clips)
        except UnderstudyError:
            return []


def _fetched(order: JobSpec, job: Job, folder: Path) -> tuple[Path, Row]:
    """The clip's file on this machine, and what it and its result are recognised by."""
    path = order.source.fetch(job.file, folder)
    own = file_digest(path)
    beside = companions(order.source, job.file, path)
    digests = [file_digest(_beside(order, name, job.file, folder)) for name in beside]
    return path, {"source_sha256": own, "key": clip_key(key_of(order), job.output, [own, *digests])}


def _beside(order: JobSpec, name: str, file: str, folder: Path) -> Path:
    """A file that belongs to a clip, as far from it here as it is there."""
    lead = PurePosixPath(file).parent
    inner = folder / PurePosixPath(name).relative_to(lead).parent
    inner.mkdir(parents=True, exist_ok=True)
    return order.source.fetch(name, inner)


def _still_there(order: JobSpec, job: Job) -> bool:
    """Whether the file of an earlier result is there as it was written; true for one that wrote none."""
    if not job.written:
        return True
    if isinstance(order.output, Folder):
        path = order.output.path / job.written
        return path.is_file() and file_digest(path) == job.digest
    return order.output.size(job.written) is not None


def _retargeted(order: JobSpec, job: Job, path: Path, row: Row, folder: Path, clock: Clock) -> str:
    """Retarget one clip; fills the row, and returns a picture of the result."""
    with clock.on("reading"):
        recipe = localized(order)
        source = f"{path}#{job.animation}" if job.animation else str(path)
        prepared = prepare(replace(recipe, actors=(replace(recipe.actors[0], source=source),)))
    row["notes"] = prepared.notes
    with clock.on("solving"):
        result = prepared.solve()
    with clock.on("measuring"):
        faults = result.quality["faults"]
        row |= figures(prepared, result.quality, result.evaluate(skin=order.skin))
    with clock.on("writing"):
        output = rejected(job.output) if faults else job.output
        row |= _written(order, result.clip, output, folder)
    row |= {"status": FAILED if faults else DONE, "reason": "; ".join(faults)}
    with clock.on("drawing"):
        return thumbnail(result.solution.motion)


def figures(prepared: Prepared, measured: dict[str, Any], report: Report) -> Row:
    """What was measured, flat: one entry a figure, as METRIC.FIGURE, and a verdict each."""
    motion = prepared.actors[0].motion
    row: Row = {
        "frames": measured["frames"],
        "fps": measured["fps"],
        "duration": round(motion.duration, 9),
        "joints": prepared.actors[0].target.num_joints,
        "verdict": str(report.verdict),
        "solver": measured["solver"],
        "spacing": measured["spacing"],
        "steps": measured["steps"],
        "constraints": measured["constraints"],
        "unmet": len(measured["unmet"]),
    }
    for each in report.measurements:
        row[f"{each.metric}.verdict"] = str(each.verdict)
        row |= {f"{each.metric}.{figure.name}": figure.value for figure in each.figures}
    return row


def _written(order: JobSpec, clip: Clip, output: str, folder: Path) -> Row:
    """Write a result aside, then move it into its place, if this run still has the folder."""
    inner = folder / "out"
    try:
        inner.mkdir()
        path = inner / PurePosixPath(output).name
        lost = write(clip, path)
        digest, size = file_digest(path), path.stat().st_size
        check_run(order)
        order.output.put(path, output)
    except (OSError, FileError) as error:
        _stop_if_hopeless(error, order)
        raise
    return {"output": output, "output_sha256": digest, "bytes": size, "not_kept": list(lost)}


def _stop_if_hopeless(error: OSError | FileError, order: JobSpec) -> None:
    cause = error if isinstance(error, OSError) else error.__context__
    if isinstance(cause, OSError) and cause.errno in HOPELESS:
        raise StopError(f"{order.output.text()}: cannot be written: {cause.strerror}") from None


def check_run(order: JobSpec) -> None:
    """Refuse to publish for a run that has lost the folder to another."""
    if not order.run:
        return
    held = order.output.read_bytes(LOCK)
    try:
        owner = json.loads(held or b"{}").get("run")
    except ValueError:
        owner = None
    if owner != order.run:
        raise StopError(f"{order.output.text()}: another run has taken this folder over")


def _named(text: str, names: dict[str, str]) -> str:
    """A sentence in which files are called as the table calls them, not by where they are on this machine."""
    for folder, short in names.items():
        text = text.replace(folder.rstrip("/") + "/", short)
    return " ".join(text.split())


def _fault(error: Exception) -> str:
    """An unexpected error, with the line it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
