"""Pictures as arrays, against projection by hand; and the live viewer."""
import os
import pathlib
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import capstan

BALL = {"capstan": 1, "shapes": [{"name": "floor", "type": "half_space"}],
        "bodies": [{"name": "ball", "position": [0, 0, 1], "joint": "free",
                    "shape": {"name": "ball", "type": "sphere", "radius": 0.25, "color": [1, 0, 0], "mass": 1}},
                   {"name": "hidden", "position": [0, 3, 1], "joint": "free",
                    "shape": {"name": "hidden", "type": "sphere", "radius": 0.25, "mass": 1}}]}


def test_a_ball_is_where_the_camera_sees_it():
    sim = capstan.Simulation(capstan.scene_from_dict(BALL))
    image = sim.image(201, 151, eye=[0, -4, 1], target=[0, 0, 1], fov=0.6, samples=1)
    assert image.rgb.shape == (151, 201, 3) and image.rgb.dtype == np.uint8 and image.depth.dtype == np.float32
    ball, floor = (sim.model.shape_index(name) for name in ("ball", "floor"))
    seen = image.shapes == ball
    assert image.depth[75, 100] == pytest.approx(4 - 0.25, abs=0.01)
    assert not (image.shapes == sim.model.shape_index("hidden")).any()  # behind the ball
    f = 151 / (2 * np.tan(0.3))
    radius = f * np.tan(np.arcsin(0.25 / 4))  # [px] of the outline
    assert seen.sum() == pytest.approx(np.pi * radius**2, rel=0.03)
    rows, columns = np.nonzero(seen)
    assert rows.mean() == pytest.approx(75, abs=0.5) and columns.mean() == pytest.approx(100, abs=0.5)
    assert image.rgb[75, 100, 0] > 1.5 * image.rgb[75, 100, 1]  # red
    # The floor is below the horizon: at row 75.5 + f h / d it is d away.
    row = 120
    assert image.depth[row, 20] == pytest.approx(f * 1 / (row + 0.5 - 75.5), rel=1e-5) and image.shapes[row, 20] == floor
    assert np.isinf(image.depth[10, 10]) and image.shapes[10, 10] == -1
    np.testing.assert_array_equal(np.asarray(image), image.rgb)


def test_what_moves_is_drawn_where_it_is():
    sim = capstan.Simulation(capstan.scene_from_dict(BALL))
    look = dict(width=100, height=100, eye=[0, -4, 1], target=[0, 0, 1], samples=1)
    before = sim.image(**look)
    sim.q["ball"][0] += 0.5
    after = sim.image(**look)
    ball = sim.model.shape_index("ball")
    shift = np.nonzero(after.shapes == ball)[1].mean() - np.nonzero(before.shapes == ball)[1].mean()
    assert shift == pytest.approx(50 / np.tan(0.4) * 0.5 / 4, abs=0.5)
    np.testing.assert_array_equal(before.rgb, before.rgb)
    sim.q["ball"][0] -= 0.5
    np.testing.assert_array_equal(sim.image(**look).rgb, before.rgb)


@pytest.mark.parametrize("scene", ["clutter", "arm_hand", "rope_over_peg", "soft_stack", "humanoid"])
def test_every_kind_of_scene_is_seen(scene):
    sim = capstan.load(scene)
    image = sim.image(160, 120)
    assert len(np.unique(image.shapes)) > 3 and 0.02 < (image.shapes >= 0).mean()
    assert image.to_png()[:8] == b"\x89PNG\r\n\x1a\n"


def test_bad_cameras_are_told():
    sim = capstan.load("stack")
    for bad in (dict(width=0), dict(height=100_000), dict(eye=[0, 0, 1], target=[0, 0, 0]), dict(eye=[np.nan, 0, 0]),
                dict(eye=[1, 1, 1], fov=4), dict(samples=9), dict(azimuth=np.inf)):
        with pytest.raises(ValueError):
            sim.image(**bad)


@pytest.fixture
def page(monkeypatch, tmp_path):
    """A page to serve, where the viewer's own was not built."""
    if not os.environ.get("CAPSTAN_VIEWER_PAGE"):
        file = tmp_path / "page.html"
        file.write_text("<html>a page <!--recording--></html>")
        monkeypatch.setenv("CAPSTAN_VIEWER_PAGE", str(file))
    return pathlib.Path(os.environ["CAPSTAN_VIEWER_PAGE"]).read_text()


def test_a_live_view_is_served_and_paced(page, capsys):
    sim = capstan.load("stack")
    with sim.view(pace=2) as view:
        assert view.url in capsys.readouterr().out and view.url in view._repr_html_()
        assert urllib.request.urlopen(view.url).read().decode() == page
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(view.url.split("?")[0])  # without its token
        begin = time.perf_counter()
        sim.run(0.6)
        assert 0.28 < time.perf_counter() - begin < 3
        sim.reset()
        assert sim.view(pace=0).url == view.url
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(view.url)
    plain = capstan.load("stack").run(0.6)
    sim.reset()
    sim.view(pace=0)
    sim.run(0.6)
    assert sim.hash == plain.hash
    for bad in (dict(pace=-1), dict(port=1 << 20)):
        with pytest.raises(ValueError):
            sim.view(**bad)
    with pytest.raises((RuntimeError, ValueError)):
        capstan.load("stack").view(address="nowhere")
