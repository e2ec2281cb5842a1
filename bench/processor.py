"""What the benchmarks in Python have in common."""
import platform


def processor():
    """The processor's name, as the kernel says it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()
