"""Log-log figures as SVG: lines with markers, or labelled points. Standard library only."""
import math

COLORS = ["#1c7ed6", "#c92a2a", "#e8890c", "#2f9e44", "#ae3ec9", "#343a40", "#0b7285", "#a61e4d", "#5c940d", "#868e96"]
LEFT, RIGHT, TOP, BOTTOM = 84, 210, 48, 56  # [px]


def text(value):
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def decades(values):
    """Whole powers of ten about the values, at least one decade."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def log_log(path, title, x_label, y_label, series, lines=True, width=960, height=560):
    """series: list of (name, [(x, y), ...]); x and y above 0. The first series is drawn thicker: it is ours."""
    series = [(name, [(x, y) for x, y in points if x > 0 and y > 0]) for name, points in series]
    series = [(name, points) for name, points in series if points]
    if not series:
        return False
    x0, x1 = decades([x for _, points in series for x, _ in points])
    y0, y1 = decades([y for _, points in series for _, y in points])
    w, h = width - LEFT - RIGHT, height - TOP - BOTTOM
    px = lambda x: LEFT + (math.log10(x) - x0) / (x1 - x0) * w
    py = lambda y: TOP + (y1 - math.log10(y)) / (y1 - y0) * h
    font = 'font-family="Helvetica, Arial, sans-serif" fill="#2b3648"'
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
           f'<rect width="{width}" height="{height}" fill="#f6f7fa"/>',
           f'<text x="{LEFT}" y="29" font-size="18" {font}>{text(title)}</text>', f'<g font-size="13" {font}>']
    for k in range(y0, y1 + 1):
        svg.append(f'<path d="M{LEFT} {py(10**k):.1f}h{w}" stroke="#d5dbe4"/>'
                   f'<text x="{LEFT - 8}" y="{py(10**k) + 4.5:.1f}" text-anchor="end">{10**k:g}</text>')
    for k in range(x0, x1 + 1):
        svg.append(f'<path d="M{px(10**k):.1f} {TOP}v{h}" stroke="#d5dbe4"/>'
                   f'<text x="{px(10**k):.1f}" y="{TOP + h + 20}" text-anchor="middle">{10**k:g}</text>')
    svg.append(f'<text x="{LEFT + w / 2}" y="{TOP + h + 44}" text-anchor="middle">{text(x_label)}</text>')
    svg.append(f'<text transform="translate(22 {TOP + h / 2}) rotate(-90)" text-anchor="middle">{text(y_label)}</text>')
    for i, (name, points) in enumerate(series):
        color, thick = COLORS[i % len(COLORS)], 3 if i == 0 else 1.6
        if lines:
            line = "L".join(f"{px(x):.1f} {py(y):.1f}" for x, y in points)
            svg.append(f'<path d="M{line}" fill="none" stroke="{color}" stroke-width="{thick}"/>')
        for x, y in points:
            svg.append(f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="{thick + 2.5}" fill="{color}"/>')
        y = TOP + 14 + 21 * i
        svg.append(f'<circle cx="{LEFT + w + 18}" cy="{y - 4.5}" r="{thick + 2.5}" fill="{color}"/>'
                   f'<text x="{LEFT + w + 30}" y="{y}">{text(name)}</text>')
    svg.append("</g>\n</svg>\n")
    with open(path, "w") as file:
        file.write("\n".join(svg))
    return True
