"""The examples of docs/python.md, one after the other, as a reader would type them."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs/python.md"


def test_examples(tmp_path):
    text = PAGE.read_text()
    examples = re.findall(r"^```python ?(\w*)\n(.*?)^```", text, re.S | re.M)
    assert len(examples) > 8
    code = "\n".join(content for needs, content in examples if not needs or importlib.util.find_spec(needs))
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    print(result.stdout)
    assert "t = 1 s, " in result.stdout
    friction, by_hand = re.search(r"friction (\S+); by hand (\S+)", result.stdout).groups()
    assert float(friction) == pytest.approx(0.37, abs=2e-3) and float(by_hand) == pytest.approx(0.37, rel=0.02)
    assert (tmp_path / "pyramid.svg").read_text().lstrip().startswith("<svg")
    assert re.search(r"^True \S+e-1\d \d+$", result.stdout, re.M)  # inverse kinematics


def test_the_page_names_what_is_there():
    import capstan
    text = PAGE.read_text()
    for name in re.findall(r"capstan\.([A-Za-z_]+)\(", text):
        assert hasattr(capstan, name) or name in ("make_vec",), name
    sim = capstan.load("stack")
    for name in set(re.findall(r"sim\.([a-z_]+)", text)):
        assert hasattr(sim, name), name
    for name in set(re.findall(r"model\.([a-z_]+)\(", text)):
        assert hasattr(sim.model, name), name


def test_the_example_of_the_readme(program, tmp_path):
    text = (PAGE.parents[1] / "README.md").read_text()
    (tmp_path / "pendulum.yaml").write_text(re.search(r"^```yaml\n(.*?)^```", text, re.S | re.M)[1])
    code = re.search(r"^```python\n(.*?)^```", text, re.S | re.M)[1] + "print(f'{sim.hash:016x}')"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    assert re.match(r"angle after 10 s: -?\d\.\d{6} rad\n", printed)
    assert printed.split()[-1] in program("run", tmp_path / "pendulum.yaml")


def test_every_file_of_the_package_is_listed():
    folder = PAGE.parents[1] / "python"
    listed = set(re.search(r"set\(files\n(.*?)\)", (folder / "CMakeLists.txt").read_text(), re.S)[1].split())
    assert listed == {path.name for path in (folder / "capstan").iterdir() if path.is_file()}


def as_regex(shown):
    return ".*".join(map(re.escape, shown.split("...")))


def test_the_page_of_robots(tmp_path, program):
    """Files are written, commands and programs run, in the order of the page."""
    text = (PAGE.parent / "robots.md").read_text()
    commands = 0
    for kind, content in re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M):
        if kind in ("xml", "yaml", "csv"):
            name = re.search(r"(?:#|<!--) (\S+)", content.split("\n")[0])[1]
            (tmp_path / name).write_text(content)
        elif kind == "python":
            done = subprocess.run([sys.executable, "-c", content], capture_output=True, text=True, cwd=tmp_path, check=True)
            assert done.stdout == "the tip presses with 20.0 N\n"
        else:
            assert kind == "console"
            for line, shown in re.findall(r"^\$ capstan (.*)\n((?:(?!\$).*\n)*)", content, re.M):
                done = subprocess.run([os.environ["CAPSTAN"], *line.split()], capture_output=True, text=True, cwd=tmp_path,
                                      check=True)
                printed = done.stderr + done.stdout
                for expected in shown.splitlines():
                    assert re.search(f"^{as_regex(expected)}$", printed, re.M), (line, expected, printed)
                commands += 1
    assert commands == 5


def test_everything_public_says_what_it_is():
    import inspect

    import capstan
    silent = []
    for name in capstan.__all__:
        thing = getattr(capstan, name)
        if not inspect.getdoc(thing):
            silent.append(name)
        if inspect.isclass(thing) and not issubclass(thing, (Exception, capstan.NamedArray)):
            for member in dir(thing):
                value = inspect.getattr_static(thing, member)
                if not member.startswith("_") and not inspect.ismemberdescriptor(value) and not getattr(value, "__doc__", None):
                    silent.append(f"{name}.{member}")
    assert not silent
