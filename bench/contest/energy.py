# SPDX-License-Identifier: Apache-2.0
"""Joules that a GPU has taken, by NVML, or a host, by RAPL; None where neither is readable."""
import ctypes
import pathlib


class Meter:
    """Counts of energy: `read()` in joules since some time."""

    def __init__(self, on_gpu):
        self.handle, self.library, self.files = ctypes.c_void_p(), None, []
        if on_gpu:
            self.open_nvml()
        else:
            self.files = [path for path in pathlib.Path("/sys/class/powercap").glob("intel-rapl:?/energy_uj")
                          if self.readable(path)]

    @staticmethod
    def readable(path):
        try:
            return path.read_text().strip().isdigit()
        except OSError:
            return False

    def open_nvml(self):
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        if library.nvmlInit_v2() == 0 and library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle)) == 0:
            self.library = library

    def read(self):
        if self.library:
            millijoules = ctypes.c_ulonglong()
            code = self.library.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(millijoules))
            return 1e-3 * millijoules.value if code == 0 else None
        if self.files:
            return 1e-6 * sum(int(path.read_text()) for path in self.files)
        return None
