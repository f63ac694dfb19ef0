"""Tool parsers and reasoning parsers for vLLM and SGLang, which load them by the entry points of this package.

`names` says how they are called: `xmltools_DIALECT` streams the arguments of a call while the model writes them,
`xmltools_DIALECT_whole` sends a call when it is complete and right. `replies` reads text for both engines and knows
neither; `vllm`, `vllm_parsers` and `sglang`, `sglang_detectors` know one each, and are imported by that engine only.
"""
