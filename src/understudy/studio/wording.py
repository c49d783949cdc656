"""Advice and notes in words of the page: those of metrics and of the driver name options of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

REMEDIES = {
    "standing": "paint the contact that is missing over the foot's row of the timeline, or stretch one that is short",
    "path jerk": "more frames between keys smooth a jerk that is everywhere (Solving, spacing: 8f); one that comes "
    "with every step comes from contacts: shorten or delete wrong ones on the timeline",
    "pops": "look at the contacts that begin or end there on the timeline: a wrong or too early one tears the body to "
    "its place; plants: none (Solving) tells whether contacts cause it",
    "self-penetration": "the target is wider than the source: add the constraint `apart` (Inspector)",
    "foot skate": "hold those feet: paint the contact that is missing on the timeline, or choose plants: free or fixed "
    "(Solving)",
    "smoothness": "more frames between keys smooth it (Solving, spacing: 8f), or short contacts pull at it",
    "floor": "fewer frames between keys keep feet nearer to the floor (Solving, spacing: 2f); if the motion has no "
    "floor, switch the option floor off (Solving)",
    "balance": "contacts that pull the body aside may be wrong: delete them on the timeline",
    "contacts kept": "the result steps where or when the source does not: plants: fixed (Solving) keeps the source's "
    "places, plants: free lets a body of another size step where it can",
    "goal reached": "what is missed is out of reach or against others: plants: free (Solving) lets the target step "
    "where it can; shorten or delete a constraint on the timeline",
    "joint limits": "what must be reached is too far, or the limits are narrow: the option limits (Solving) lifts them",
    "limb direction": "the options touch and clearance (Solving) turn limbs, so that hands stay near the body and "
    "limbs out of it; otherwise look at which bones correspond (Bones)",
    "physics": "the option balance (Solving) keeps the centre of pressure over the feet; torques and speeds over their "
    "limits come from movements too fast for the robot",
    "similarity": "look at which bones correspond, and pair the right ones (Bones)",
}
"""What to do in the page, by the title of a metric: hints of the metrics name options of the command line."""

PAGE_WORDS = (
    # The page shows files by their names alone.
    (r"^(?:[A-Za-z]:)?[/\\][^:]*[/\\](?=[^:/\\]+: )", ""),
    (r" ?\(--[^()]*\)", ""),
    (r"--(plants|spacing|touch|clearance|solver) (\w+)", r"\1: \2 (Solving)"),
    (r"`understudy recipe` writes them down, to be shortened or removed", "shorten or delete them on the timeline"),
    (r"floor = false in a recipe", "the option floor switches it off (Solving)"),
    (r"limits = false in a recipe lifts", "the option limits (Solving) lifts"),
    (r"\(`understudy map`\)", "(Bones)"),
    (r"give the right ones with --map", "pair the right ones (Bones)"),
    (
        r"another --leave or --enter, or a longer --seconds, may be smoother",
        "other times to leave and enter, or a longer blend, may be smoother (Transition)",
    ),
    (
        r"--no-clean leaves the feet as they are; other examples, --without or marker pairs may fit better",
        "without the setting clean feet stay as they are; other examples, or other markers, may fit better (Analogy)",
    ),
    (r"\(without, --without ([^()]*)\)", r"(Analogy, without: \1)"),
)
"""Words about the command line and recipes, as patterns, and what stands for them in the page."""


def page_words(sentence: str) -> str:
    """A sentence that speaks of the command line, in words of the page."""
    for pattern, words in PAGE_WORDS:
        sentence = re.sub(pattern, words, sentence)
    return sentence


def page_hint(sentence: str) -> str:
    """A sentence of advice, `TITLE: WHAT TO DO`, in words of the page."""
    title, _, rest = sentence.partition(": ")
    return f"{title}: {REMEDIES[title]}" if rest and title in REMEDIES else page_words(sentence)


def page_hints(sentences: Iterable[str], in_words: Callable[[str], str] = page_hint) -> list[str]:
    """Advice in words of the page; what is to be done for several reasons is said once.

    Args:
        sentences: `TITLE: WHAT TO DO` each.
        in_words: Puts one into words of the page; `page_words` where the advice of `REMEDIES` does not fit.
    """
    titles: dict[str, list[str]] = {}
    for sentence in sentences:
        title, _, remedy = in_words(sentence).partition(": ")
        titles.setdefault(remedy or title, []).append(title if remedy else "")
    return [f"{', '.join(several)}: {remedy}" if all(several) else remedy for remedy, several in titles.items()]
