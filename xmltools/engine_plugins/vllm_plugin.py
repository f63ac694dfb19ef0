"""The file for `--tool-parser-plugin` and `--reasoning-parser-plugin`, where vLLM does not load entry points.

vLLM takes a module's name or a file's path. Importing it adds the parsers of both kinds, or
raises `XMLToolsError`. A file that is loaded by its path must not be called `vllm.py`: it would stand in for vLLM.
"""

from xmltools.engine_plugins.vllm import register

register()
