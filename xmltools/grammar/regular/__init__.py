"""Regular languages: automata, expressions, and the patterns and numbers of schemas as such."""
