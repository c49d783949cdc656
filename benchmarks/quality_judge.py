"""The judge: a program outside of the project that compares two BVH files, with a matrix of pairs beside it."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from understudy.base.errors import OptionError

JUDGE_VARIABLE, DATA_VARIABLE = "UNDERSTUDY_JUDGE", "UNDERSTUDY_DATA"

Figures = dict[str, float]


@dataclass(frozen=True)
class Judge:
    """A folder with `judge.py`, which has a function `judge(source, result)` and a table `BOUNDS`."""

    folder: Path

    @property
    def module(self) -> ModuleType:
        return _load(self.folder / "judge.py")

    @property
    def bounds(self) -> Figures:
        """The bound of each figure that has one."""
        return {name: float(bound) for name, bound in self.module.BOUNDS.items()}

    @property
    def matrix(self) -> Path:
        return self.folder / "matrix.tsv"

    def measure(self, source: Path, result: Path) -> Figures | str:
        """All figures of a result, or the judge's reason why there are none."""
        try:
            figures: Figures = self.module.judge(str(source), str(result))
        except SystemExit as reason:
            # The reason begins with the whole path of a file.
            return str(reason).replace(f"{source.parent}{os.sep}", "").replace(f"{result.parent}{os.sep}", "")
        return figures


@cache
def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("quality_judge_outside", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_judge(folder: str | None = None) -> Judge | None:
    """The judge of a folder, of the variable UNDERSTUDY_JUDGE, or beside the folder of data; None if there is none."""
    named = folder or os.environ.get(JUDGE_VARIABLE)
    if named:
        if not (Path(named) / "judge.py").is_file():
            raise OptionError(f"There is no judge.py in `{named}`")
        return Judge(Path(named).resolve())
    data = data_folder()
    beside = None if data is None else data.parent / "judge"
    return Judge(beside) if beside is not None and (beside / "judge.py").is_file() else None


def data_folder() -> Path | None:
    """The folder of real data: of the variable UNDERSTUDY_DATA, or `shared/data` beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get(DATA_VARIABLE, beside)).resolve()
    return folder if folder.is_dir() else None
