# SPDX-License-Identifier: GPL-2.0
"""Just enough of SVG for bars and lines with axes that can be read."""

import math
from xml.sax.saxutils import escape

COLOURS = {
    "stock": "#8a8a8a",
    "ip": "#e0a030",
    "bypass": "#2a6fbb",
    "batch": "#173f6d",
    "raw": "#58a55c",
}
FONT = "font-family='Helvetica,Arial,sans-serif'"


def number(v):
    """12300 as 12.3k."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if v >= limit:
            return f"{v / limit:.3g}{unit}"
    return f"{v:.3g}"


class Drawing:
    """A picture with a white background."""

    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = []
        self.text(width / 2, 24, title, size=16, anchor="middle", weight="bold")

    def text(self, x, y, text, size=11, anchor="start", angle=0, weight="normal"):
        turn = f" transform='rotate({angle} {x:.1f} {y:.1f})'" if angle else ""
        self.parts.append(
            f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}'"
            f" font-weight='{weight}' text-anchor='{anchor}'{turn}>{escape(text)}</text>"
        )

    def line(self, x1, y1, x2, y2, colour="#000", width=1.0, dash=""):
        dash = f" stroke-dasharray='{dash}'" if dash else ""
        self.parts.append(
            f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'"
            f" stroke='{colour}' stroke-width='{width}'{dash}/>"
        )

    def rect(self, x, y, w, h, colour):
        self.parts.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{w:.1f}' height='{h:.1f}' fill='{colour}'/>"
        )

    def path(self, points, colour, dash=""):
        dash = f" stroke-dasharray='{dash}'" if dash else ""
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f"<polyline points='{text}' fill='none' stroke='{colour}'"
            f" stroke-width='2'{dash}/>"
        )

    def legend(self, x, y, entries):
        """entries: (text, colour)."""
        for i, (text, colour) in enumerate(entries):
            self.rect(x, y + 18 * i, 12, 12, colour)
            self.text(x + 18, y + 18 * i + 10, text, size=12)

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write(
                "<?xml version='1.0' encoding='UTF-8'?>\n"
                "<!-- SPDX-License-Identifier: GPL-2.0 -->\n"
                f"<svg xmlns='http://www.w3.org/2000/svg' width='{self.width}'"
                f" height='{self.height}' viewBox='0 0 {self.width} {self.height}'>\n"
                f"<rect width='{self.width}' height='{self.height}' fill='#fff'/>\n"
            )
            f.write("\n".join(self.parts) + "\n</svg>\n")


class Axis:
    """Maps values from low to high to pixels from start to end."""

    def __init__(self, low, high, start, end, log=False):
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log

    def at(self, v):
        if self.log:
            v = max(v, self.low)
            f = math.log(v / self.low) / math.log(self.high / self.low)
        else:
            f = (v - self.low) / (self.high - self.low)
        return self.start + f * (self.end - self.start)

    def ticks(self):
        if self.log:
            e = math.floor(math.log10(self.low))
            while 10**e <= self.high * 1.001:
                if 10**e >= self.low * 0.999:
                    yield 10.0**e
                e += 1
            return
        step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
        while (self.high - self.low) / step > 8:
            step *= 2 if str(step)[0] == "1" or f"{step:e}"[0] == "1" else 2.5
        v = math.ceil(self.low / step) * step
        while v <= self.high * 1.001:
            yield v
            v += step


def grid(d, axis, x1, x2, title):
    """A y axis with lines across."""
    for v in axis.ticks():
        y = axis.at(v)
        d.line(x1, y, x2, y, "#ddd")
        d.text(x1 - 6, y + 4, number(v) if v else "0", anchor="end")
    d.line(x1, axis.start, x1, axis.end)
    d.text(x1 - 48, (axis.start + axis.end) / 2, title, size=12, anchor="middle", angle=-90)


def bars(d, box, groups, stacks, values, title, log):
    """Grouped bars. box: x, y, width, height; values: {(group, stack): v}."""
    x, y, w, h = box
    found = [v for v in values.values() if v > 0]
    low = 10 ** math.floor(math.log10(min(found))) if log else 0
    axis = Axis(low, max(found) * (1.6 if log else 1.12), y + h, y, log)
    grid(d, axis, x, x + w, title)
    step = w / len(groups)
    bar = step * 0.8 / len(stacks)
    for i, group in enumerate(groups):
        for j, stack in enumerate(stacks):
            v = values.get((group, stack))
            if v is None:
                continue
            left = x + step * (i + 0.1) + bar * j
            d.rect(left, axis.at(v), bar * 0.92, y + h - axis.at(v), COLOURS[stack])
            d.text(left + bar / 2 + 3, axis.at(v) - 4, number(v), size=9, angle=-60)
        d.text(x + step * (i + 0.5), y + h + 14, group, anchor="end", angle=-30)
    d.line(x, y + h, x + w, y + h)
