"""Which dialect a model writes: families of models by their names on Hugging Face, each with who says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Final, NamedTuple


class Family(NamedTuple):
    """Models that write calls in the same way."""

    dialect: str
    """The name of the dialect; empty if none is read, and `note` says why."""
    names: tuple[str, ...]
    """How names of these models begin, without the owner. `*` at the end also means later versions: `Kimi-K2*` is
    Kimi-K2.5 too, and `Qwen3` is not Qwen3.5."""
    source: str
    """The address of a page that says so."""
    ids: tuple[str, ...] = ()
    """Models of the family, with their owners."""
    note: str = ""
    """Completes the sentence "models of this family …"."""


class Match(NamedTuple):
    """The family of a model, and which of its `names` the model's name begins with."""

    name: str
    family: Family


_VLLM = "https://docs.vllm.ai/en/latest/features/tool_calling/"
_VLLM_PARSERS = "https://github.com/vllm-project/vllm/tree/main/vllm/tool_parsers/"
_RECIPES = "https://github.com/vllm-project/recipes/blob/main/models/"
_SGLANG = "https://github.com/sgl-project/sglang/blob/main/docs/advanced_features/tool_parser.ipynb"
_SGLANG_PARSERS = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/function_call/"
_COOKBOOK = "https://github.com/sgl-project/sglang/blob/main/docs_new/cookbook/autoregressive/"
_LLAMA_CPP = "https://github.com/ggml-org/llama.cpp/blob/master/"
_OLLAMA = "https://github.com/ollama/ollama/blob/main/model/parsers/"
_DYNAMO = "https://docs.nvidia.com/dynamo/v1.5.1/parsing/tool-call-parsing.md"
_SUITE = "https://github.com/redd34/canitoolcall/blob/main/docs/formats/"
_HUGGING_FACE = "https://huggingface.co/"

_PROMPTED = "were not trained to write calls"
_NO_CALLS = "write no calls"

FAMILIES: Final = (
    Family(
        "hermes",
        ("Hermes-2-Pro", "Hermes-2-Theta", "Hermes-3", "DeepHermes-3"),
        _VLLM,
        (
            "NousResearch/Hermes-2-Pro-Llama-3-8B",
            "NousResearch/Hermes-2-Pro-Mistral-7B",
            "NousResearch/Hermes-3-Llama-3.1-8B",
            "NousResearch/Hermes-3-Llama-3.1-70B",
        ),
    ),
    Family(
        "hermes",
        ("Hermes-4*",),
        _VLLM,
        ("NousResearch/Hermes-4-14B", "NousResearch/Hermes-4-70B", "NousResearch/Hermes-4.3-36B"),
    ),
    Family(
        "hermes",
        ("Qwen2.5", "QwQ"),
        _VLLM,
        (
            "Qwen/Qwen2.5-0.5B-Instruct",
            "Qwen/Qwen2.5-7B-Instruct",
            "Qwen/Qwen2.5-32B-Instruct",
            "Qwen/Qwen2.5-72B-Instruct",
            "Qwen/Qwen2.5-Coder-7B-Instruct",
            "Qwen/Qwen2.5-Coder-32B-Instruct",
            "Qwen/Qwen2.5-VL-7B-Instruct",
            "Qwen/Qwen2.5-VL-72B-Instruct",
            "Qwen/QwQ-32B",
        ),
    ),
    Family(
        "hermes",
        ("Qwen3",),
        _SUITE + "qwen3-hermes.md",
        (
            "Qwen/Qwen3-0.6B",
            "Qwen/Qwen3-1.7B",
            "Qwen/Qwen3-4B",
            "Qwen/Qwen3-4B-Instruct-2507",
            "Qwen/Qwen3-4B-Thinking-2507",
            "Qwen/Qwen3-8B",
            "Qwen/Qwen3-14B",
            "Qwen/Qwen3-32B",
            "Qwen/Qwen3-30B-A3B",
            "Qwen/Qwen3-235B-A22B-Instruct-2507",
        ),
    ),
    Family(
        "hermes",
        ("Qwen3-Next", "Qwen3-VL"),
        _SGLANG,
        (
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "Qwen/Qwen3-VL-30B-A3B-Thinking",
            "Qwen/Qwen3-VL-30B-A3B-Instruct",
            "Qwen/Qwen3-VL-235B-A22B-Instruct",
        ),
    ),
    Family(
        "",
        ("Qwen3-ASR", "Qwen3-TTS", "Qwen3Guard", "Qwen3-Embedding", "Qwen3-Reranker"),
        "https://github.com/vllm-project/recipes/tree/main/models/Qwen",
        ("Qwen/Qwen3-ASR-1.7B", "Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice", "Qwen/Qwen3Guard-Gen-8B"),
        _NO_CALLS,
    ),
    Family(
        "hermes",
        ("granite-4*",),
        _VLLM,
        (
            "ibm-granite/granite-4.0-h-small",
            "ibm-granite/granite-4.1-3b",
            "ibm-granite/granite-4.1-8b",
            "ibm-granite/granite-4.1-30b",
        ),
    ),
    Family(
        "hermes",
        ("ERNIE-4.5",),
        _VLLM_PARSERS + "ernie45_tool_parser.py",
        ("baidu/ERNIE-4.5-21B-A3B-PT", "baidu/ERNIE-4.5-300B-A47B-PT", "baidu/ERNIE-4.5-VL-28B-A3B-Thinking"),
    ),
    Family("hermes", ("reka-edge",), _LLAMA_CPP + "tests/test-chat.cpp"),
    Family("hermes", ("Kolibri-1",), _OLLAMA + "kolibri1.go"),
    Family(
        "hermes",
        ("LongCat-Flash",),
        _VLLM,
        ("meituan-longcat/LongCat-Flash-Chat", "meituan-longcat/LongCat-Flash-Chat-FP8"),
    ),
    Family(
        "hermes",
        ("EXAONE-4.0*",),
        _HUGGING_FACE + "LGAI-EXAONE/EXAONE-4.0-32B",
        ("LGAI-EXAONE/EXAONE-4.0-1.2B", "LGAI-EXAONE/EXAONE-4.0-32B", "LGAI-EXAONE/EXAONE-4.0.1-32B"),
    ),
    Family(
        "hermes",
        ("EXAONE-4.5",),
        "https://docs.tenstorrent.com/tt-awesome/models/exaone-4-5-33b/",
        ("LGAI-EXAONE/EXAONE-4.5-33B",),
    ),
    Family(
        "hermes",
        ("K-EXAONE",),
        "https://github.com/LG-AI-EXAONE/K-EXAONE/blob/main/README.md",
        ("LGAI-EXAONE/K-EXAONE-236B-A23B",),
    ),
    Family("hermes", ("SmolLM3",), _HUGGING_FACE + "HuggingFaceTB/SmolLM3-3B", ("HuggingFaceTB/SmolLM3-3B",)),
    Family(
        "hermes",
        ("Mellum2",),
        _RECIPES + "JetBrains/Mellum2-12B-A2.5B-Instruct.yaml",
        ("JetBrains/Mellum2-12B-A2.5B-Instruct", "JetBrains/Mellum2-12B-A2.5B-Thinking"),
    ),
    Family(
        "hermes",
        ("Step3-VL",),
        _COOKBOOK + "StepFun/Step3-VL-10B.mdx",
        ("stepfun-ai/Step3-VL-10B", "stepfun-ai/Step3-VL-10B-FP8"),
    ),
    Family("hermes", ("Ling-2.5",), _COOKBOOK + "InclusionAI/Ling-2.5-1T.mdx", ("inclusionAI/Ling-2.5-1T",)),
    Family(
        "hermes",
        ("Ling-2.6",),
        _COOKBOOK + "InclusionAI/Ling-2.6.mdx",
        ("inclusionAI/Ling-2.6-flash", "inclusionAI/Ling-2.6-1T"),
    ),
    Family("hermes", ("Ring-2.5",), _COOKBOOK + "InclusionAI/Ring-2.5-1T.mdx", ("inclusionAI/Ring-2.5-1T",)),
    Family("hermes", ("Trinity-Mini",), _SGLANG_PARSERS + "trinity_detector.py", ("arcee-ai/Trinity-Mini",)),
    Family("hermes", ("Falcon3",), _LLAMA_CPP + "docs/function-calling.md", ("tiiuae/Falcon3-10B-Instruct",)),
    Family(
        "qwen3_coder",
        ("Qwen3-Coder",),
        _SUITE + "qwen3-xml.md",
        (
            "Qwen/Qwen3-Coder-30B-A3B-Instruct",
            "Qwen/Qwen3-Coder-480B-A35B-Instruct",
            "Qwen/Qwen3-Coder-Next",
        ),
    ),
    Family(
        "qwen3_coder",
        ("Qwen3.5", "Qwen3.6", "Qwen3.7", "Qwen3.8"),
        _SUITE + "qwen3-xml.md",
        (
            "Qwen/Qwen3.5-0.8B",
            "Qwen/Qwen3.5-2B",
            "Qwen/Qwen3.5-4B",
            "Qwen/Qwen3.5-9B",
            "Qwen/Qwen3.5-27B",
            "Qwen/Qwen3.5-35B-A3B",
            "Qwen/Qwen3.5-122B-A10B",
            "Qwen/Qwen3.5-397B-A17B",
            "Qwen/Qwen3.6-27B",
            "Qwen/Qwen3.6-35B-A3B",
            "Qwen/Qwen3.8-27B",
            "Qwen/Qwen3.8-2.4T-A95B",
        ),
    ),
    Family(
        "qwen3_coder",
        ("Nemotron-3*",),
        _RECIPES + "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16.yaml",
        (
            "nvidia/NVIDIA-Nemotron-3-Nano-4B-BF16",
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
            "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
            "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16",
            "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16",
        ),
    ),
    Family("qwen3_coder", ("Step-3.5",), _SGLANG_PARSERS + "function_call_parser.py", ("stepfun-ai/Step-3.5-Flash",)),
    Family(
        "qwen3_coder",
        ("Step-3.7",),
        _LLAMA_CPP + "models/templates/StepFun3.7-Flash.jinja",
        ("stepfun-ai/Step-3.7-Flash",),
    ),
    Family(
        "mimo",
        ("MiMo-V2*",),
        "https://github.com/vllm-project/vllm/pull/57933",
        (
            "XiaomiMiMo/MiMo-V2-Flash",
            "XiaomiMiMo/MiMo-V2.5",
            "XiaomiMiMo/MiMo-V2.5-Pro",
            "XiaomiMiMo/MiMo-V2.5-Omni",
            "XiaomiMiMo/MiMo-V2.6-Flash-RL",
            "XiaomiMiMo/MiMo-V2.6-Pro-RL",
            "XiaomiMiMo/MiMo-V2.6-Pro-MOPD",
        ),
    ),
    Family(
        "qwen3_coder",
        ("K-EXAONE-2*",),
        "https://github.com/minpeter/ai-sdk-tool-call-middleware",
        ("LGAI-EXAONE/K-EXAONE-2.0-750B-A37B",),
    ),
    Family(
        "qwen3_coder",
        ("INTELLECT-3",),
        _HUGGING_FACE + "PrimeIntellect/INTELLECT-3",
        ("PrimeIntellect/INTELLECT-3", "PrimeIntellect/INTELLECT-3-FP8"),
    ),
    Family(
        "qwen3_coder",
        ("Trinity-Large-Thinking",),
        _RECIPES + "arcee-ai/Trinity-Large-Thinking.yaml",
        ("arcee-ai/Trinity-Large-Thinking", "arcee-ai/Trinity-Large-Thinking-NVFP4"),
    ),
    Family(
        "qwen3_coder",
        ("Intern-S2",),
        _RECIPES + "internlm/Intern-S2-Preview.yaml",
        ("internlm/Intern-S2-Preview",),
    ),
    Family(
        "qwen3_coder",
        ("MiniCPM-V-4.6",),
        _COOKBOOK + "OpenBMB/MiniCPM-V-4_6.mdx",
        ("openbmb/MiniCPM-V-4.6", "openbmb/MiniCPM-V-4.6-Thinking"),
    ),
    Family(
        "qwen3_coder",
        ("Ornith-1.0",),
        _COOKBOOK + "DeepReinforce/Ornith-1.0.mdx",
        ("deepreinforce-ai/Ornith-1.0-9B", "deepreinforce-ai/Ornith-1.0-35B", "deepreinforce-ai/Ornith-1.0-397B"),
    ),
    Family(
        "seed_oss",
        ("Seed-OSS",),
        _VLLM_PARSERS + "seed_oss_tool_parser.py",
        ("ByteDance-Seed/Seed-OSS-36B-Instruct",),
    ),
    Family(
        "glm",
        ("GLM-4.5", "GLM-4.6", "GLM-4.7", "GLM-5*"),
        _SUITE + "glm.md",
        (
            "zai-org/GLM-4.5",
            "zai-org/GLM-4.5-Air",
            "zai-org/GLM-4.5V",
            "zai-org/GLM-4.6",
            "zai-org/GLM-4.6V",
            "zai-org/GLM-4.7",
            "zai-org/GLM-4.7-Flash",
            "zai-org/GLM-5",
            "zai-org/GLM-5.1",
            "zai-org/GLM-5.2",
            "zai-org/GLM-5.3",
            "zai-org/GLM-5.3-Flash",
        ),
    ),
    Family(
        "",
        ("GLM-4-9B", "GLM-4-32B-0414", "GLM-Edge"),
        _LLAMA_CPP + "docs/function-calling.md",
        ("zai-org/glm-4-9b-hf", "THUDM/glm-4-9b-chat", "THUDM/glm-edge-1.5b-chat"),
        "write calls in an older notation, which is not read",
    ),
    Family(
        "glm",
        ("Ling-3*",),
        _RECIPES + "inclusionAI/Ling-3.0-flash.yaml",
        ("inclusionAI/Ling-3.0-flash", "inclusionAI/Ling-3.0-flash-FP8", "inclusionAI/Ling-3.0-tiny"),
    ),
    Family("glm", ("Ring-2.6",), _COOKBOOK + "InclusionAI/Ring-2.6-1T.mdx", ("inclusionAI/Ring-2.6-1T",)),
    Family(
        "glm",
        ("Laguna",),
        _VLLM_PARSERS + "poolside_v1_tool_parser.py",
        ("poolside/Laguna-M.1", "poolside/Laguna-S-2.1", "poolside/Laguna-XS.2", "poolside/Laguna-XS-2.1"),
    ),
    Family(
        "k2_horizon",
        ("K2-Horizon", "Jais-3"),
        _RECIPES + "IFM/K2-Horizon-32B.yaml",
        (
            "IFM/K2-Horizon-0.9B",
            "IFM/K2-Horizon-7B",
            "IFM/K2-Horizon-32B",
            "IFM/K2-Horizon-MoVA-36B-A4B",
            "IFM/K2-Horizon-375B-A23B",
            "IFM/Jais-3-7B",
            "IFM/Jais-3-32B",
        ),
    ),
    Family(
        "minimax_m2",
        ("MiniMax-M2*",),
        _DYNAMO,
        ("MiniMaxAI/MiniMax-M2", "MiniMaxAI/MiniMax-M2.1", "MiniMaxAI/MiniMax-M2.5", "MiniMaxAI/MiniMax-M2.7"),
    ),
    Family("minimax_m3", ("MiniMax-M3*",), _DYNAMO, ("MiniMaxAI/MiniMax-M3",)),
    Family(
        "",
        ("MiniMax-M1", "MiniMax-Text-01", "MiniMax-VL-01"),
        _VLLM_PARSERS + "minimax_tool_parser.py",
        ("MiniMaxAI/MiniMax-Text-01", "MiniMaxAI/MiniMax-VL-01"),
        "write an object of JSON a line between <tool_calls> and </tool_calls>, which is not read",
    ),
    Family(
        "invoke",
        ("dots3",),
        "https://recipes.vllm.ai/dots-studio/dots3-note-prev",
        ("dots-studio/dots3-note-prev",),
    ),
    Family(
        "deepseek_v3",
        ("DeepSeek-V3", "DeepSeek-V3.1", "DeepSeek-R1"),
        _SUITE + "deepseek.md",
        (
            "deepseek-ai/DeepSeek-V3",
            "deepseek-ai/DeepSeek-V3-0324",
            "deepseek-ai/DeepSeek-V3.1",
            "deepseek-ai/DeepSeek-V3.1-Terminus",
            "deepseek-ai/DeepSeek-R1",
            "deepseek-ai/DeepSeek-R1-0528",
        ),
    ),
    Family("deepseek_v3", ("DeepSeek-V3.2-Exp",), _SGLANG, ("deepseek-ai/DeepSeek-V3.2-Exp",)),
    Family("deepseek_v3", ("DeepSeek-V2.5",), _LLAMA_CPP + "docs/function-calling.md", ("deepseek-ai/DeepSeek-V2.5",)),
    Family("deepseek_v3", ("cogito-671b-v2", "cogito-v2.1", "cogito-2.1"), _OLLAMA + "cogito.go"),
    Family(
        "",
        ("DeepSeek-R1-Distill",),
        _LLAMA_CPP + "docs/function-calling.md",
        (
            "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
            "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
            "deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
            "deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
        ),
        _PROMPTED,
    ),
    Family(  # the same by their sizes, as Ollama calls them, and one that is a Qwen3
        "",
        (*(f"DeepSeek-R1-{size}" for size in ("1.5B", "7B", "8B", "14B", "32B", "70B")), "DeepSeek-R1-0528-Qwen3"),
        "https://ollama.com/library/deepseek-r1",
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B",),
        _PROMPTED,
    ),
    Family(
        "dsml",
        ("DeepSeek-V3.2", "DeepSeek-V4*"),
        _SUITE + "deepseek.md",
        (
            "deepseek-ai/DeepSeek-V3.2",
            "deepseek-ai/DeepSeek-V4-Flash",
            "deepseek-ai/DeepSeek-V4-Pro",
            "deepseek-ai/DeepSeek-V4.1-Flash",
        ),
    ),
    Family(
        "",
        ("DeepSeek-V3.2-Speciale",),
        _COOKBOOK + "DeepSeek/DeepSeek-V3_2.mdx",
        ("deepseek-ai/DeepSeek-V3.2-Speciale",),
        _NO_CALLS,
    ),
    Family(
        "kimi_k2",
        ("Kimi-K2*",),
        _SUITE + "kimi.md",
        (
            "moonshotai/Kimi-K2-Instruct",
            "moonshotai/Kimi-K2-Instruct-0905",
            "moonshotai/Kimi-K2-Thinking",
            "moonshotai/Kimi-K2.5",
            "moonshotai/Kimi-K2.6",
            "moonshotai/Kimi-K2.7-Code",
        ),
    ),
    Family(
        "kimi_k2",
        ("Kimi-Linear",),
        _COOKBOOK + "Moonshotai/Kimi-Linear.mdx",
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct",),
    ),
    Family("kimi_k3", ("Kimi-K3*",), _SUITE + "kimi.md", ("moonshotai/Kimi-K3",)),
    Family(
        "mistral",
        (
            "Mistral",
            "Mixtral",
            "Ministral",
            "Magistral",
            "Devstral",
            "Codestral",
            "Pixtral",
            "Voxtral",
            "open-mistral",
            "open-mixtral",
        ),
        _SUITE + "mistral.md",
        (
            "mistralai/Mistral-7B-Instruct-v0.3",
            "mistralai/Mistral-Nemo-Instruct-2407",
            "mistralai/Mistral-Large-Instruct-2407",
            "mistralai/Mistral-Large-3-675B-Instruct-2512",
            "mistralai/Mistral-Medium-3.5-128B",
            "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
            "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
            "mistralai/Mistral-Small-4-119B-2603",
            "mistralai/Ministral-3-14B-Instruct-2512",
            "mistralai/Ministral-3-14B-Reasoning-2512",
            "mistralai/Ministral-3-8B-Reasoning-2512",
            "mistralai/Magistral-Small-2506",
            "mistralai/Magistral-Small-2509",
            "mistralai/Devstral-Small-2507",
            "mistralai/Devstral-Small-2-24B-Instruct-2512",
            "mistralai/Pixtral-Large-Instruct-2411",
        ),
    ),
    Family(
        "",
        ("Mistral-7B-Instruct-v0.1", "Mistral-7B-Instruct-v0.2", "Mixtral-8x7B-Instruct-v0.1", "Codestral-22B-v0.1"),
        _LLAMA_CPP + "docs/function-calling.md",
        (
            "mistralai/Mistral-7B-Instruct-v0.1",
            "mistralai/Mistral-7B-Instruct-v0.2",
            "mistralai/Mixtral-8x7B-Instruct-v0.1",
            "mistralai/Codestral-22B-v0.1",
        ),
        _PROMPTED,
    ),
    Family(
        "harmony",
        ("gpt-oss",),
        _SUITE + "gpt-oss.md",
        (
            "openai/gpt-oss-20b",
            "openai/gpt-oss-120b",
            "openai/gpt-oss-safeguard-20b",
            "openai/gpt-oss-safeguard-120b",
            "lmsys/gpt-oss-20b-bf16",
        ),
    ),
    Family(
        "llama3_json",
        ("Llama-3.1", "Llama-3.2", "Llama-3.3"),
        _SUITE + "llama.md",
        (
            "meta-llama/Llama-3.1-8B-Instruct",
            "meta-llama/Meta-Llama-3.1-8B-Instruct",
            "meta-llama/Llama-3.2-1B-Instruct",
            "meta-llama/Llama-3.2-3B-Instruct",
            "meta-llama/Llama-3.2-11B-Vision-Instruct",
            "meta-llama/Llama-3.3-70B-Instruct",
        ),
    ),
    Family(
        "llama3_json",
        ("Llama-3.1-Nemotron-70B",),
        _LLAMA_CPP + "docs/function-calling.md",
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF",),
    ),
    Family(
        "llama3_json",
        ("Llama-xLAM", "xLAM", "Qwen-xLAM"),
        _VLLM,
        (
            "Salesforce/Llama-xLAM-2-8B-fc-r",
            "Salesforce/Llama-xLAM-2-70B-fc-r",
            "Salesforce/xLAM-2-32b-fc-r",
            "Salesforce/xLAM-1B-fc-r",
            "Salesforce/xLAM-3B-fc-r",
            "Salesforce/Qwen-xLAM-32B-fc-r",
        ),
    ),
    Family(
        "",
        ("Llama-2", "Llama-3"),
        _LLAMA_CPP + "docs/function-calling.md",
        ("meta-llama/Llama-2-7b-chat-hf", "meta-llama/Meta-Llama-3-8B-Instruct"),
        _PROMPTED,
    ),
    Family(
        "pythonic",
        ("Llama-4",),
        _VLLM,
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
    ),
    Family(
        "pythonic",
        ("Olmo-3*",),
        _VLLM,
        ("allenai/Olmo-3-7B-Instruct", "allenai/Olmo-3-32B-Think"),
    ),
    Family(
        "pythonic",
        ("ToolACE", "ultravox-v0_4-ToolACE"),
        _VLLM,
        ("Team-ACE/ToolACE-8B", "fixie-ai/ultravox-v0_4-ToolACE-8B"),
    ),
    Family(
        "lfm2",
        ("LFM2*",),
        _VLLM_PARSERS + "lfm2_tool_parser.py",
        (
            "LiquidAI/LFM2.5-230M",
            "LiquidAI/LFM2.5-350M",
            "LiquidAI/LFM2.5-1.2B-Instruct",
            "LiquidAI/LFM2.5-1.2B-Thinking",
            "LiquidAI/LFM2.5-8B-A1B",
            "LiquidAI/LFM2.5-VL-1.6B",
        ),
    ),
    Family(
        "gemma",
        ("gemma-4",),
        _SUITE + "gemma4.md",
        (
            "google/gemma-4-E2B-it",
            "google/gemma-4-E4B-it",
            "google/gemma-4-12B-it",
            "google/gemma-4-26B-A4B-it",
            "google/gemma-4-31B-it",
        ),
    ),
    Family("gemma", ("functiongemma",), _VLLM, ("google/functiongemma-270m-it",)),
    Family(
        "",
        ("gemma-2b", "gemma-7b", "gemma-1.1", "gemma-2", "gemma-3"),
        _SUITE + "gemma4.md",
        (
            "google/gemma-7b-it",
            "google/gemma-2-2b-it",
            "google/gemma-2-27b-it",
            "google/gemma-3-4b-it",
            "google/gemma-3-12b-it",
            "google/gemma-3n-E4B-it",
        ),
        _PROMPTED,
    ),
    Family("step3", ("step3", "Step-3"), _SGLANG),
    Family("hunyuan", ("Hunyuan-A13B",), _VLLM, ("tencent/Hunyuan-A13B-Instruct",)),
    Family(
        "hunyuan",
        ("Hy3", "Hy-V3"),
        _VLLM_PARSERS + "hy_v3_tool_parser.py",
        ("tencent/Hy3", "tencent/Hy3-preview"),
    ),
    Family(
        "hunyuan",
        ("Hy4", "Hy-V4"),
        _RECIPES + "tencent/Hy4-preview.yaml",
        ("tencent/Hy4-preview", "tencent/Hy4-preview-FP8"),
    ),
    Family(
        "nemotron_nano",
        ("Nemotron-Nano-9B-v2", "Nemotron-Nano-12B-v2"),
        _RECIPES + "nvidia/NVIDIA-Nemotron-Nano-9B-v2.yaml",
        (
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2-FP8",
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2-Japanese",
            "nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL-BF16",
        ),
    ),
    Family(
        "nemotron_nano",
        ("Llama-3.3-Nemotron-Super", "Llama-3.1-Nemotron-Ultra"),
        _LLAMA_CPP + "models/templates/nvidia-Llama-3_3-Nemotron-Super-49B-v1_5.jinja",
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1_5",),
    ),
    Family(
        "nemotron_nano",
        ("Jamba",),
        _VLLM,
        ("ai21labs/AI21-Jamba-1.5-Mini", "ai21labs/AI21-Jamba-1.5-Large"),
    ),
    Family("nemotron_nano", ("Apriel-1.5",), _LLAMA_CPP + "models/templates/unsloth-Apriel-1.5.jinja"),
    Family(
        "granite",
        ("granite-3*",),
        _VLLM,
        (
            "ibm-granite/granite-3.0-8b-instruct",
            "ibm-granite/granite-3.1-8b-instruct",
            "ibm-granite/granite-3.2-2b-instruct",
        ),
    ),
    Family(
        "",
        ("granite-20b-functioncalling",),
        _VLLM,
        ("ibm-granite/granite-20b-functioncalling",),
        "write <function_call> before each call, which is not read",
    ),
    Family(
        "cohere",
        ("command-a", "c4ai-command-a"),
        _VLLM,
        ("CohereLabs/command-a-reasoning-08-2025",),
    ),
    Family(
        "cohere",
        ("command-a-plus",),
        _COOKBOOK + "Cohere/Command-A-Plus.mdx",
        (
            "CohereLabs/command-a-plus-05-2026-bf16",
            "CohereLabs/command-a-plus-05-2026-fp8",
            "CohereLabs/command-a-plus-05-2026-w4a4",
        ),
    ),
    Family(
        "cohere",
        ("command-r7b", "c4ai-command-r7b"),
        _LLAMA_CPP + "docs/function-calling.md",
        ("CohereForAI/c4ai-command-r7b-12-2024",),
    ),
    Family(
        "cohere",
        ("North-Mini-Code",),
        _RECIPES + "CohereLabs/North-Mini-Code-1.0.yaml",
        ("CohereLabs/North-Mini-Code-1.0", "CohereLabs/North-Mini-Code-1.0-fp8"),
    ),
    Family(
        "",
        ("command-r", "c4ai-command-r", "aya-expanse"),
        _LLAMA_CPP + "docs/function-calling.md",
        ("CohereForAI/c4ai-command-r-plus", "CohereForAI/aya-expanse-8b"),
        "write calls in no notation that is read",
    ),
    Family(
        "phi4mini",
        ("Phi-4-mini",),
        _DYNAMO,
        ("microsoft/Phi-4-mini-instruct", "microsoft/Phi-4-mini-reasoning"),
    ),
    Family(
        "",
        ("Phi-3", "Phi-3.5"),
        _LLAMA_CPP + "docs/function-calling.md",
        ("microsoft/Phi-3-mini-4k-instruct", "microsoft/Phi-3.5-mini-instruct"),
        _PROMPTED,
    ),
    Family(
        "internlm2",
        ("internlm2", "internlm2.5"),
        _VLLM,
        ("internlm/internlm2-chat-7b", "internlm/internlm2_5-7b-chat"),
    ),
    Family(
        "internlm2",
        ("internlm3",),
        "https://github.com/InternLM/lmdeploy",
        ("internlm/internlm3-8b-instruct",),
    ),
    Family(
        "internlm2",
        ("Intern-S1",),
        _RECIPES + "internlm/Intern-S1.yaml",
        ("internlm/Intern-S1", "internlm/Intern-S1-FP8"),
    ),
    Family(
        "gigachat3",
        ("GigaChat3", "GigaChat3.1"),
        _VLLM,
        (
            "ai-sage/GigaChat3-10B-A1.8B",
            "ai-sage/GigaChat3-10B-A1.8B-bf16",
            "ai-sage/GigaChat3-702B-A36B-preview",
            "ai-sage/GigaChat3-702B-A36B-preview-bf16",
        ),
    ),
    Family(
        "",
        ("GigaChat3.5",),
        _VLLM_PARSERS + "gigachat35_tool_parser.py",
        (),
        "write <｜GCML｜tool_calls>, which is not read",
    ),
    Family("minicpm5", ("MiniCPM5",), _COOKBOOK + "OpenBMB/MiniCPM5-1B.mdx", ("openbmb/MiniCPM5-1B",)),
    Family(
        "apertus",
        ("Apertus",),
        _VLLM,
        ("swiss-ai/Apertus-8B-Instruct-2509", "swiss-ai/Apertus-70B-Instruct-2509"),
    ),
    Family(
        "",
        ("Solar-Open2",),
        _VLLM,
        ("upstage/Solar-Open2-250B",),
        "write <|tool_call:start|>, which is not read",
    ),
    Family(
        "",
        ("Inkling",),
        _SGLANG_PARSERS + "inkling_detector.py",
        ("thinkingmachines/Inkling",),
        "write calls in a notation of their own, which is not read",
    ),
    Family(
        "",
        ("functionary",),
        _LLAMA_CPP + "docs/function-calling.md",
        ("meetkai/functionary-medium-v3.1", "meetkai/functionary-medium-v3.2"),
        "write calls in a notation of their own, which is not read",
    ),
)
"""The source says how the family writes calls. The ids are from there, or from vLLM's recipes, SGLang's cookbook,
llama.cpp's list of templates or the launch commands of users."""

_COPIERS: Final = ("huihui", "josiefied")
"""Words that people who copy models put before their names, beside the name of the owner."""
_OWNER_WORDS: Final = 5
"""How many such words there may be: `ai21labs_AI21-Jamba` has five."""


def family_of(model: str) -> Family | None:
    """Return the family of a model, by its name on Hugging Face or in Ollama, or of a copy; None if it is not known."""
    found = match_of(model)
    return found.family if found else None


def match_of(model: str) -> Match | None:
    """Return what a name matches in the table, as `family_of` finds it; None if it is not known."""
    words = _words(model.strip("/ ").rpartition("/")[2])
    for start in range(_OWNER_WORDS + 1):
        name = "-".join(words[start:])
        found = [prefix for prefix in _prefixes() if prefix.begins(name)]
        if found:
            best = max(found, key=lambda each: len(each.text))  # what says most of the name
            return Match(best.name, best.family)
        if words[start : start + 1] and words[start] not in _owners():
            return None
    return None


def near_models(model: str) -> list[tuple[str, str]]:
    """Return up to three models of the table whose names are like this one, each with its dialect."""
    names = {
        "-".join(_words(each.rpartition("/")[2])): (each, family.dialect)
        for family in FAMILIES
        if family.dialect
        for each in family.ids
    }
    found = get_close_matches("-".join(_words(model.rpartition("/")[2])), names, n=3, cutoff=0.75)
    return [names[each] for each in found]


def ids_of(dialect: str) -> tuple[str, ...]:
    """Return the models of the table that write a dialect."""
    return tuple(each for family in FAMILIES if family.dialect == dialect for each in family.ids)


def _words(name: str) -> list[str]:
    """The letters and the numbers of a name, in lower case: `Llama-3_3-Nemotron` is llama, 3.3, nemotron."""
    return re.findall(r"[^\W\d_]+|\d+(?:\.\d+)*", re.sub(r"(?<=\d)_(?=\d)", ".", name.lower()))


class _Prefix(NamedTuple):
    name: str
    text: str
    takes_later: bool
    family: Family

    def begins(self, name: str) -> bool:
        """Whether a name begins with these words."""
        rest = name[len(self.text) :]
        return name.startswith(self.text) and (rest[:1] in ("", "-") or (self.takes_later and rest[0] == "."))


@cache
def _prefixes() -> tuple[_Prefix, ...]:
    return tuple(
        _Prefix(name, "-".join(_words(name)), name.endswith("*"), family)
        for family in FAMILIES
        for name in family.names
    )


@cache
def _owners() -> frozenset[str]:
    """Words that may stand before a name: those of owners, as in `NVIDIA-Nemotron-3` and `zai-org_GLM-4.5`."""
    return frozenset([*_COPIERS, *_owner_words()])


def _owner_words() -> Iterator[str]:
    for family in FAMILIES:
        for each in family.ids:
            yield from _words(each.partition("/")[0])
