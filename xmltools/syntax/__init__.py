"""How text is spelled: markup, JSON, lines. Below the parser and the renderer, which must agree on it."""
