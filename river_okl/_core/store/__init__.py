"""Where arrays are kept: declared once, then grown, moved, saved and merged by their declaration."""
