"""Appearance of the explorer's charts: page colours, fonts, axes."""

from dataclasses import dataclass
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ContinuousTicker
from bokeh.plotting import figure

__all__ = ["MARKERS", "Look"]

MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex", "plus", "x")
"""Markers of groups, so that groups differ by more than their colour."""

_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5508c", "#b07900", "#2f8fc4", "#626c78", "#7a4a1d")
_DARK = ("#56b4e9", "#ff8f47", "#3ddcaa", "#e79ac6", "#f0c04a", "#8fd0f5", "#b5bfcb", "#c99362")


@dataclass(frozen=True)
class Look:
    """Appearance that the browser requests.

    Parameters
    ----------
    dark : bool
        Whether the page is dark.
    narrow : bool
        Whether the window is that of a phone.
    """

    dark: bool = False
    narrow: bool = False

    @property
    def ink(self) -> str:
        """Colour of text."""
        return "#e4e8ee" if self.dark else "#1d2530"

    @property
    def soft(self) -> str:
        """Colour of secondary text."""
        return "#a9b3c0" if self.dark else "#55606e"

    @property
    def line(self) -> str:
        """Colour of grid lines."""
        return "#363e49" if self.dark else "#dfe3e8"

    @property
    def card(self) -> str:
        """Background colour."""
        return "#1b2129" if self.dark else "#ffffff"

    @property
    def colours(self) -> tuple[str, ...]:
        """Colours of groups."""
        return _DARK if self.dark else _LIGHT

    def figure(self, height: int, **given: Any) -> Any:
        """Return an empty figure that fills the width of its container."""
        plot = figure(
            height=height,
            sizing_mode="stretch_width",
            toolbar_location=None,
            background_fill_color=self.card,
            border_fill_color=self.card,
            outline_line_color=None,
            min_border_right=14,
            **given,
        )
        for axis in plot.axis:
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_color = axis.major_label_text_color = self.ink
            axis.axis_label_text_font_size = "13px"
            axis.major_label_text_font_size = "12px"
            axis.axis_label_text_font = axis.major_label_text_font = "system-ui, sans-serif"
            axis.axis_line_color = axis.major_tick_line_color = self.soft
            axis.minor_tick_line_color = None
            if self.narrow and isinstance(axis.ticker, ContinuousTicker):
                axis.ticker.desired_num_ticks = 4
        plot.grid.grid_line_color = self.line
        return plot

    def legend(self, plot: Any) -> None:
        """Style the legend of a figure like the page; the legend must have been placed."""
        legend = plot.legend
        legend.label_text_color = self.ink
        legend.label_text_font_size = "12px"
        legend.label_text_font = "system-ui, sans-serif"
        legend.background_fill_color = legend.border_line_color = None
        legend.padding, legend.margin, legend.spacing = 0, 4, 12
        legend.label_standoff = 4

    @staticmethod
    def item(plot: Any) -> dict[str, Any]:
        """Return a figure in the form that ``Bokeh.embed.embed_item`` takes."""
        return {**json_item(plot)}
