"""Charts as SVG that is part of the page: as wide as it is shown, in its colours, and without a script."""
