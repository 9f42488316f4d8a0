# SPDX-License-Identifier: Apache-2.0
from typing import Any

from typing_extensions import Unpack

from ._option_types import OptionsWithoutRtol

def paths() -> dict[str, str]: ...
def solve(A: Any, b: Any, *, rtol: float | None = None, **options: Unpack[OptionsWithoutRtol]) -> Any: ...
