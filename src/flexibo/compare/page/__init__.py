"""The parts of a comparison's report: outcomes, looks, axes, panels, sections; the page's style and script."""
