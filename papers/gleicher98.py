"""Gleicher, "Retargetting motion to new characters" (1998): its figures, and its solvers compared on the ladder."""

from __future__ import annotations

from pathlib import Path

from papers.base import Experiment, Findings, Paper, Tell, figure
from papers.gleicher98_captured import CAPTURES
from papers.gleicher98_figures import (
    DANCE,
    GAITS,
    LADDER,
    dance_problem,
    fig01,
    fig02,
    fig03,
    fig04,
    fig06,
    fig07,
    fig08,
    fig09,
    fig10,
    fig11,
    ladder,
    ladder_problem,
    run_solvers,
)
from papers.gleicher98_fresh import CAPTURES as MORPHS
from papers.gleicher98_fresh import FRESH
from papers.gleicher98_holds import FRESH as HOLDS


def _on_ladder(folder: Path | None, tell: Tell) -> Findings:
    return run_solvers(ladder_problem(), LADDER, "Sections 6 and 7.2: the solvers on the ladder", tell)


def _on_dance(folder: Path | None, tell: Tell) -> Findings:
    return run_solvers(dance_problem(), DANCE, "Sections 6 and 7.3: the solvers on the dance, both adapted", tell)


PAPER = Paper(
    name="gleicher98",
    title="Gleicher: Retargetting motion to new characters (1998)",
    experiments=(
        figure("fig01", "differently sized figures pick up a box", fig01),
        figure("fig02", "what copying gives", fig02),
        figure("fig03", "frame by frame against the whole motion", fig03),
        figure("fig04", "a handhold on the ladder", fig04),
        figure("fig06", "a walker who shrinks to 60%", fig06),
        figure("fig07", "traces of the feet from above", fig07),
        figure("fig08", "short legs in long footsteps", fig08),
        figure("ladder", "holds that are fixed, and holds that slide", ladder),
        figure("fig09", "a dance for two", fig09),
        figure("fig10", "she shrinks during her spin", fig10),
        *(figure(f"fig11_{gait}", f"a soda can, {gait}", fig11(gait)) for gait in GAITS),
        Experiment(name="solvers", about="The solvers on the ladder", run=_on_ladder),
        Experiment(name="solvers_dance", about="The solvers on the dance", run=_on_dance),
    ),
    captures=(*CAPTURES, *MORPHS),
    fresh=(*FRESH, *HOLDS),
)
