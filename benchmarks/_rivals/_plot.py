"""The plot: time over size, both logarithmic, each line named at its end."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from pathlib import Path
from typing import Any

from _rivals._rival import Rival
from _rivals._speed import Curve

__all__ = ["draw"]

# Okabe and Ito's colours, which the colour-blind can tell apart; one for each kind of rival.
OURS, XML, REGEX, SERVERS, NODE = "#000000", "#0072B2", "#009E73", "#D55E00", "#CC79A7"
KINDS = {
    "xmltools": OURS,
    "vllm": SERVERS,
    "sglang": SERVERS,
    "transformers": SERVERS,
    "@ai-sdk-tool/parser": NODE,
    "written here": REGEX,
}
STEP = 0.16  # decades between two names


def spread(places: Sequence[float]) -> list[float]:
    """Move places apart that are closer than a step, and keep their order: crowds are spread around their middle."""
    crowds: list[list[int]] = []

    def middle(crowd: Sequence[int]) -> float:
        return sum(places[index] for index in crowd) / len(crowd)

    for index in sorted(range(len(places)), key=lambda index: places[index]):
        crowds.append([index])
        while len(crowds) > 1 and middle(crowds[-1]) - middle(crowds[-2]) < STEP * len(crowds[-2] + crowds[-1]) / 2:
            last = crowds.pop()
            crowds[-1] += last
    moved = [0.0] * len(places)
    for crowd in crowds:
        for place, index in enumerate(crowd):
            moved[index] = middle(crowd) + STEP * (place - (len(crowd) - 1) / 2)
    return moved


def label(axes: Any, rival: Rival, end: tuple[float, float], place: tuple[float, float], angle: float) -> None:
    axes.annotate(
        rival.name,
        end,
        place,
        color=KINDS.get(rival.package, XML),
        va="center" if not angle else "bottom",
        rotation=angle,
        rotation_mode="anchor",
        fontweight="bold" if rival.name == "xmltools" else "normal",
        arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "lw": 0.6, "shrinkA": 0, "shrinkB": 2},
        fontsize=8.5,
        annotation_clip=False,
    )


def label_ends(axes: Any, rivals: Sequence[Rival], curves: dict[str, Curve], right: int) -> None:
    """Names of lines: beside the right edge for those that reach it, above their ends for those that were stopped."""
    full = [rival for rival in rivals if max(curves[rival.name].points) == right]
    ends = [log10(curves[rival.name].points[right]) for rival in full]
    for rival, end, place in zip(full, ends, spread(ends), strict=True):
        label(axes, rival, (right, 10**end), (right * 1.3, 10**place), 0)
    short = [rival for rival in rivals if rival not in full]
    tops = [max(curves[rival.name].points) for rival in short]
    times = [curves[rival.name].points[top] for rival, top in zip(short, tops, strict=True)]
    for rival, top, time, place in zip(short, tops, times, spread([log10(top) for top in tops]), strict=True):
        label(axes, rival, (top, time), (10**place, max(times) * 1.6), 40)


def draw(rivals: Sequence[Rival], curves: dict[str, Curve], folder: Path) -> None:
    """Write `results.svg` and `results.png`."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.hashsalt": "xmltools", "font.family": "DejaVu Sans"}
    from matplotlib import pyplot

    shown = [rival for rival in rivals if curves[rival.name].points]
    right = max(max(curves[rival.name].points) for rival in shown)
    figure, axes = pyplot.subplots(figsize=(10, 6.2), layout="constrained")
    for rival in shown:
        points = curves[rival.name].points
        bold = rival.name == "xmltools"
        colour = KINDS.get(rival.package, XML)
        line = "-" if rival.deltas == "each chunk" else "--"
        axes.plot(list(points), list(points.values()), line, color=colour, lw=2.6 if bold else 1.4, zorder=2 + bold)
        axes.plot(max(points), points[max(points)], "o", color=colour, ms=4, zorder=3)
    label_ends(axes, shown, curves, right)
    style(axes)
    figure.savefig(folder / "results.svg", metadata={"Date": None})
    figure.savefig(folder / "results.png", dpi=160)
    pyplot.close(figure)


def style(axes: Any) -> None:
    axes.set(xscale="log", yscale="log", xlabel="characters in one argument", ylabel="CPU time, seconds")
    axes.set_ylim(top=axes.get_ylim()[1] * 30)
    axes.set_title("Reading one call, 4 characters at a time", loc="left", fontsize=12, pad=22)
    note = "dashed: arguments are seen only when a value, the call or the reply is complete"
    axes.text(0, 1.02, note, transform=axes.transAxes, fontsize=9, color="#555555")
    axes.grid(True, which="major", color="#e6e6e6", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
