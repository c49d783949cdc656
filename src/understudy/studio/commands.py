"""The commands of a page, by name; arguments are checked before anything is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from understudy.base.errors import nearest_names
from understudy.studio import export as exporting
from understudy.studio.document import apply_changes, empty_document, is_ready
from understudy.studio.messages import RequestError, json_text, parse_request
from understudy.studio.opening import open_file, stem, with_contacts
from understudy.studio.painting import lacks_places
from understudy.studio.publisher import Page, error_report
from understudy.studio.session import Session

MAX_VIEW_CHARACTERS = 1 << 16
"""Larger view settings are refused."""

MAX_LABEL_CHARACTERS = 200
"""Longer step labels are cut."""

CHANGING_COMMANDS = ("edit", "undo", "redo", "open", "fresh", "detect", "suggest")
"""Commands that change the document; they run one after the other."""

TYPE_NAMES = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}

Arguments = dict[str, Any]


async def answer(session: Session, page: Page, text: str) -> None:
    """Run a request of a page and send the reply."""
    request_id: int | None = None
    try:
        request = parse_request(text)
        request_id = request["id"]
        name = request["do"]
        if name not in COMMANDS:
            raise RequestError(f"There is no command `{name}`; {nearest_names(name, COMMANDS)}")
        if name in CHANGING_COMMANDS:
            async with session.change_lock:
                value = await COMMANDS[name](session, page, request)
        else:
            value = await COMMANDS[name](session, page, request)
    except (Exception, SystemExit, GeneratorExit) as error:
        report = error_report(error)
        message = {"on": "trouble", "trouble": report} if request_id is None else _reply(request_id, error=report)
        page.send(json_text(message))
    else:
        page.send(json_text(_reply(request_id, value=value)))


def _reply(request_id: int, **content: Any) -> dict[str, Any]:
    return {"re": request_id, "ok": "error" not in content, **content}


def _argument(arguments: Arguments, name: str, type_: type) -> Any:
    value = arguments.get(name)
    if not isinstance(value, type_) or isinstance(value, bool):
        raise RequestError(f"`{arguments['do']}` needs {TYPE_NAMES[type_]} as `{name}`; got {value!r:.60}")
    return value


async def _hello(session: Session, page: Page, arguments: Arguments) -> None:
    if not page.closed:
        session.send_everything(page)
        session.pages.add(page)


async def _edit(session: Session, page: Page, arguments: Arguments) -> None:
    label, changes = _argument(arguments, "label", str), _argument(arguments, "changes", list)
    label, document = label[:MAX_LABEL_CHARACTERS], apply_changes(session.document, changes)
    if lacks_places(document):
        session.folders.check(document)
        base, document_solver = session.folders.base, session.document_solver
        await session.commit_computed(label, lambda _: document_solver.placed(document, base))
    else:
        await session.commit(label, document)


async def _drag(session: Session, page: Page, arguments: Arguments) -> None:
    session.drag(page, _argument(arguments, "seq", int), _argument(arguments, "changes", list))


async def _release(session: Session, page: Page, arguments: Arguments) -> None:
    session.release()


async def _undo(session: Session, page: Page, arguments: Arguments) -> None:
    await session.undo()


async def _redo(session: Session, page: Page, arguments: Arguments) -> None:
    await session.redo()


async def _open(session: Session, page: Page, arguments: Arguments) -> None:
    name, role = _argument(arguments, "name", str), _argument(arguments, "as", str)
    folders, document_solver = session.folders, session.document_solver
    label = f"open {stem(name)} as {role}"
    await session.commit_computed(label, lambda document: open_file(document, name, role, folders, document_solver))


async def _fresh(session: Session, page: Page, arguments: Arguments) -> None:
    await session.commit("begin afresh", empty_document())


async def _detect(session: Session, page: Page, arguments: Arguments) -> None:
    folders, document_solver = session.folders, session.document_solver
    await session.commit_computed("find contacts", lambda document: with_contacts(document, folders, document_solver))


async def _suggest(session: Session, page: Page, arguments: Arguments) -> None:
    base, document_solver = session.folders.base, session.document_solver
    await session.commit_computed(
        "take the suggested pairs",
        lambda document: {**document, "pairs": document_solver.suggest_pairs(document, base)},
    )


async def _neutral(session: Session, page: Page, arguments: Arguments) -> Any:
    document, base, document_solver = session.document, session.folders.base, session.document_solver
    if not is_ready(document):
        return []
    session.folders.check(document)
    return await session.publisher.solve_thread.interrupt_with(lambda: document_solver.neutral(document, base))


async def _variants(session: Session, page: Page, arguments: Arguments) -> None:
    names = _argument(arguments, "names", list)
    if not all(isinstance(name, str) for name in names) or len(names) > 20:
        raise RequestError(f"Expected names of variants, at most 20; got {names!r:.60}")
    await session.add_variants(tuple(dict.fromkeys(names)))


async def _browse(session: Session, page: Page, arguments: Arguments) -> Any:
    folder = _argument(arguments, "folder", str)
    return await asyncio.to_thread(session.folders.list_folder, folder)


async def _save(session: Session, page: Page, arguments: Arguments) -> Any:
    path = session.folders.output_path(_argument(arguments, "path", str))
    paths = exporting.recipe_paths(session.document, path)
    if arguments.get("replace") is not True and (foreign := session.outputs.foreign(paths)) is not None:
        return {"path": str(path), "exists": str(foreign)}
    await asyncio.to_thread(exporting.save, session.document, session.folders.base, path)
    session.outputs.note(paths)
    return {"path": str(path)}


async def _export(session: Session, page: Page, arguments: Arguments) -> Any:
    path, which = session.folders.output_path(_argument(arguments, "path", str)), _argument(arguments, "which", str)
    if arguments.get("replace") is not True and (foreign := session.outputs.foreign([path])) is not None:
        return {"path": str(path), "not_kept": [], "exists": str(foreign)}
    not_kept = await asyncio.to_thread(exporting.export, await session.finished_result(), which, path)
    session.outputs.note([path])
    return {"path": str(path), "not_kept": list(not_kept)}


async def _download(session: Session, page: Page, arguments: Arguments) -> Any:
    format_name, which = _argument(arguments, "format", str), _argument(arguments, "which", str)
    solve_result = await session.finished_result()
    return await asyncio.to_thread(
        exporting.download, solve_result, which, format_name, session.document, session.downloads
    )


async def _render(session: Session, page: Page, arguments: Arguments) -> Any:
    kind, format_name = _argument(arguments, "kind", str), _argument(arguments, "format", str)
    solve_result, watch = await session.finished_result(), session.publisher.watch()
    bodies = [(body["which"], body["label"]) for body in session.publisher.scene["bodies"]]
    try:
        return await asyncio.to_thread(
            exporting.render, solve_result, kind, format_name, bodies, session.document, session.downloads, watch
        )
    finally:
        session.publisher.send_idle()


async def _film_begin(session: Session, page: Page, arguments: Arguments) -> Any:
    return {"film": await asyncio.to_thread(session.films.begin)}


async def _film_end(session: Session, page: Page, arguments: Arguments) -> Any:
    name, fps = _argument(arguments, "film", str), arguments.get("fps")
    if isinstance(fps, bool) or not isinstance(fps, int | float):
        raise RequestError(f"Expected a number as `fps`, got {fps!r:.60}")
    if arguments.get("cancel") is True:
        await asyncio.to_thread(session.films.drop, name)
        return {"url": None}
    file_name, films = f"{exporting.title(session.document)}_stage.mp4", session.films
    url, _ = await asyncio.to_thread(session.downloads.make, file_name, lambda path: films.write(name, path, fps))
    return {"url": url}


async def _evaluate(session: Session, page: Page, arguments: Arguments) -> None:
    which, solve_result = _argument(arguments, "which", str), await session.finished_result()
    quality = await asyncio.to_thread(solve_result.quality, which)
    session.publisher.send_event({"on": "quality", "quality": quality})


async def _batch(session: Session, page: Page, arguments: Arguments) -> Any:
    folders = session.folders
    source = folders.resolve(_argument(arguments, "folder", str))
    if not source.is_dir():
        raise RequestError(f"{source}: is not a folder", hint="a batch takes the motions of a folder")
    into = _argument(arguments, "into", str)
    output = folders.resolve(into) if into else None
    await asyncio.to_thread(folders.check, session.document)
    session.batches.start(session.document, folders.base, source, output)
    return {"output": (session.batches.table() or {})["output"]}


async def _batch_stop(session: Session, page: Page, arguments: Arguments) -> None:
    session.batches.stop()


async def _remember(session: Session, page: Page, arguments: Arguments) -> None:
    view = _argument(arguments, "view", dict)
    if len(json_text(view)) > MAX_VIEW_CHARACTERS:
        raise RequestError(f"A view of more than {MAX_VIEW_CHARACTERS} characters cannot be saved")
    session.remember(view)


async def _trust(session: Session, page: Page, arguments: Arguments) -> None:
    await session.trust(_argument(arguments, "digest", str))


COMMANDS: dict[str, Callable[[Session, Page, Arguments], Awaitable[Any]]] = {
    "hello": _hello,
    "edit": _edit,
    "drag": _drag,
    "release": _release,
    "undo": _undo,
    "redo": _redo,
    "open": _open,
    "fresh": _fresh,
    "detect": _detect,
    "suggest": _suggest,
    "neutral": _neutral,
    "variants": _variants,
    "browse": _browse,
    "save": _save,
    "export": _export,
    "download": _download,
    "render": _render,
    "film_begin": _film_begin,
    "film_end": _film_end,
    "evaluate": _evaluate,
    "batch": _batch,
    "batch_stop": _batch_stop,
    "remember": _remember,
    "trust": _trust,
}
