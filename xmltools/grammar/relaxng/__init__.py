"""Tools as RELAX NG schemas."""
