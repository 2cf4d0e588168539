"""Measuring the protocol: raw samples in, CSV files and a platform record out.

`iot2 bench` measures and writes a folder under `performances/`; everything
that draws or tabulates reads such a folder with
`iot2.benchmark.storage.read_platform`. What the files hold, column by column,
is `iot2.benchmark.schema`.
"""
