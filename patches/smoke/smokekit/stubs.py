"""Stand-ins for packages that sglang imports and a machine without a GPU lacks.

Only a package of the allow-list that is not installed is replaced; sgl_kernel is also
replaced where it is installed but no GPU is there to load it. In a real image nothing is.
The list is short on purpose: transformers asks "is X installed?" for many packages, and a
stub that answers yes to a question nobody needed leads it astray.
"""

from __future__ import annotations

import asyncio
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterable

OPTIONAL = (
    "IPython",
    "PIL",
    "compressed_tensors",
    "fastapi",
    "gguf",
    "openai",
    "prometheus_client",
    "sentencepiece",
    "torchvision",
    "triton",
    "tvm_ffi",
    "uvicorn",
    "uvloop",
    "xgrammar",
)
NEEDS_GPU = ("sgl_kernel",)


def is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class StubMeta(type):
    """Makes a stub usable as a class: as a base, in `X | None`, in isinstance, subscripted."""

    def __getattr__(cls, name: str):
        if is_dunder(name):
            raise AttributeError(name)
        value = new_stub(name, cls.__module__)
        setattr(cls, name, value)
        return value

    def __getitem__(cls, item):
        return cls

    def __iter__(cls):
        return iter(())


class Stub(metaclass=StubMeta):
    """An object that takes any call; used as a decorator it hands the function back."""

    def __new__(cls, *args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType):
            return args[0]
        return object.__new__(cls)

    def __init__(self, *args, **kwargs) -> None:
        pass

    def __init_subclass__(cls, **kwargs) -> None:
        pass

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        from pydantic_core import core_schema

        return core_schema.any_schema()

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]
        return Stub()

    def __getattr__(self, name: str):
        if is_dunder(name):
            raise AttributeError(name)
        return new_stub(name, __name__)

    def __getitem__(self, item):
        return Stub()

    def __iter__(self):
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __enter__(self):
        return self

    def __exit__(self, *exc) -> bool:
        return False


def new_stub(name: str, module: str) -> StubMeta:
    return StubMeta(name, (Stub,), {"__module__": module})


class HTTPException(Exception):
    """fastapi's: raised, so a stub will not do."""

    def __init__(self, status_code: int, detail: str | None = None, headers=None) -> None:
        super().__init__(status_code, detail)
        self.status_code = status_code
        self.detail = detail


class NoDriver:
    """Triton without a GPU: asking for the active driver raises, and callers count on it."""

    @property
    def active(self):
        raise RuntimeError("0 active drivers")


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of the named top-level packages and fills it on demand."""

    def __init__(self, packages: Iterable[str]) -> None:
        self.packages = frozenset(packages)

    def find_spec(self, fullname: str, path=None, target=None):
        if fullname.partition(".")[0] not in self.packages:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__version__ = "0.0.0"
        module.__path__ = []

        def fill(name: str):
            if is_dunder(name):
                raise AttributeError(name)
            value = new_stub(name, module.__name__)
            setattr(module, name, value)
            return value

        module.__getattr__ = fill
        if module.__name__ == "triton":
            module.__version__ = "3.6.0"
            module.runtime = importlib.import_module("triton.runtime")
        elif module.__name__ == "triton.runtime":
            module.driver = NoDriver()
        elif module.__name__ == "fastapi":
            module.HTTPException = HTTPException
        elif module.__name__ == "uvloop":
            module.EventLoopPolicy = asyncio.DefaultEventLoopPolicy


def is_missing(package: str) -> bool:
    return package not in sys.modules and importlib.util.find_spec(package) is None


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def install() -> tuple[str, ...]:
    """Put the stubs that this machine needs in place; return their names."""
    packages = [name for name in OPTIONAL if is_missing(name)]
    packages += [name for name in NEEDS_GPU if is_missing(name) or not has_gpu()]
    if packages:
        sys.meta_path.insert(0, StubFinder(packages))
    return tuple(packages)
