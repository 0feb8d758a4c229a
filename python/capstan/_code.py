"""What a function depends on: its source, and that of the user's own code it uses."""
from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import site
import sys
import sysconfig
import types
from typing import Any, Callable

_PATHS = sysconfig.get_paths()
# Code of others, which versions of packages tell apart: the standard library, installed packages and this one.
_FOREIGN = tuple({_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
                 | set(site.getsitepackages()) | {site.getusersitepackages(), __file__.rsplit("/", 1)[0]})


def _is_own(thing: Any) -> bool:
    """Whether a function, class or module is the user's."""
    module = thing if isinstance(thing, types.ModuleType) else sys.modules.get(getattr(thing, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if file is None:  # __main__ of an interactive session is the user's, too
        return module is not None and module.__name__ == "__main__"
    return not file.startswith(_FOREIGN)


def _source(thing: Any, otherwise: str = "") -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return otherwise


def _names(code: types.CodeType) -> set[str]:
    """Global names and attributes that code uses, with the functions inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


class _Collector:
    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.parts: list[str] = []

    def add(self, name: str, thing: Any) -> None:
        """Functions and classes by their source, all else by its value."""
        if isinstance(thing, types.MethodType):
            self.add(name, thing.__self__)
            thing = thing.__func__
        if isinstance(thing, (staticmethod, classmethod)):
            thing = thing.__func__
        if id(thing) in self.seen:
            return
        if isinstance(thing, functools.partial):
            for part in (thing.func, thing.args, thing.keywords):
                self.add(name, part)
        elif isinstance(thing, types.FunctionType):
            self.seen.add(id(thing))
            self.add_function(name, thing)
        elif isinstance(thing, type):
            self.seen.add(id(thing))
            self.add_class(name, thing)
        elif not isinstance(thing, (types.ModuleType, types.BuiltinFunctionType)):
            self.add_value(name, thing)

    def add_function(self, name: str, function: types.FunctionType) -> None:
        if not _is_own(function):
            self.parts.append(f"{name}: {function.__module__}.{function.__qualname__}")
            return
        code = function.__code__
        self.parts.append(f"{name}: " + _source(function, code.co_code.hex() + repr(code.co_consts)))
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self.add(name, wrapped)
        self.add(name, (function.__defaults__, function.__kwdefaults__))
        for variable, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                self.add(variable, cell.cell_contents)
            except ValueError:  # not set yet
                pass
        names = _names(code)
        for used in sorted(names & set(function.__globals__)):
            thing = function.__globals__[used]
            self.add(used, thing)
            if isinstance(thing, types.ModuleType) and _is_own(thing):
                for attribute in sorted(names & set(vars(thing))):
                    self.add(f"{used}.{attribute}", vars(thing)[attribute])

    def add_class(self, name: str, cls: type) -> None:
        if not _is_own(cls):
            self.parts.append(f"{name}: {cls.__module__}.{cls.__qualname__}")
            return
        self.parts.append(f"{name}: " + _source(cls))
        for base in cls.__bases__:
            self.add(name, base)
        for attribute, thing in sorted(vars(cls).items()):
            if isinstance(thing, (types.FunctionType, staticmethod, classmethod)):
                self.add(f"{name}.{attribute}", thing)
            elif isinstance(thing, property):
                for part in (thing.fget, thing.fset):
                    if part is not None:
                        self.add(f"{name}.{attribute}", part)

    def add_value(self, name: str, value: Any) -> None:
        if _is_own(type(value)):
            self.add(name, type(value))
        if isinstance(value, (tuple, list)) and any(callable(x) for x in value):
            for part in value:
                self.add(name, part)
            return
        try:
            text = hashlib.sha256(pickle.dumps(value, 4)).hexdigest()
        except Exception:  # noqa: BLE001 - files, locks and the like are no constants
            text = type(value).__qualname__
        self.parts.append(f"{name}: {text}")


def code_of(function: Callable[..., Any]) -> str:
    """Hash of the source of a function and of all functions, classes and constants of the user that it uses."""
    collector = _Collector()
    collector.add(getattr(function, "__qualname__", type(function).__qualname__), function)
    return hashlib.sha256("\n".join(collector.parts).encode()).hexdigest()
