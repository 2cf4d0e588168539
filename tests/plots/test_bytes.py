"""The same data give the same bytes, whatever the user's settings, time zone and locale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import locale, sys
from pathlib import Path
locale.setlocale(locale.LC_ALL, "")
from iot2.benchmark.storage import platform_folders, read_platform
from iot2.plots.comparison import comparison_figure
from iot2.plots.performance import performance_figure
from iot2.plots.style import save_figure
from iot2.plots.summary import write_summary
folder = Path(sys.argv[2])
platforms = [read_platform(folder) for folder in platform_folders(sys.argv[1])]
performance_figure(platforms, folder)
comparison_figure(platforms, folder)
write_summary(platforms, folder)
save_figure(lambda figure: figure.add_subplot().plot([0, 1500]), folder / "f.png")
"""

MATPLOTLIBRC = """
font.family: monospace
font.size: 14
axes.formatter.use_locale: True
axes.prop_cycle: cycler(color=['red'])
pdf.fonttype: 3
pdf.compression: 0
savefig.bbox: tight
savefig.dpi: 37
figure.autolayout: True
timezone: Asia/Tokyo
backend: svg
"""


def draw(performances: Path, out: Path, **environment: str) -> dict[str, bytes]:
    # One matplotlib cache for all: a cold one costs seconds and is not what is tested.
    kept = {k: os.environ[k] for k in ("HOME", "PATH", "MPLCONFIGDIR") if k in os.environ}
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(performances), str(out)],
        cwd=ROOT,
        env={**kept, **environment},
        check=True,
    )
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


@pytest.fixture(scope="module")
def plain(performances, tmp_path_factory):
    return draw(performances, tmp_path_factory.mktemp("plain"), LC_ALL="C", TZ="UTC")


def test_everything_is_drawn(plain):
    assert list(plain) == [
        "comparison_sOT.pdf",
        "comparison_sOT.png",
        "f.png",
        "performance_receiver.pdf",
        "performance_receiver.png",
        "summary.csv",
        "summary.md",
        "summary.tex",
    ]
    assert all(plain.values())


def test_settings_and_time_zone_do_not_show(performances, plain, tmp_path):
    rc = tmp_path / "matplotlibrc"
    rc.write_text(MATPLOTLIBRC)
    changed = draw(
        performances,
        tmp_path / "out",
        MATPLOTLIBRC=str(rc),
        TZ="Pacific/Kiritimati",
        SOURCE_DATE_EPOCH="86400",
        PYTHONHASHSEED="7",
        LC_ALL="C.UTF-8",
        COLUMNS="40",
    )
    assert changed == plain


def test_a_locale_with_commas_does_not_show(performances, plain, tmp_path):
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("needs localedef and the sources of a locale")
    subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")], check=True
    )
    rc = tmp_path / "matplotlibrc"
    rc.write_text("axes.formatter.use_locale: True\n")
    changed = draw(
        performances,
        tmp_path / "out",
        LOCPATH=str(tmp_path),
        LC_ALL="de_DE.UTF-8",
        MATPLOTLIBRC=str(rc),
        TZ="Europe/Berlin",
    )
    assert changed == plain
