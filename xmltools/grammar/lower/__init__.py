"""Tools to one intermediate form, which every printer reads."""
