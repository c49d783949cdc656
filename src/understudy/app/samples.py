"""`understudy samples`: list or write the characters and motions that come with the package."""

from __future__ import annotations

from pathlib import Path

import click

from understudy.app.options import json_option
from understudy.app.output import note, print_json


@click.command(
    short_help="List or write the samples.", epilog="Example: understudy samples walk dance -o clips --fps 60"
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("-o", "--output", metavar="FILE_OR_DIR", help="Output: a file for one name, else a folder.")
@click.option("--all", "everything", is_flag=True, help="Write every character and motion.")
@click.option("--fps", type=float, default=30.0, show_default=True, help="Frames per second.")
@click.option("--seconds", type=float, help="Length of the motions [different for each].")
@click.option("--format", "kind", default="bvh", show_default=True, help="File format in a folder.")
@json_option
def samples(
    names: tuple[str, ...],
    output: str | None,
    everything: bool,
    fps: float,
    seconds: float | None,
    kind: str,
    as_json: bool,
) -> None:
    """List the samples, or write the named ones, with their contacts as JSON.

    A motion of several actors becomes one file per actor, such as dance_lead.bvh.
    """
    from understudy import samples as library

    if everything:
        names = tuple(dict.fromkeys([*names, *library.characters(), *library.motions()]))
    if not names:
        list_samples(as_json)
        return
    if output is None:
        raise click.UsageError("Expected -o FILE_OR_DIR for the output.")
    written = [write_sample(name, path, fps, seconds) for name, path in _paths(names, output, kind)]
    files = [file for sample_files, _ in written for file in sample_files]
    note(dict.fromkeys(sentence for _, lost in written for sentence in lost), "not kept")
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        click.echo("\n".join(str(file) for file in files))


def list_samples(as_json: bool) -> None:
    """Print every sample with its description."""
    from understudy import samples as library

    groups: dict[str, dict[str, str]] = {
        "characters": {name: sample.about for name, sample in library.characters().items()},
        "motions": {name: f"{sample.about} ({sample.seconds:g} s)" for name, sample in library.motions().items()},
    }
    if as_json:
        print_json(
            {
                "characters": [{"name": s.name, "about": s.about} for s in library.characters().values()],
                "motions": [
                    {"name": s.name, "about": s.about, "seconds": s.seconds} for s in library.motions().values()
                ],
            }
        )
        return
    width = max((len(name) for group in groups.values() for name in group), default=0)
    for title, group in groups.items():
        click.echo(title)
        for name, about in group.items():
            click.echo(f"  {name:<{width}}  {about}")
    note(["write one with `understudy samples NAME -o NAME.bvh`"])


def write_sample(name: str, path: Path, fps: float, seconds: float | None) -> tuple[list[Path], list[str]]:
    """Write a sample motion or character; returns the files, and sentences on what they could not hold."""
    from understudy import samples as library
    from understudy.app.scene_file import sample_unit, write_scene
    from understudy.base.errors import OptionError, UnknownNameError, nearest_names
    from understudy.io import Clip, write

    if fps <= 0.0 or (seconds is not None and seconds <= 0.0):
        raise OptionError(f"Expected a rate and a length above zero, got {fps:g} fps and {seconds} s")
    if name in library.motions():
        return write_scene(library.motion(name, fps=fps, seconds=seconds), path)
    if name in library.characters():
        clip = Clip(skeleton=library.character(name), make_skin=library.skin)
        return [path], list(write(clip, path, unit=sample_unit(path)))
    all_names = [*library.motions(), *library.characters()]
    raise UnknownNameError(f"There is no sample `{name}`; {nearest_names(name, all_names)}")


def _paths(names: tuple[str, ...], output: str, kind: str) -> list[tuple[str, Path]]:
    """The file of each sample: the output itself, or a file in the output folder."""
    from understudy.base.errors import FileError
    from understudy.io import formats

    target = Path(output)
    suffixes = {suffix for format in formats().values() for suffix in format.suffixes}
    if len(names) == 1 and target.suffix.lower() in suffixes and not target.is_dir():
        return [(names[0], target)]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(output, None, f"the folder cannot be created: {error.strerror}") from None
    return [(name, target / f"{name}.{kind.lstrip('.')}") for name in names]


COMMAND = samples
