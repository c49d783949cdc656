"""`understudy studio`: a retarget by hand and eye, in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option
from understudy.app.output import note, print_json

if TYPE_CHECKING:
    from understudy.studio.session import Session


SAMPLE = "sample:"


@click.command(
    short_help="Work on a retarget in the browser, solved while you drag.",
    epilog="Example: understudy studio sample:walk sample:child",
)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--clip", metavar="NAME", help="Which animation of the motion's file; also as FILE#NAME.")
@click.option("--session", metavar="FOLDER", help="Where the session is kept [by the current folder].")
@click.option("--folder", "folders", multiple=True, metavar="DIR", help="A folder to open; may be repeated [this one].")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen [any free port].")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@json_option
def studio(
    files: tuple[str, ...], clip: str | None, session: str | None, folders: tuple[str, ...], port: int,
    no_browser: bool, as_json: bool,
) -> None:  # fmt: skip
    """Open a page in which everything can be seen and dragged, and the whole motion follows.

    FILE is a recipe, or a motion and the character that is to perform it; samples are named sample:NAME. Without FILE
    the page shows what it showed last time. The page is served to this machine alone, at an address with a token of its
    own; files are read and written in the opened folders only. Ctrl-C ends it, and everything is kept.
    """
    if len(files) > 2 or (len(files) == 2 and any(_is_recipe(file) for file in files)):
        raise click.UsageError("Expected one recipe, or a motion and perhaps a character.")
    if clip is not None:
        if not files or _is_recipe(files[0]) or files[0].startswith(SAMPLE):
            raise click.UsageError("--clip chooses an animation of a motion's file: name the file, too.")
        files = (f"{files[0]}#{clip}", *files[1:])
    page = find_page()
    check_packages()
    from understudy.base.consent import stop_asking
    from understudy.studio.server import listen, make_app, new_token, serve

    opened_session = make_session(files, folders, session)
    listening = listen(port)
    port = listening.getsockname()[1]
    token = new_token()
    url = f"http://127.0.0.1:{port}/?token={token}"
    note(opened_session.notices)

    def started() -> None:
        summary = {"url": url, "port": port, "session": str(opened_session.store.folder), "pid": os.getpid()}
        if as_json:
            print_json({**summary, "folders": [str(path) for path in opened_session.folders.opened]})
        else:
            click.echo(f"The studio is at {url}\nCtrl-C ends it; the session is kept in {opened_session.store.folder}")
        if not no_browser:
            open_browser(url)

    # A page is open now: functions that nobody has agreed to are shown there.
    stop_asking()
    serve(make_app(opened_session, page, port=port, token=token), listening, started)


def find_page() -> Path:
    """The folder with the built page."""
    from understudy import studio as room
    from understudy.base.errors import UnderstudyError

    page = Path(room.__file__).parent / "page"
    if not (page / "index.html").is_file():
        raise UnderstudyError(
            "The studio's page is missing: it was not built when understudy was installed",
            hint="in a checkout `make page` builds it; else install understudy from a wheel",
        )
    return page


def check_packages() -> None:
    """Refuse to start without the packages that serve the page."""
    from importlib.util import find_spec

    from understudy.base.errors import MissingPackageError

    for package in ("starlette", "uvicorn", "websockets"):
        if find_spec(package) is None:
            raise MissingPackageError(package, "studio", "The studio")


def make_session(files: tuple[str, ...], folders: tuple[str, ...], session: str | None) -> Session:
    """The session as it is kept, with the files opened if they are others than last time."""
    from understudy.studio.folders import Folders
    from understudy.studio.opening import first_document
    from understudy.studio.session import Session, SessionStore, default_folder
    from understudy.studio.workshop import DocumentSolver

    store = SessionStore(Path(session) if session is not None else default_folder(Path.cwd()))
    store.claim()
    try:
        saved, notice = store.load()
        opened = Folders(folders_of(files, folders), store.folder / "uploads", saved.base)
        new_session = Session(store, saved, opened, DocumentSolver(store.folder), [notice])
        names = [name if name.startswith(SAMPLE) else str(Path(name).absolute()) for name in files]
        stamps = [[name, _changed_at(name)] for name in names]
        if files and stamps != new_session.opened:
            document = first_document(new_session.document, tuple(names), opened, new_session.document_solver)
            new_session.set_first_document(f"open {', '.join(files)}", document, stamps)
    except BaseException:
        store.close()
        raise
    return new_session


def folders_of(files: tuple[str, ...], folders: tuple[str, ...]) -> tuple[Path, ...]:
    """The folders to open: those named, else the current one; and those of the files."""
    from understudy.io.clip import split_clip

    file_folders = [split_clip(file)[0].parent for file in files if not file.startswith(SAMPLE)]
    chosen = [Path(folder) for folder in folders or (".",)]
    # A recipe names its files, and the modules of its functions, from its own folder.
    return tuple([*file_folders, *chosen] if any(_is_recipe(file) for file in files) else [*chosen, *file_folders])


def _changed_at(name: str) -> int:
    from understudy.io.clip import split_clip

    path = split_clip(name)[0]
    return path.stat().st_mtime_ns if path.exists() else 0


def _is_recipe(file: str) -> bool:
    return Path(file).suffix.lower() == ".toml" and not file.startswith(SAMPLE)


def open_browser(url: str, *, wait: bool = False) -> None:
    """Open a page in the user's browser; where there is none, the address was printed.

    Args:
        url: The page.
        wait: Whether to wait a little for the browser, for a program that ends after this.
    """
    import threading
    import webbrowser

    # Some browsers only return when they are closed.
    thread = threading.Thread(target=webbrowser.open, args=(url,), daemon=True)
    thread.start()
    if wait:
        thread.join(timeout=5.0)


COMMAND: Any = studio
