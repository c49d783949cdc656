"""What a page can ask for: every request by its name, with its arguments checked before anything is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from understudy.base.errors import nearest_names
from understudy.studio import export as giving
from understudy.studio.document import changed, fresh
from understudy.studio.messages import RequestError, json_text, parse_request
from understudy.studio.opening import detected, opened, stem
from understudy.studio.session import Session
from understudy.studio.show import Page, told

VIEW = 1 << 16
"""Letters of a view that is remembered, at most."""

LABEL = 200
"""Letters of a step's label that are kept."""

CHANGING = ("edit", "undo", "redo", "open", "fresh", "detect", "suggest")
"""Requests that change the document: one after the other."""

SHAPES = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}

Arguments = dict[str, Any]


async def answer(session: Session, page: Page, text: str) -> None:
    """Do what a page asks for and tell it how that went."""
    number: int | None = None
    try:
        request = parse_request(text)
        number = request["id"]
        name = request["do"]
        if name not in COMMANDS:
            raise RequestError(f"There is nothing called `{name}` to do; {nearest_names(name, COMMANDS)}")
        if name in CHANGING:
            async with session.changing:
                value = await COMMANDS[name](session, page, request)
        else:
            value = await COMMANDS[name](session, page, request)
    except Exception as error:
        said = told(error)
        page.tell(json_text({"on": "trouble", "trouble": said} if number is None else _reply(number, error=said)))
    else:
        page.tell(json_text(_reply(number, value=value)))


def _reply(number: int, **said: Any) -> dict[str, Any]:
    return {"re": number, "ok": "error" not in said, **said}


def _taken(given: Arguments, name: str, shape: type) -> Any:
    value = given.get(name)
    if not isinstance(value, shape) or isinstance(value, bool):
        raise RequestError(f"`{given['do']}` needs {SHAPES[shape]} as `{name}`; got {value!r:.60}")
    return value


async def _hello(session: Session, page: Page, given: Arguments) -> None:
    if not page.closed:
        session.greet(page)
        session.pages.add(page)


async def _edit(session: Session, page: Page, given: Arguments) -> None:
    label, changes = _taken(given, "label", str), _taken(given, "changes", list)
    await session.commit(label[:LABEL], changed(session.document, changes))


async def _drag(session: Session, page: Page, given: Arguments) -> None:
    session.drag(page, _taken(given, "seq", int), _taken(given, "changes", list))


async def _release(session: Session, page: Page, given: Arguments) -> None:
    session.release()


async def _undo(session: Session, page: Page, given: Arguments) -> None:
    await session.undo()


async def _redo(session: Session, page: Page, given: Arguments) -> None:
    await session.redo()


async def _open(session: Session, page: Page, given: Arguments) -> None:
    name, role = _taken(given, "name", str), _taken(given, "as", str)
    folders, workshop = session.folders, session.workshop
    label = f"open {stem(name)} as {role}"
    await session.make(label, lambda document: opened(document, name, role, folders, workshop))


async def _fresh(session: Session, page: Page, given: Arguments) -> None:
    await session.commit("begin afresh", fresh())


async def _detect(session: Session, page: Page, given: Arguments) -> None:
    folders, workshop = session.folders, session.workshop
    await session.make("find contacts", lambda document: detected(document, folders, workshop))


async def _suggest(session: Session, page: Page, given: Arguments) -> None:
    base, workshop = session.folders.base, session.workshop
    await session.make(
        "take the suggested pairs", lambda document: {**document, "pairs": workshop.suggested(document, base)}
    )


async def _variants(session: Session, page: Page, given: Arguments) -> None:
    names = _taken(given, "names", list)
    if not all(isinstance(name, str) for name in names) or len(names) > 20:
        raise RequestError(f"Expected names of variants, at most 20; got {names!r:.60}")
    await session.add_variants(tuple(dict.fromkeys(names)))


async def _browse(session: Session, page: Page, given: Arguments) -> Any:
    folder = _taken(given, "folder", str)
    return await asyncio.to_thread(session.folders.listing, folder)


async def _save(session: Session, page: Page, given: Arguments) -> Any:
    path = session.folders.to_write(_taken(given, "path", str))
    await asyncio.to_thread(giving.save, session.document, session.folders.base, path)
    return {"path": str(path)}


async def _export(session: Session, page: Page, given: Arguments) -> Any:
    path, which = session.folders.to_write(_taken(given, "path", str)), _taken(given, "which", str)
    lost = await asyncio.to_thread(giving.export, await session.work(), which, path)
    return {"path": str(path), "not_kept": list(lost)}


async def _download(session: Session, page: Page, given: Arguments) -> Any:
    wanted, which = _taken(given, "format", str), _taken(given, "which", str)
    work = await session.work()
    return await asyncio.to_thread(giving.download, work, which, wanted, session.document, session.downloads)


async def _render(session: Session, page: Page, given: Arguments) -> Any:
    kind, wanted = _taken(given, "kind", str), _taken(given, "format", str)
    work, watch = await session.work(), session.show.watch()
    shown = [(body["which"], body["label"]) for body in session.show.scene["bodies"]]
    try:
        return await asyncio.to_thread(
            giving.render, work, kind, wanted, shown, session.document, session.downloads, watch
        )
    finally:
        session.show.rest()


async def _evaluate(session: Session, page: Page, given: Arguments) -> None:
    which, work = _taken(given, "which", str), await session.work()
    quality = await asyncio.to_thread(work.quality, which)
    session.show.event({"on": "quality", "quality": quality})


async def _remember(session: Session, page: Page, given: Arguments) -> None:
    view = _taken(given, "view", dict)
    if len(json_text(view)) > VIEW:
        raise RequestError(f"A view of more than {VIEW} letters cannot be remembered")
    session.remember(view)


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
    "variants": _variants,
    "browse": _browse,
    "save": _save,
    "export": _export,
    "download": _download,
    "render": _render,
    "evaluate": _evaluate,
    "remember": _remember,
}
