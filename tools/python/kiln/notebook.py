"""The display of a sweep in an interpreter and in a notebook: a table, the curve of the search, the effects of params.
The HTML and the SVG need no other package, and have the colours of the notebook's theme."""
import html
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Optional

from ._kiln import ffi, lib
from ._objects import Record, Value

if TYPE_CHECKING:
    from .sweep import Tuning

_ROWS = 10  # largest number of rows of a table
_POINTS = 2000  # largest number of points of a curve, because further points would cover others


def seconds_of(result: Record) -> float:
    """Returns the time by which a sample is ranked: measured, estimated, or the wall time of the simulated device."""
    return float(result.seconds or result.host_seconds)


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            break
    return f"{seconds * factor:.3g} {unit}"


def time(result: Record) -> str:
    return duration(seconds_of(result))


def _kind(result: Record) -> str:
    return "measured" if result.measured else "estimated" if result.estimated else "simulator's wall time"


def _worked(samples: Iterable[Record]) -> list[Record]:
    return [sample for sample in samples if sample.status == "OK" and seconds_of(sample.result) > 0]


def curve(samples: Sequence[Record]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for sample in sorted(_worked(samples), key=lambda sample: float(sample.at)):
        if not found or seconds_of(sample.result) < found[-1][1]:
            found.append((float(sample.at), seconds_of(sample.result)))
    return found


def _sorted(values: Iterable[Value]) -> list[Value]:
    return sorted(values, key=lambda item: (isinstance(item, str), str(item) if isinstance(item, str) else 0,
                                            0 if isinstance(item, str) else item))


def effects(samples: Sequence[Record], variant: Optional[str] = None) -> dict[str, Record]:
    worked = _worked(samples)
    worked = [sample for sample in worked if sample.variant == (variant or worked[0].variant)]
    found = {}
    for name in worked[0].params if worked else ():
        times: dict[Value, float] = {}
        for sample in worked:
            item = sample.params.get(name)
            times[item] = min(times.get(item, math.inf), seconds_of(sample.result))
        found[name] = Record(effect=max(times.values()) / min(times.values()),
                             times={item: times[item] for item in _sorted(times)})
    return dict(sorted(found.items(), key=lambda entry: -entry[1].effect))


# ---- the table ----

def _title(tuning: "Tuning") -> str:
    totals = tuning.totals
    return (f"{tuning.spec}, {tuning.sizes}: {totals.configurations} configurations, {totals.verified} verified, "
            f"{totals.failed} failed").lstrip(", ")


def _table(tuning: "Tuning") -> tuple[list[str], list[list[str]]]:
    """Returns the heading and the best rows. Leaves out columns that have the same value in all rows."""
    worked = _worked(tuning.samples)
    shown = worked[:_ROWS]
    columns: dict[str, list[str]] = {"rank": [("= " if sample.tied and tuning.verdict.tied > 1 else "") + str(i)
                                              for i, sample in enumerate(shown, 1)],
                                     "time": [time(sample.result) for sample in shown]}
    if len({_kind(sample.result) for sample in shown}) > 1:
        columns["which is"] = [_kind(sample.result) for sample in shown]
    for name, factor, unit in (("flops", 1e9, "GFLOP/s"), ("bytes", 1e9, "GB/s")):
        if any(sample.result[name] and sample.result.seconds for sample in shown):
            columns[unit] = [f"{sample.result[name] / sample.result.seconds / factor:.4g}"
                             if sample.result.seconds else "" for sample in shown]
    if any(sample.result.roofline for sample in shown):
        columns["roofline"] = [f"{100 * sample.result.roofline:.1f} %" for sample in shown]
    columns["verified"] = ["yes" if sample.result.verified else "no" for sample in shown]
    for name in dict.fromkeys(name for sample in shown for name in sample.objectives):
        columns[name] = [f"{sample.objectives[name]:.4g}" if name in sample.objectives else "" for sample in shown]
    if len({sample.variant for sample in tuning.samples}) > 1:
        columns["variant"] = [str(sample.variant) for sample in shown]
    for name in dict.fromkeys(name for sample in shown for name in sample.params):
        columns[name] = [str(sample.params.get(name, "")) for sample in shown]
    return list(columns), [list(row) for row in zip(*columns.values())]


def _notes(tuning: "Tuning") -> list[str]:
    """Returns the sentences below the table: the number of further rows, the kind of the times, the reasons of
    failures."""
    worked = _worked(tuning.samples)
    notes = [f"{len(worked) - _ROWS} more worked."] if len(worked) > _ROWS else []
    kinds = {_kind(sample.result) for sample in worked}
    if kinds == {"estimated"}:
        notes.append("All times are estimates of a simulated device.")
    elif kinds == {"simulator's wall time"}:
        notes.append("All times are wall times of the simulated device, which do not predict a GPU.")
    failed: dict[str, list[str]] = {}
    for sample in tuning.samples:
        if sample.status != "OK":
            failed.setdefault(str(sample.status), []).append(next(iter(sample.message.splitlines()), ""))
    for status, messages in sorted(failed.items(), key=lambda entry: -len(entry[1])):
        reason = str(ffi.string(lib.kiln_status_text(getattr(lib, "KILN_" + status))).decode())
        notes.append(f"{len(messages)} failed: {reason}; the first: {messages[0]}")
    return notes


def text(tuning: "Tuning") -> str:
    heading, rows = _table(tuning)
    widths = [max(map(len, column)) for column in zip(heading, *rows)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in [heading, *rows]]
    return "\n".join([_title(tuning), *(lines if rows else []), *_notes(tuning)])


# ---- charts ----

def _svg(width: int, height: int, label: str, parts: Iterable[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{html.escape(label)}" font-family="sans-serif" font-size="11" fill="currentColor" '
            f'style="max-width:100%">{"".join(parts)}</svg>')


def _label(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float = 0.3) -> str:
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" '
            f'stroke-opacity="{opacity}"/>')


class _Scale:
    """Maps times to the height of a chart, by their logarithm."""

    def __init__(self, low: float, high: float, top: float, bottom: float) -> None:
        self.low, self.top, self.bottom = math.log(low), top, bottom
        self.span = math.log(high) - self.low or 1.0

    def __call__(self, seconds: float) -> float:
        return self.bottom - (math.log(seconds) - self.low) / self.span * (self.bottom - self.top)


def _curve_chart(samples: Sequence[Record]) -> str:
    """Draws each sample as a dot over the time of the sweep, and the best time so far as a line."""
    worked, steps = _worked(samples), curve(samples)
    if len(worked) < 2:
        return ""
    times = [seconds_of(sample.result) for sample in worked]
    # The scale leaves out the slowest samples, which would make the differences of the others too small to see.
    high = max(min(max(times), 20 * statistics.median(times)), min(times) * 1.0001)
    width, height, left, right, top, bottom = 460, 220, 64, 450, 24, 190
    last = max(float(sample.at) for sample in worked) or 1.0
    over = _Scale(min(times), high, top, bottom)
    every = -(-len(worked) // _POINTS)
    parts = [_label(left, 14, "best time over the sweep", "start"), _line(left, bottom, right, bottom),
             _line(left, top, left, bottom), _label(left - 6, over(high) + 4, duration(high), "end"),
             _label(left - 6, over(min(times)) + 4, duration(min(times)), "end"),
             _label(left, bottom + 16, "0"), _label(right, bottom + 16, duration(last), "end")]

    def x(at: float) -> float:
        return left + (right - left) * at / last
    parts += [f'<circle cx="{x(float(sample.at)):.1f}" cy="{over(min(seconds_of(sample.result), high)):.1f}" r="2" '
              'fill-opacity="0.35"/>' for sample in worked[::every]]
    path = f"M{x(steps[0][0]):.1f} {over(min(steps[0][1], high)):.1f}"
    for at, seconds in steps[1:]:
        path += f"H{x(at):.1f}V{over(min(seconds, high)):.1f}"
    parts.append(f'<path d="{path}H{right}" fill="none" stroke="#3778bf" stroke-width="2"/>')
    return _svg(width, height, "best time over the sweep", parts)


def _effect_chart(name: str, effect: Record, largest: float) -> str:
    """Draws the best time for each value of a param, as bars that begin at the best time of all. `largest` is the
    effect at the top of the scale. It is the same for all params, so that the charts can be compared."""
    values = list(effect.times.items())
    skipped = max(0, len(values) - 16)
    values = values[:16]
    best = min(effect.times.values())
    width, height, top, bottom = max(120, 24 + 40 * len(values)), 150, 40, 120
    over = _Scale(best, best * largest, top, bottom - 4)
    parts = [_label(12, 14, f"{name}: {effect.effect:.3g} times" + (f", {skipped} more" if skipped else ""), "start"),
             _line(8, bottom, width - 8, bottom)]
    for i, (item, seconds) in enumerate(values):
        x, y = 32 + 40 * i, over(seconds)
        shown = str(item) if len(str(item)) <= 7 else str(item)[:6] + "~"
        parts.append(f'<rect x="{x - 12}" y="{y:.1f}" width="24" height="{bottom - y:.1f}" fill="#3778bf">'
                     f"<title>{html.escape(f'{name}={item}: {duration(seconds)}')}</title></rect>")
        parts += [_label(x, y - 4, f"{seconds / best:.3g}"), _label(x, bottom + 15, shown)]
    return _svg(width, height, f"effect of {name}", parts)


def page(tuning: "Tuning") -> str:
    """Returns the table, the curve and the effects as HTML."""
    heading, rows = _table(tuning)

    def cells(tag: str, row: Iterable[str]) -> str:
        return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
    parts = [f"<p><b>{html.escape(_title(tuning))}</b></p>"]
    if rows:
        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{cells('th', heading)}</tr></thead><tbody>{body}</tbody></table>")
    parts += [f"<p>{html.escape(note)}</p>" for note in _notes(tuning)]
    parts.append(_curve_chart(tuning.samples))
    varied = {name: effect for name, effect in effects(tuning.samples).items() if len(effect.times) > 1}
    # The scale reaches at least a factor of 1.1, so that unimportant differences look small.
    largest = max([1.1, *(effect.effect for effect in varied.values())])
    charts = [_effect_chart(name, effect, largest) for name, effect in varied.items()]
    if charts:
        parts.append("<p>The best time for each value of a param, divided by the best time of all:</p><div>"
                     + "".join(charts) + "</div>")
    return f'<div class="kiln">{"".join(parts)}</div>'
