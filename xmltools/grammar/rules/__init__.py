"""From tools to the rules of a grammar: one intermediate form, which every printer reads."""
