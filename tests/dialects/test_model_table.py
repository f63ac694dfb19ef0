"""The table of models: every one resolves to its dialect, as itself, as a copy, and as Ollama calls it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xmltools import dialects
from xmltools.dialects import FAMILIES, Family
from xmltools.dialects.models import family_of
from xmltools.errors import XMLToolsError

RULES = Path(__file__).parents[2] / "grammars/DIALECTS.md"
IDS = [(each, family) for family in FAMILIES for each in family.ids]
READ = [(each, family) for each, family in IDS if family.dialect]
NAMES = {
    "hermes": """
        NousResearch/Hermes-2-Pro-Llama-3-8B NousResearch/Hermes-3-Llama-3.1-70B-FP8 NousResearch/Hermes-4-14B
        NousResearch/Hermes-4-70B-FP8 NousResearch/Hermes-4.3-36B hermes3:8b
        nousresearch/deephermes-3-llama-3-8b-preview Qwen/Qwen2.5-7B-Instruct Qwen/Qwen2.5-14B-Instruct-1M
        Qwen/Qwen2.5-Coder-32B-Instruct Qwen/Qwen2.5-VL-3B-Instruct mlx-community/Qwen2.5-VL-7B-Instruct-8bit
        huihui-ai/Qwen2.5-14B-Instruct-1M-abliterated
        mlx-community/Josiefied-Qwen2.5-0.5B-Instruct-abliterated-v1-float32 qwen2.5:7b qwen2.5-coder:32b Qwen/QwQ-32B
        Qwen/QwQ-32B-Preview qwq:32b Qwen/Qwen3-0.6B Qwen/Qwen3-4B-Thinking-2507 Qwen/Qwen3-8B unsloth/Qwen3-8B-GGUF
        Qwen/Qwen3-14B-AWQ lmstudio-community/Qwen3-32B-MLX-4bit furiosa-ai/Qwen3-32B-FP8 qwen3:30b-a3b
        bartowski/Qwen_Qwen3-8B-GGUF hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M Qwen3-8B-Q4_K_M.gguf /models/Qwen3-8B/
        Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 Qwen/Qwen3-Next-80B-A3B-Instruct Qwen/Qwen3-VL-2B-Instruct
        Qwen/Qwen3-VL-235B-A22B-Instruct qwen3-vl:8b qwen3-next:80b ibm-granite/granite-4.0-h-small
        ibm-granite/granite-4.1-3b granite4:3b
        rekaai/reka-edge meituan-longcat/LongCat-Flash-Chat-FP8 LGAI-EXAONE/EXAONE-4.0.1-32B
        mlx-community/EXAONE-4.0-32B-4bit LGAI-EXAONE/EXAONE-4.5-33B LGAI-EXAONE/K-EXAONE-236B-A23B
        furiosa-ai/K-EXAONE-236B-A23B-NVFP4A16 HuggingFaceTB/SmolLM3-3B mlx-community/SmolLM3-3B-3bit
        JetBrains/Mellum2-12B-A2.5B-Thinking stepfun-ai/Step3-VL-10B-FP8 inclusionAI/Ling-2.6-flash
        inclusionAI/Ring-2.5-1T tiiuae/Falcon3-10B-Instruct XiaomiMiMo/MiMo-VL-7B-RL-2508
        speakleash/Bielik-11B-v3.0-Instruct""",
    "qwen3_coder": """
        Qwen/Qwen3-Coder-30B-A3B-Instruct Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8 Qwen/Qwen3-Coder-Next
        unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF qwen3-coder:30b qwen3-coder-next:q8_0 Qwen/Qwen3.5-9B
        Qwen/Qwen3.5-35B-A3B unsloth/Qwen3.5-27B-GGUF qwen3.5:9b Qwen/Qwen3.6-35B-A3B nvidia/Qwen3.6-35B-A3B-NVFP4
        Qwen/Qwen3.8-27B Qwen/Qwen3.8-27B-INT4 Qwen/Qwen3.8-2.4T-A95B nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16
        nemotron-3-nano:30b nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4
        nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16 unsloth/Nemotron-3-Nano-30B-A3B-GGUF
        stepfun-ai/Step-3.5-Flash stepfun-ai/Step-3.7-Flash stepfun-ai/Step-5 Nanbeige/Nanbeige4.2-3B
        LGAI-EXAONE/K-EXAONE-2.0-750B-A37B PrimeIntellect/INTELLECT-3-FP8 arcee-ai/Trinity-Large-Thinking-NVFP4
        internlm/Intern-S2-Preview openbmb/MiniCPM-V-4.6-Thinking deepreinforce-ai/Ornith-1.0-35B-FP8""",
    "glm": """
        zai-org/GLM-4.5 zai-org/GLM-4.5-Air-FP8 zai-org/GLM-4.5V bartowski/zai-org_GLM-4.5-Air-GGUF zai-org/GLM-4.6
        unsloth/GLM-4.6-GGUF zai-org/GLM-4.7-Flash glm-4.7-flash mlx-community/GLM-4.7-Flash-4bit zai-org/GLM-5
        zai-org/GLM-5.3-Flash glm-5:cloud inclusionAI/Ling-3.0-flash-FP8 inclusionAI/Ring-2.6-1T poolside/Laguna-XS.2
        poolside/Laguna-S-2.1 XHToken/Spark-X2.5-4B""",
    "iquest_q1": "IQuestLab/IQuest-Q1 iquest-q1",
    "muse": "meta-models/Muse-Spark-Open-816B-A42B meta-models/Muse-Glimmer-30B unsloth/Muse-Glimmer-30B-GGUF",
    "inkling": "thinkingmachines/Inkling thinkingmachines/Inkling-Small thinkingmachines/Inkling-2-Mini",
    "ernie": "baidu/ERNIE-4.5-21B-A3B-PT baidu/ERNIE-4.5-21B-A3B-Thinking baidu/ERNIE-4.5-VL-28B-A3B-Thinking",
    "beam": "reflection/Beam-1.0-501B-A23B",
    "mirothinker": "miromind-ai/MiroThinker-v1.0-30B miromind-ai/MiroThinker-1.7-mini",
    "k2_horizon": "IFM/K2-Horizon-32B IFM/K2-Horizon-375B-A23B IFM/Jais-3-7B",
    "minimax_m1": "MiniMaxAI/MiniMax-M1-80k MiniMaxAI/MiniMax-Text-01 MiniMaxAI/MiniMax-VL-01",
    "minimax_m2": "MiniMaxAI/MiniMax-M2 MiniMaxAI/MiniMax-M2.5 unsloth/MiniMax-M2.1-GGUF minimax-m2.7:cloud",
    "minimax_m3": "MiniMaxAI/MiniMax-M3",
    "invoke": "dots-studio/dots3-note-prev",
    "seed_oss": "ByteDance-Seed/Seed-OSS-36B-Instruct unsloth/Seed-OSS-36B-Instruct-GGUF",
    "mimo": "XiaomiMiMo/MiMo-V2-Flash XiaomiMiMo/MiMo-V2.6-Pro-MOPD unsloth/MiMo-V2.5-Omni-GGUF",
    "deepseek_v3": """
        deepseek-ai/DeepSeek-V3-0324 deepseek-ai/DeepSeek-V3.1 deepseek-ai/DeepSeek-V3.1-Terminus
        deepseek-v3.1:671b-cloud deepseek-ai/DeepSeek-V3.2-Exp deepseek-ai/DeepSeek-R1-0528
        unsloth/DeepSeek-R1-0528-GGUF deepseek-r1:671b bartowski/deepseek-ai_DeepSeek-V3-0324-GGUF cogito-2.1:671b""",
    "dsml": """
        deepseek-ai/DeepSeek-V3.2 deepseek-v3.2:cloud deepseek-ai/DeepSeek-V4-Flash deepseek-ai/DeepSeek-V4-Pro
        deepseek-ai/DeepSeek-V4.1-Flash unsloth/DeepSeek-V4-Flash-GGUF""",
    "kimi_k2": """
        moonshotai/Kimi-K2-Instruct-0905 moonshotai/Kimi-K2-Thinking moonshotai/Kimi-K2.7-Code kimi-k2.5:cloud
        unsloth/Kimi-K2.6-GGUF moonshotai/Kimi-Linear-48B-A3B-Instruct""",
    "kimi_k3": "moonshotai/Kimi-K3 kimi-k3:cloud",
    "mistral": """
        mistralai/Mistral-7B-Instruct-v0.3 mistralai/Mistral-Small-3.2-24B-Instruct-2506 mistral-small3.2:24b
        bartowski/mistralai_Mistral-Small-3.2-24B-Instruct-2506-GGUF mistralai/Mistral-Large-3-675B-Instruct-2512
        mistralai/Devstral-Small-2-24B-Instruct-2512 mlx-community/Devstral-Small-2507-4bit devstral-small-2:24b
        mistralai/Magistral-Small-2509 mistralai/Ministral-3-14B-Reasoning-2512 ministral-3:8b
        mistralai/Pixtral-Large-Instruct-2411""",
    "harmony": "openai/gpt-oss-20b gpt-oss:120b-cloud unsloth/gpt-oss-20b-GGUF lmsys/gpt-oss-120b-bf16 gpt_oss_20b",
    "llama3_json": """
        meta-llama/Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-8B-Instruct meta-llama/Llama-3.2-3B-Instruct
        llama3.1:8b unsloth/Llama-3.3-70B-Instruct unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit
        nvidia/Llama-3.3-70B-Instruct-FP8 nvidia/Llama-3.1-Nemotron-70B-Instruct-HF Salesforce/Llama-xLAM-2-8B-fc-r
        Salesforce/xLAM-2-32b-fc-r""",
    "pythonic": """
        meta-llama/Llama-4-Scout-17B-16E-Instruct unsloth/Llama-4-Scout-17B-16E-Instruct llama4:scout
        allenai/Olmo-3-7B-Instruct olmo-3.1:32b Team-ACE/ToolACE-8B""",
    "lfm2": "LiquidAI/LFM2.5-1.2B-Instruct LiquidAI/LFM2.5-VL-1.6B lfm2.5-thinking LiquidAI/LFM2-8B-A1B-GGUF",
    "gemma": """
        google/gemma-4-31B-it gemma4:31b unsloth/gemma-4-E4B-it-GGUF lmstudio-community/gemma-4-26B-A4B-it-GGUF
        google/functiongemma-270m-it""",
    "step3": "stepfun-ai/step3",
    "hunyuan": "tencent/Hunyuan-A13B-Instruct tencent/Hy3-preview tencent/Hy4-preview-FP8",
    "nemotron_nano": """
        nvidia/NVIDIA-Nemotron-Nano-9B-v2 nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL-NVFP4-QAD
        nvidia/Llama-3_3-Nemotron-Super-49B-v1_5 ai21labs/AI21-Jamba-1.5-Mini unsloth/Apriel-1.5-15b-Thinker-GGUF
        ServiceNow-AI/Apriel-1.6-15b-Thinker""",
    "granite": "ibm-granite/granite-3.1-8b-instruct granite3.3:8b ibm-granite/granite-20b-functioncalling",
    "cohere": """
        CohereLabs/command-a-reasoning-08-2025 CohereLabs/c4ai-command-a-03-2025 CohereLabs/command-a-plus-05-2026-fp8
        CohereForAI/c4ai-command-r7b-12-2024 command-r7b CohereLabs/North-Mini-Code-1.0 CohereForAI/c4ai-command-r-plus
        command-r-plus:104b command-r:35b CohereForAI/c4ai-command-r-08-2024""",
    "phi4mini": """
        microsoft/Phi-4-mini-instruct phi4-mini:3.8b fireworks-ai/llama-3-firefunction-v2 firefunction-v2:70b""",
    "functionary": """
        meetkai/functionary-medium-v3.1 meetkai/functionary-small-v3.2 bartowski/functionary-small-v3.2-GGUF""",
    "plamo3": "pfnet/plamo-3-nict-8b-base",
    "solar_open": "upstage/Solar-Open-100B unsloth/Solar-Open-100B-GGUF",
    "solar_open2": "upstage/Solar-Open2-250B",
    "sarashina": "sbintuitions/sarashina2.2-3b-instruct-v0.1",
    "internlm2": "internlm/internlm2_5-7b-chat internlm/internlm3-8b-instruct internlm/Intern-S1-FP8",
    "gigachat3": "ai-sage/GigaChat3-10B-A1.8B",
    "gigachat35": "ai-sage/GigaChat3.5-432B-A28B ai-sage/GigaChat3.5",
    "minicpm5": "openbmb/MiniCPM5-1B",
    "apertus": "swiss-ai/Apertus-8B-Instruct-2509 unsloth/Apertus-8B-Instruct-2509-GGUF",
}
"""Names as users write them, and the dialects that they must find."""
WRITTEN = [(name, dialect) for dialect, names in NAMES.items() for name in names.split()]


def copies(name: str) -> list[str]:
    """The names that people give to copies of a model."""
    owner, _, model = name.partition("/")
    return [
        name.lower(),
        model,
        f"unsloth/{model}-GGUF",
        f"hf.co/unsloth/{model}-GGUF:Q4_K_M",
        f"mlx-community/{model}-4bit",
        f"lmstudio-community/{model}-MLX-8bit",
        f"RedHatAI/{model}-FP8-dynamic",
        f"cyankiwi/{model}-AWQ-4bit",
        f"bartowski/{owner}_{model}-GGUF",
        f"huihui-ai/Huihui-{model}-abliterated",
    ]


def test_the_table_is_large_enough() -> None:
    assert len({each for each, _ in READ}) >= 120
    assert len(WRITTEN) >= 150


def test_each_model_and_each_name_is_there_once() -> None:
    names = [name for family in FAMILIES for name in family.names]
    assert len(set(names)) == len(names)
    assert len({each for each, _ in IDS}) == len(IDS)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.names[0])
def test_each_family_has_a_source_and_a_dialect_that_is_read_or_a_reason(family: Family) -> None:
    assert re.fullmatch(r"https://\S+", family.source)
    assert bool(family.dialect) != bool(family.note)
    assert not family.dialect or dialects.named(family.dialect).name == family.dialect
    assert all(family_of(name.rstrip("*")) is family for name in family.names)


@pytest.mark.parametrize(("name", "family"), IDS)
def test_a_model_is_of_its_family_and_so_are_its_copies(name: str, family: Family) -> None:
    assert {each: family_of(each) for each in (name, *copies(name))} == dict.fromkeys((name, *copies(name)), family)


@pytest.mark.parametrize(("name", "dialect"), WRITTEN)
def test_names_as_they_are_written_find_their_dialect(name: str, dialect: str) -> None:
    assert dialects.for_model(name).name == dialect


@pytest.mark.parametrize(("name", "dialect"), READ)
def test_the_models_of_a_dialect_are_listed(name: str, dialect: Family) -> None:
    assert name in dialects.ids_of(dialect.dialect)


PROMPTED = [
    "google/gemma-3-27b-it",
    "gemma3:4b",
    "google/gemma-3n-E4B-it",
    "meta-llama/Meta-Llama-3-8B-Instruct",
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
    "unsloth/DeepSeek-R1-Distill-Llama-8B-GGUF",
    "unsloth/DeepSeek-R1-0528-Qwen3-8B-GGUF",
    *(f"deepseek-r1:{size}" for size in ("1.5b", "7b", "8b-0528-qwen3-q4_K_M", "14b", "32b", "70b")),
    "microsoft/Phi-3-mini-4k-instruct",
    "mistralai/Mistral-7B-Instruct-v0.2",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "CohereForAI/aya-expanse-8b",
]
NOT_READ = [
    "zai-org/glm-4-9b-hf",
    "meetkai/functionary-small-v2.5",
    "deepseek-ai/DeepSeek-V3.2-Speciale",
    "Qwen/Qwen3-ASR-1.7B",
    "Qwen/Qwen3Guard-Gen-8B",
]


@pytest.mark.parametrize("name", [*PROMPTED, *NOT_READ])
def test_a_model_without_a_dialect_is_an_error_that_says_why(name: str) -> None:
    with pytest.raises(XMLToolsError) as error:
        dialects.for_model(name)
    assert repr(name) in str(error.value) and "has no dialect" in str(error.value)


@pytest.mark.parametrize("name", PROMPTED)
def test_a_model_that_has_to_be_told_how_is_said_to_be_so(name: str) -> None:
    with pytest.raises(XMLToolsError, match=r"not trained to write calls.*xmltools docs"):
        dialects.for_model(name)


UNKNOWN = (
    "acme/unknown-1",
    "",
    "/",
    "gpt-4o",
    "qwen",
    "Qwen/Qwen-Image",
    "llama",
    "3.1",
    "中文/模型",
    "-".join("qwen" * 9),
)


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_model_is_an_error_that_names_detect(name: str) -> None:
    with pytest.raises(XMLToolsError, match="xmltools dialects detect FILE") as error:
        dialects.for_model(name)
    assert repr(name) in str(error.value) and "qwen3_coder" in str(error.value)


def test_a_name_that_is_misspelled_gets_names_that_are_near() -> None:
    with pytest.raises(XMLToolsError, match=r"did you mean zai-org/GLM-4\.7 \(glm\)"):
        dialects.for_model("zai-org/GLN-4.7")
    with pytest.raises(XMLToolsError, match="did you mean openai/gpt-oss-20b"):
        dialects.for_model("gtp-oss-20b")


def test_a_later_version_counts_only_where_the_table_says_so() -> None:
    assert dialects.for_model("moonshotai/Kimi-K2.9").name == "kimi_k2"
    assert family_of("Qwen/Qwen3.9-8B") is family_of("Qwen/Qwen30-8B") is None


def test_the_rules_have_a_row_for_each_dialect() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|", RULES.read_text(encoding="utf-8").split("\n## ")[0], re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(each.name for each in dialects.all())
