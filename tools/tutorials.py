#!/usr/bin/env python3
"""The programs of python/examples as notebooks and as pages with what they print.

    tools/tutorials.py notebooks FOLDER        NAME.ipynb for each, to be run by Jupyter
    tools/tutorials.py pages FOLDER            runs each, and writes NAME.md with code, output, picture and film, and the notebook
                                               with its output; needs the package on PYTHONPATH

A program is split where a reader would: the text at its top, what it imports, each function, and the call of main().
"""
import ast
import contextlib
import importlib.util
import inspect
import io
import json
import pathlib
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "python/examples"
# In the order of learning. What main() is called with for a page: what can be waited for.
TUTORIALS = {
    "first_simulation": ("First simulation", "main()"),
    "grasp": ("A grasp", "main()"),
    "contact_laws": ("Choosing a contact law", "main()"),
    "contact_forces": ("Reading contact forces", "main()"),
    "friction_from_recording": ("Friction from a recording", "main()"),
    "random_search": ("A policy by random search", "main(rounds=10)"),
}


def split(name):
    """(text, [code of each cell]) of a program; the last cell calls main()."""
    source = (EXAMPLES / f"{name}.py").read_text()
    tree, lines = ast.parse(source), source.splitlines()
    parts, head = [], []
    for i, node in enumerate(tree.body):
        if isinstance(node, ast.Expr) and i == 0 or isinstance(node, ast.If):  # the docstring; if __name__ ...
            continue
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        code = "\n".join(lines[first - 1:node.end_lineno])
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if head:
                parts.append("\n".join(head))
                head = []
            parts.append(code)
        else:
            if isinstance(node, ast.Assign) and head and head[-1].startswith(("import", "from")):
                head.append("")
            head.append(code)
    return ast.get_docstring(tree), [*parts, *(["\n".join(head)] if head else []), TUTORIALS[name][1]]


def notebook(name, output=None):
    """As Jupyter reads it: nbformat 4."""
    text, parts = split(name)
    cells = [{"cell_type": "markdown", "id": "text", "metadata": {}, "source": f"# {TUTORIALS[name][0]}\n\n{text}"}]
    for i, code in enumerate(parts):
        last = i + 1 == len(parts)
        outputs = [{"output_type": "stream", "name": "stdout", "text": output}] if last and output else []
        cells.append({"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "execution_count": None, "outputs": outputs,
                      "source": code + (";" if last else "")})
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}, "cells": cells}, indent=1)


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(name, folder):
    """Runs the program and writes its page."""
    import capstan
    module, printed = load(name), io.StringIO()
    film = folder / f"{name}.capstan"
    has_film = "film" in inspect.signature(module.main).parameters
    with contextlib.redirect_stdout(printed):
        result = eval(TUTORIALS[name][1][:-1] + (f"film={str(film)!r})" if has_film else ")"), vars(module))
    text, parts = split(name)
    lines = [f"# {TUTORIALS[name][0]}", "", text, ""]
    for code in parts:
        lines += ["```python", code, "```", ""]
    lines += ["prints", "", "```", printed.getvalue().rstrip(), "```", ""]
    if isinstance(result, capstan.Simulation):
        result.image(720, 405).save(folder / f"{name}.png")
        lines += [f"![As it is at the end]({name}.png)", ""]
    if film.exists():
        try:
            (folder / f"{name}.film.html").write_text(capstan.Replay(film).html())
            lines += [f'<iframe src="{name}.film.html#zoom=0.2&amp;elevation=20" width="100%" height="560" style="border:0"></iframe>', ""]
        except (RuntimeError, FileNotFoundError) as error:
            print(f"tutorials: {name} is without its film: {error}")
        film.unlink()
    lines += [f"[The program](../../python/examples/{name}.py), [the same as a notebook]({name}.ipynb).", ""]
    (folder / f"{name}.md").write_text("\n".join(lines))
    (folder / f"{name}.ipynb").write_text(notebook(name, printed.getvalue()))


def main(what, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in TUTORIALS:
        if what == "notebooks":
            (folder / f"{name}.ipynb").write_text(notebook(name))
        elif name == "random_search" and not importlib.util.find_spec("gymnasium"):
            print("tutorials: random_search needs gymnasium; left out")
        else:
            print(f"tutorials: running {name}", flush=True)
            page(name, folder)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("notebooks", "pages"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
