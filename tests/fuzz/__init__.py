"""Fuzzing as evidence: what is tried, by which laws, and the record of it (`python tests/fuzz --help`).

- `tokens` makes short documents of the protocol's alphabet, document i always the same; `quick` reads each of them
  whole and cut in one way, and holds a share of them to each of the other laws: thousands a second.
- `deep` tries long documents by all laws in all cuts, calls that are written and read back, and walks through grammars.
- `targets` are functions of bytes for atheris, which looks for what its mutations reach (`coverage`, seeds in `seeds`).
- `judged` holds replies with one broken thing (`breaks`), and valid ones, to what can be told of calls whose words come
  only once (`worded`).
- `against` compares two versions of the parser on random `replies` of all kinds: `record` is what each says of one.
- `evidence` keeps what was run in `evidence.json`, findings too, and makes `EVIDENCE.md` of it.
"""
