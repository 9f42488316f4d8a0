# SPDX-License-Identifier: Apache-2.0
from typing import Any

def solve(A: Any, b: Any, *, rtol: float = 1e-10, **options: Any) -> Any: ...
