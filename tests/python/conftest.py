"""Set before any test module imports Polars, which reads it once: Polars has no type for Parquet's
INTERVAL, and without this gives up on a file that has one."""

import os

os.environ["POLARS_IMPORT_INTERVAL_AS_STRUCT"] = "1"
