import os
import re
import shutil
import zlib

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb
from PIL import Image

from iot2.errors import ParameterError
from iot2.plots import style
from iot2.plots.style import COLUMN_WIDTH, SERIES, TEXT_WIDTH, figure_style, save_figure


def draw(figure):
    axes = figure.add_subplot()
    for place, series in enumerate(SERIES):
        axes.plot([1, 2], [place, place + 1], label="µs", **series.line(hollow=place % 2 == 0))
        axes.bar(place, 1, **series.bar())
    axes.set_title("title")


def page(data: bytes) -> tuple[float, float]:
    _, _, width, height = map(float, re.search(rb"/MediaBox \[ *([^\]]*)\]", data)[1].split())
    return width / 72, height / 72


@pytest.mark.parametrize("width", [COLUMN_WIDTH, TEXT_WIDTH])
def test_a_pdf_has_its_width_and_embedded_truetype(tmp_path, width):
    saved = save_figure(draw, tmp_path / "new" / "f.pdf", width=width, height=2)
    data = saved.path.read_bytes()
    assert saved.size == len(data)
    assert page(data) == pytest.approx((width, 2))
    assert b"/Subtype /CIDFontType2" in data
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert set(re.findall(rb"/BaseFont /(?:[A-Z]{6}\+)?([\w-]+)", data)) == {
        b"DejaVuSans",
        b"DejaVuSans-Bold",
    }


def test_a_pdf_tells_neither_when_nor_with_what_it_was_made(tmp_path):
    data = save_figure(draw, tmp_path / "f.pdf").path.read_bytes()
    assert b"/CreationDate (D:20260101000000Z)" in data
    assert mpl.__version__.encode() not in data


def test_a_png_has_300_dots_per_inch_and_no_metadata(tmp_path):
    saved = save_figure(draw, tmp_path / "f.png", width=COLUMN_WIDTH, height=2)
    with Image.open(saved.path) as image:
        assert image.size == (round(COLUMN_WIDTH * 300), 600)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert set(image.info) == {"dpi"}


def test_a_notebook_shows_a_picture_of_it(tmp_path):
    saved = save_figure(draw, tmp_path / "f.pdf")
    assert saved._repr_png_().startswith(b"\x89PNG")
    assert "PNG" not in repr(saved)


def test_another_format_is_refused_before_anything_is_drawn(tmp_path):
    with pytest.raises(ParameterError, match=r"\.pdf or \.png, not '\.svg'"):
        save_figure(pytest.fail, tmp_path / "f.svg")


def test_a_figure_that_cannot_be_drawn_leaves_the_old_one(tmp_path):
    path = tmp_path / "f.pdf"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        save_figure(lambda figure: 1 / 0, path)
    assert path.read_bytes() == b"old"


def test_the_users_settings_neither_matter_nor_change(tmp_path):
    plain = save_figure(draw, tmp_path / "a.pdf").path.read_bytes()
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "pdf.fonttype": 3}):
        before = dict(mpl.rcParams)
        assert save_figure(draw, tmp_path / "b.pdf").path.read_bytes() == plain
        assert dict(mpl.rcParams) == before


def test_a_systems_copy_of_the_font_is_not_used(tmp_path, monkeypatch):
    bundled = os.path.join(mpl.get_data_path(), "fonts")
    manager = font_manager.fontManager
    before = list(manager.ttflist)
    copy = shutil.copy(font_manager.findfont(style.FONT), tmp_path)
    monkeypatch.setattr(manager, "ttflist", [])
    manager.addfont(copy)
    manager.ttflist += before
    try:
        assert font_manager.findfont(style.FONT) == copy
        with figure_style():
            assert font_manager.findfont(style.FONT).startswith(bundled)
        assert copy in [font.fname for font in manager.ttflist]
    finally:
        monkeypatch.undo()
        manager._findfont_cached.cache_clear()


def test_neighbours_in_the_palette_differ_in_grey():
    grey = [np.dot((0.299, 0.587, 0.114), to_rgb(series.color)) for series in SERIES[:5]]
    assert grey == sorted(grey)
    assert min(np.diff(grey)) > 0.08
    for marks in zip(*((s.marker, s.linestyle, s.hatch) for s in SERIES), strict=True):
        assert len(set(marks)) == len(SERIES)


def test_the_streams_of_a_pdf_hold_text_and_not_outlines(tmp_path):
    data = save_figure(draw, tmp_path / "f.pdf").path.read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    texts = []
    for stream in streams:
        try:
            texts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    assert any(b" Tf" in text and b"BT" in text for text in texts)
