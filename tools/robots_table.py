"""The tables of robots.py, in Markdown."""
import collections
import os
import statistics


def name_of(folder):
    return os.path.basename(os.path.normpath(folder))


def stable(side):
    """A run that ended, with no joint faster than 1000 m/s or rad/s."""
    if "run" in side:
        return side["run"] == 0 and side.get("speed", 0) < 1000
    return side.get("stable", False) and side.get("speed", 0) < 1000


def percent(values, test):
    return f"{sum(map(test, values))} of {len(values)}" if values else "-"


def summary(rows, simulated):
    text = ["| models | files | MuJoCo loads | of these Capstan loads | same mass (1e-6) | same mass matrix (1e-6) |"
            + (" stable here / there | processor time of a step over MuJoCo's: median, worst |" if simulated else ""),
            "|---|---|---|---|---|---|" + ("---|---|" if simulated else "")]
    folders = list(dict.fromkeys(row["folder"] for row in rows))
    for folder in folders:
        all_rows = [row for row in rows if row["folder"] == folder]
        there = [row for row in all_rows if "error" not in row["mujoco"]]
        both = [row for row in there if row["capstan"]["code"] == 0]
        moved = [row for row in both if row.get("M_error") is not None]
        line = (f"| {name_of(folder)} | {len(all_rows)} | {len(there)} | {len(both)} "
                f"| {percent(both, lambda r: r['mass_error'] < 1e-6)} | {percent(moved, lambda r: r['M_error'] < 1e-6)} |")
        if simulated:
            ratios = [row["ratio"] for row in both if "ratio" in row]
            ran = [row for row in both if "run" in row["capstan"]]
            line += (f" {sum(stable(r['capstan']) for r in ran)} / {sum(stable(r['mujoco']) for r in ran)} of {len(ran)} |"
                     + (f" {statistics.median(ratios):.2f}, {max(ratios):.1f} |" if ratios else " - |"))
        text.append(line)
    return text


def refused(rows):
    text = []
    for row in rows:
        if "error" not in row["mujoco"] and row["capstan"]["code"] != 0:
            first = row["capstan"]["errors"][0]
            reason = first.split(": error: ", 1)[-1]
            text.append(f"| {name_of(row['folder'])}/{row['file']} | {reason} |")
    return (["| file | why |", "|---|---|"] + text) if text else ["None."]


def not_understood(rows, kind_of):
    files, messages = collections.Counter(), collections.Counter()
    for row in rows:
        if row["capstan"]["code"] != 0:
            continue
        kinds = collections.Counter(kind_of(w) for w in row["capstan"]["warnings"])
        messages.update(kinds)
        files.update(kinds.keys())
    text = ["| files | messages | what is told |", "|---|---|---|"]
    for kind, count in files.most_common(40):
        text.append(f"| {count} | {messages[kind]} | {kind.replace('|', '/')[:160]} |")
    return text


def each(rows, simulated):
    text = ["| file | warnings | mass [kg]: here, MuJoCo | error of the mass matrix |"
            + (" 5 s here / there | step [us]: here, MuJoCo | ratio |" if simulated else ""),
            "|---|---|---|---|" + ("---|---|---|" if simulated else "")]
    for row in rows:
        ours, theirs = row["capstan"], row["mujoco"]
        if "error" in theirs or ours["code"] != 0:
            continue
        M_error = row.get("M_error")
        line = (f"| {name_of(row['folder'])}/{row['file']} | {len(ours['warnings'])} "
                f"| {ours['mass']:.5g}, {theirs['mass']:.5g} | {'-' if M_error is None else f'{M_error:.1e}'} |")
        if simulated:
            word = lambda side: "stable" if stable(side) else "no"
            line += (f" {word(ours)} / {word(theirs)} | {ours.get('step_us', float('nan')):.0f}, "
                     f"{theirs.get('step_us', float('nan')):.0f} | {row.get('ratio', float('nan')):.2f} |")
        text.append(line)
    return text


def tables(rows, kind_of, simulated, note=""):
    both_refuse = sum("error" in row["mujoco"] and row["capstan"]["code"] != 0 for row in rows)
    ours_only = sum("error" in row["mujoco"] and row["capstan"]["code"] == 0 for row in rows)
    text = ["# Robots as found", "",
            "Made by `capstan robots` over folders of models that others wrote; none of them is part of this repository.",
            "A file is tried as it is: it loads or not, and where MuJoCo is installed masses and the mass matrix of the starting",
            "pose are compared with it." + (" Both then simulate 5 s; *stable* is a run that ended with no joint faster than 1000."
                                            if simulated else ""), *([note] if note else []), "", "## Summary", ""]
    text += summary(rows, simulated)
    text += ["", f"Neither loads {both_refuse} files (parts to be included, missing meshes); Capstan alone loads {ours_only}.",
             "", "## MuJoCo loads it, Capstan does not", ""]
    text += refused(rows)
    text += ["", "## What is told most", ""] + not_understood(rows, kind_of)
    text += ["", "## Each file that both load", ""] + each(rows, simulated)
    return "\n".join(text) + "\n"
