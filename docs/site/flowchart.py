"""A flowchart in Mermaid's words, drawn as SVG, so that the site needs no script from the network.

It reads what our pages use: `flowchart TD`, and lines of names joined by arrows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise

WIDTH, HEIGHT, ACROSS, DOWN = 118, 30, 22, 34


def edges_of(text: str) -> list[tuple[str, str]]:
    """The arrows, line by line."""
    chains = [re.split(r"\s*-->\s*", line.strip()) for line in text.splitlines() if "-->" in line]
    return [edge for chain in chains for edge in pairwise(chain)]


def rows_of(edges: list[tuple[str, str]]) -> list[list[str]]:
    """The names in rows, each below all that lead to it and as low as what it leads to allows."""
    below: dict[str, list[str]] = defaultdict(list)
    for start, end in edges:
        below[start].append(end)
        below.setdefault(end, [])

    def height(name: str) -> int:
        return 1 + max(map(height, below[name]), default=-1)

    heights = {name: height(name) for name in below}
    return [[name for name in below if heights[name] == level] for level in range(max(heights.values()), -1, -1)]


def drawn(text: str) -> str:
    """A block of Markdown with the chart in it."""
    edges = edges_of(text)
    rows = rows_of(edges)
    width = max(len(row) for row in rows) * (WIDTH + ACROSS) + ACROSS
    total = len(rows) * (HEIGHT + DOWN) - DOWN + 4
    places = {}
    for level, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + ACROSS) + ACROSS) / 2
        for number, name in enumerate(row):
            places[name] = (left + number * (WIDTH + ACROSS) + WIDTH / 2, level * (HEIGHT + DOWN) + HEIGHT / 2 + 2)
    parts = []
    for start, end in edges:
        (x, y), (u, v) = places[start], places[end]
        y, v = y + HEIGHT / 2, v - HEIGHT / 2 - 6
        bend = (v - y) / 2
        parts.append(f'<path d="M{x:.0f},{y:.0f} C{x:.0f},{y + bend:.0f} {u:.0f},{v - bend:.0f} {u:.0f},{v:.0f}"/>')
    for name, (x, y) in places.items():
        parts.append(f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}"/>')
        parts.append(f'<text x="{x:.0f}" y="{y + 4.5:.0f}">{name}</text>')
    arrow = '<marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    arrow += '<path d="M0,0 L8,4 L0,8 z"/></marker>'
    label = ", ".join(f"{start} to {end}" for start, end in edges)
    return (
        f'```{{raw}} html\n<svg class="flowchart" viewBox="0 0 {width} {total}" role="img" aria-label="{label}">'
        f"<defs>{arrow}</defs>{''.join(parts)}</svg>\n```"
    )
