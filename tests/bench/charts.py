"""Bar charts of the catalogue's results as SVG files (results.py asks for them).

A chart is 560 pixels wide, so that it can be read on a telephone too, which shows it at two thirds of its size. It has
its own background. The background is dark if the reader's system asks for dark pages, and light otherwise."""
import html
import math

WIDTH, MARGIN = 560, 16
BARS = WIDTH - 2 * MARGIN
STYLE = """<style>
text { font: 15px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.small { font-size: 13px; fill: #59636e }
.end { text-anchor: end }
.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
.inside { fill: #ffffff; text-anchor: end }
.middle { text-anchor: middle }
.ground { fill: #ffffff; stroke: #d1d9e0 }
.best { fill: #2f6fd0 }
.peer { fill: #c2571a }
.aside { fill: #9aa4ae }
.grid { stroke: #d1d9e0 }
.bound { stroke: #1f2328 }
.one { stroke: #c2571a; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.halo { stroke: #0d1117 }
.inside { fill: #0d1117 }
.small { fill: #9198a1 }
.ground { fill: #0d1117; stroke: #3d444d }
.best { fill: #5a9cf8 }
.peer { fill: #f0883e }
.aside { fill: #656c76 }
.grid { stroke: #3d444d }
.bound { stroke: #e6edf3 }
.one { stroke: #f0883e }
}
</style>"""


def text(x, y, kind, words):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{html.escape(words)}</text>'


def bar(x, y, width, height, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height}" class="{kind}"/>'


def line(x, top, bottom, kind):
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="{kind}"/>'


def document(title, height, shapes):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'role="img">')
    ground = f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="ground"/>'
    return "\n".join([head, f"<title>{html.escape(title)}</title>", STYLE, ground, *shapes, "</svg>"]) + "\n"


def overview(device, rows):
    """Returns the chart of all families. A row has the family, the speed of its best variant divided by the speed of
    the vendor's kernel (or None), and the words after the bar. The scale is logarithmic, and a bar begins at the
    vendor's speed."""
    left, right, top, step = 112, 520, 92, 23
    bottom = top + step * len(rows)
    speeds = [speed for _, speed, _ in rows if speed]
    low, high = min(0.5, *speeds), max(16.0, *speeds)

    def place(speed):
        return left + (right - left) * math.log(speed / low) / math.log(high / low)

    title = "Each family's best kernel beside the vendor's"
    shapes = [text(MARGIN, 30, "title", title),
              text(MARGIN, 52, "small", f"Times as fast, {device}, logarithmic scale. The vendor's kernel is at 1.")]
    for tick in (0.5, 1, 2, 4, 8, 16):
        if low <= tick <= high:
            shapes += [text(place(tick), top - 12, "small middle", f"{tick:g}"), line(place(tick), top - 6, bottom, "grid")]
    for row, (family, speed, words) in enumerate(rows):
        base = top + step * row + 16
        shapes.append(text(left - 10, base, "end", family))
        if speed:
            begin, end = sorted((place(1), place(speed)))
            shapes.append(bar(begin, base - 13, end - begin, 16, "best"))
            inside = end > (left + right) / 2  # there may be no room for the words after a long bar
            shapes.append(text(end - 7, base, "inside", words) if inside else text(end + 7, base, "halo", words))
        else:
            shapes.append(text(place(1) + 7, base, "small halo", words))
    shapes.append(line(place(1), top - 6, bottom, "one"))
    return document(title, bottom + MARGIN, shapes)


def family(title, bound, rows):
    """Returns the chart of one work. A row has its kind (best, peer or aside), the name, the share of the bound, and
    the time in words."""
    step, top = 40, 70
    most = max(share for _, _, share, _ in rows)
    legend = [("best", "variant")]
    legend += [(kind, word) for kind, word in (("peer", "the vendor's or another library"),
                                               ("aside", "bound, or other work")) if any(row[0] == kind for row in rows)]
    shapes = [text(MARGIN, 30, "title", title), text(MARGIN, 56, "small", f"Bars: share of {bound}" + ("; the line: 1" if most >= 1 else "")),
              text(WIDTH - 130, 56, "small end", "share"), text(WIDTH - MARGIN, 56, "small end", "time")]
    bottom = top + step * len(rows)
    for row, (kind, name, share, time) in enumerate(rows):
        y = top + step * row
        shapes += [text(MARGIN, y + 12, "", name),
                   text(WIDTH - 130, y + 12, "end", f"{share:.3f}"), text(WIDTH - MARGIN, y + 12, "end", time),
                   bar(MARGIN, y + 18, BARS * share / most, 11, kind)]
        if most >= 1:
            shapes.append(line(MARGIN + BARS / most, y + 16, y + 31, "bound"))
    x = MARGIN
    for kind, word in legend:
        shapes += [bar(x, bottom + 4, 12, 12, kind), text(x + 18, bottom + 15, "small", word)]
        x += 36 + 7 * len(word)
    return document(title, bottom + 32, shapes)
