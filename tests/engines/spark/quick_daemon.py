"""The process from which Spark forks its Python workers, for tests: what workers need is imported once, before.

After each task a worker collects garbage. With numba and pandas that takes a tenth of a second, more than most tasks of
the tests, so that it is left out.
"""

import gc

import pyspark.daemon
import pyspark.worker

import faircrowd.aggregate
import faircrowd.fair  # noqa: F401

if __name__ == "__main__":
    gc.collect = lambda generation=2: 0
    pyspark.daemon.manager()
