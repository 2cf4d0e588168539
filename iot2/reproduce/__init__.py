"""Running the notebooks: one by hand, or all of them with a verdict on each figure.

- `iot2.reproduce.parameters`: what a notebook may be given, and the check that
  every notebook makes first.
- `iot2.reproduce.running`: one notebook, in a kernel of this interpreter.
- `iot2.reproduce.catalogue`: the notebooks and what each draws from what.
- `iot2.reproduce.figures`: all of them, from stored data to a table of figures.
"""

from iot2.reproduce.parameters import check_parameters

__all__ = ["check_parameters"]
