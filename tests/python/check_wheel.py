"""python3 check_wheel.py WHEEL: whether a wheel has what it should and nothing else, and works in a virtual environment of
its own and an empty folder. `make wheel` ends with it."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXPECTED = {f"capstan/share/capstan/scenes/{p.relative_to(SOURCE / 'scenes')}" for p in (SOURCE / "scenes").rglob("*") if p.is_file()}
EXPECTED |= {f"capstan/{p.name}" for p in (SOURCE / "python/capstan").iterdir() if p.is_file()}
EXPECTED |= {f"capstan/examples/{p.name}" for p in (SOURCE / "python/examples").glob("*.py")}
EXPECTED |= {"capstan/recording.py", "capstan/_core.pyi", "capstan/bin/capstan"}
PAGE = "capstan/share/capstan/viewer/page.html"  # only where npm is


def check_names(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if not name.endswith("/") and ".dist-info/" not in name}
        sizes = {info.filename: info.file_size for info in file.infolist()}
    (module,) = [name for name in names if re.fullmatch(r"capstan/_core\.[\w.-]*so", name)]
    missing, surplus = EXPECTED - names, names - EXPECTED - {module, PAGE}
    assert not missing, f"the wheel has no {', '.join(sorted(missing))}"
    assert not surplus, f"the wheel should not have {', '.join(sorted(surplus))}"
    if PAGE not in names:
        print("check_wheel: without the viewer's page: npm was not at hand")
    print(f"check_wheel: {len(names)} files, {os.path.getsize(wheel) / 1e6:.1f} MB; the module has {sizes[module] / 1e6:.1f} MB, "
          f"the program {sizes['capstan/bin/capstan'] / 1e6:.1f} MB")
    return PAGE in names


PROGRAM = """
import capstan, pathlib
assert pathlib.Path(capstan.__file__).is_relative_to({env!r}), capstan.__file__
assert len(capstan.scenes()) > 20 and pathlib.Path(capstan.scene_folder()).is_relative_to({env!r})
run = capstan.record("stack", "stack.capstan", 0.5)
sim = capstan.load("stack").run(0.5)
assert run.hash[-1] == sim.hash
print(format(sim.hash, "016x"))
assert sim.image(64, 48).rgb.std() > 0
capstan.export("stack.capstan", "stack.csv")
"""


def check_in(wheel, env, folder, has_page):
    """Installs the wheel there, and runs what a newcomer would."""
    venv.create(env, with_pip=True, symlinks=True)
    python, command = env / "bin/python", env / "bin/capstan"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CAPSTAN") and k != "PYTHONPATH"}
    def run(*arguments):
        done = subprocess.run(list(map(str, arguments)), cwd=folder, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout
    run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel)
    end = run(python, "-c", PROGRAM.format(env=str(env)))
    assert end.strip() in run(command, "run", "stack", "--duration", "0.5"), "the command has other bits than the package"
    assert "clutter" in run(command, "list")
    if has_page:
        run(command, "export", "stack.capstan", "stack.html")
    examples = sorted((env / "lib").glob("python3*/site-packages/capstan/examples/*.py"))
    for example in examples:
        if "gym" not in example.read_text():  # gymnasium is not asked for
            run(python, example)
    print(f"check_wheel: import, command, recording, image, {len(examples)} examples: well, in {folder}")


def main():
    wheel = pathlib.Path(sys.argv[1]).resolve()
    has_page = check_names(wheel)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="capstan-wheel-"))
    try:
        (folder / "empty").mkdir()
        check_in(wheel, folder / "env", folder / "empty", has_page)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
