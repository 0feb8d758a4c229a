"""What the tests of the Python package share."""
import os
import subprocess

import pytest

BOX = """\
capstan: 1
name: box
options: {dt: 0.005, duration: 1}
shapes:
  - {name: floor, type: half_space}
bodies:
  - {name: box, position: [0, 0, 0.1], joint: {name: loose, type: free},
     shape: {name: sides, type: box, size: [0.2, 0.2, 0.2], mass: 2}}
"""
SCENES = os.path.join(os.path.dirname(__file__), "../../scenes")


@pytest.fixture
def program():
    """The command line, as a function from arguments to what it prints."""
    path = os.environ.get("CAPSTAN")
    if not path:
        pytest.skip("no command line: CAPSTAN is not set")
    return lambda *arguments: subprocess.run([path, *map(str, arguments)], check=True, capture_output=True,
                                             text=True).stdout
