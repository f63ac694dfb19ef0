"""The intermediate form as GBNF, Lark, a regular expression or a structural tag."""
