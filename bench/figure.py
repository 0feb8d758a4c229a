"""Log-log figures as SVG: lines over sizes, or labelled points. Standard library only."""
import math

# One colour for each engine; its settings differ in dashes.
COLORS = {"Capstan": "#1c7ed6", "MuJoCo": "#c92a2a", "Bullet": "#e8890c", "ODE": "#2f9e44", "DART": "#ae3ec9",
          "Drake": "#343a40"}
DASHES = ["", "7 4", "2 3", "10 3 2 3", "1 5"]
LEFT, RIGHT, TOP, BOTTOM = 84, 230, 48, 56  # [px]
LINE = 15  # [px] between labels


def text(value):
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def ticks(values):
    """1, 2 and 5 times powers of ten that enclose the values; where there are many, powers of ten only."""
    low, high = min(values), max(values)
    all_ticks = [m * 10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    below = [t for t in all_ticks if t <= low * 1.0001]
    above = [t for t in all_ticks if t >= high * 0.9999 and t > below[-1]] or [2 * below[-1]]
    kept = [t for t in all_ticks if below[-1] <= t <= above[0]] or [below[-1], above[0]]
    powers = [t for t in kept if abs(math.log10(t) - round(math.log10(t))) < 1e-9]
    return kept[0], kept[-1], powers if len(powers) >= 4 else kept


def style(names):
    """(colour, dashes) of each name."""
    seen, result = {}, []
    for name in names:
        engine = name.replace(",", " ").split()[0]
        result.append((COLORS.get(engine, "#868e96"), DASHES[seen.get(engine, 0) % len(DASHES)]))
        seen[engine] = seen.get(engine, 0) + 1
    return result


def spread(places, gap):
    """The places, moved apart so that neighbours are at least `gap` apart."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for before, i in zip(order, order[1:]):
        moved[i] = max(moved[i], moved[before] + gap)
    return moved


def log_log(path, title, x_label, y_label, series, lines=True, width=1000, height=560):
    """Draws series, a list of (name, [(x, y, full), ...]); a point that is not full is drawn hollow. Points not above 0 are
    left out, and so are single ones where there are lines. False: there was nothing to draw."""
    series = [(name, [p for p in points if p[0] > 0 and p[1] > 0]) for name, points in series]
    if lines:
        series = [(name, points) for name, points in series if len(points) > 1]
    series = [(name, points) for name, points in series if points]
    if not series:
        return False
    x0, x1, x_ticks = ticks([x for _, points in series for x, _, _ in points])
    y0, y1, y_ticks = ticks([y for _, points in series for _, y, _ in points])
    w, h = width - LEFT - RIGHT, height - TOP - BOTTOM
    px = lambda x: LEFT + math.log(x / x0) / math.log(x1 / x0) * w
    py = lambda y: TOP + math.log(y1 / y) / math.log(y1 / y0) * h
    font = 'font-family="Helvetica, Arial, sans-serif" fill="#2b3648"'
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
           f'<rect width="{width}" height="{height}" fill="#f6f7fa"/>',
           f'<text x="{LEFT}" y="29" font-size="18" {font}>{text(title)}</text>', f'<g font-size="13" {font}>']
    for y in y_ticks:
        svg.append(f'<path d="M{LEFT} {py(y):.1f}h{w}" stroke="#d5dbe4"/>'
                   f'<text x="{LEFT - 8}" y="{py(y) + 4.5:.1f}" text-anchor="end">{y:g}</text>')
    for x in x_ticks:
        svg.append(f'<path d="M{px(x):.1f} {TOP}v{h}" stroke="#d5dbe4"/>'
                   f'<text x="{px(x):.1f}" y="{TOP + h + 20}" text-anchor="middle">{x:g}</text>')
    svg.append(f'<text x="{LEFT + w / 2}" y="{TOP + h + 44}" text-anchor="middle">{text(x_label)}</text>')
    svg.append(f'<text transform="translate(22 {TOP + h / 2}) rotate(-90)" text-anchor="middle">{text(y_label)}</text>')
    # Labels stand at the right, at the height of the last point, with a thin line to it.
    heights = spread([py(points[-1][1]) for _, points in series], LINE)
    heights = [y - max(0, max(heights) - (TOP + h)) for y in heights]
    for (name, points), (color, dashes), label in zip(series, style([name for name, _ in series]), heights):
        thick = 3 if name.startswith("Capstan") else 1.6
        if lines:
            line = "L".join(f"{px(x):.1f} {py(y):.1f}" for x, y, _ in points)
            svg.append(f'<path d="M{line}" fill="none" stroke="{color}" stroke-width="{thick}" stroke-dasharray="{dashes}"/>')
        for x, y, full in points:
            fill = color if full else "#f6f7fa"
            svg.append(f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="{thick + 2}" fill="{fill}" stroke="{color}"/>')
        x, y, _ = points[-1]
        svg.append(f'<path d="M{px(x):.1f} {py(y):.1f}L{LEFT + w + 12} {label:.1f}" stroke="{color}" stroke-width="0.5"/>'
                   f'<text x="{LEFT + w + 16}" y="{label + 4.5:.1f}" style="fill:{color}">{text(name)}</text>')
    svg.append("</g>\n</svg>\n")
    with open(path, "w") as file:
        file.write("\n".join(svg))
    return True
