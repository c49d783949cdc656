"""Whether everybody can use the page: what the checker axe finds in every panel, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.xdist_group("studio")

PANELS = ("files", "inspector", "body", "correspondence", "transition", "analogy", "variants", "quality", "batch")

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"

SERIOUS = """async () => {
  // Who speaks to the page says what is written on a button: its name must have that in it.
  const rules = { "label-content-name-mismatch": { enabled: true } };
  const results = await axe.run(document, { resultTypes: ["violations"], rules });
  return results.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}"""


@pytest.fixture
def axe(desk: Any) -> Any:
    """The studio with the checker in its page."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `npm install` in web")
    # The page lets no foreign script in: the checker is put into it from outside.
    desk.page.evaluate(AXE.read_text(encoding="utf-8"))
    return desk


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_panel_keeps_anybody_out(axe: Any, theme: str) -> None:
    axe.sample("walk", "source")
    axe.sample("other", "target")
    axe.at("theme").select_option(theme)
    findings = {}
    for panel in PANELS:
        axe.panel(panel)
        axe.settle()
        found = axe.page.evaluate(SERIOUS)
        if found:
            findings[panel] = found
    assert not findings, "; ".join(f"{panel}: {text[:300]}" for panel, texts in findings.items() for text in texts)


def test_the_checker_sees_a_button_without_a_name(axe: Any) -> None:
    axe.page.evaluate("() => document.body.appendChild(document.createElement('button'))")
    assert any(found.startswith("button-name") for found in axe.page.evaluate(SERIOUS))
