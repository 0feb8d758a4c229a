"""python3 run.py FILE...: runs these files with pytest. Exit code 77 (skipped) where something it needs is missing."""
import importlib.util
import sys

if __name__ == "__main__":  # processes that tests start import this file, too
    missing = [name for name in ("numpy", "pytest", "hypothesis") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: python3 has no {', '.join(missing)} (tools/python-env installs them from PyPI)")
        sys.exit(77)
    import pytest

    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "-rs", *sys.argv[1:]]))
