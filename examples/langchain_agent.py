"""An agent of LangChain on a chat model that only writes text. It needs `langchain`."""

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from xmltools.integrations.langchain import ToolCallingChatModel

CALL = "<tool><tool_name>weather</tool_name><arguments>{}</arguments></tool>"
# A script; ChatOllama, or whatever chat model you have, takes its place.
REPLIES = ["I look.\n" + CALL.format("<town>Oslo</town>"), CALL.format("<city>Oslo</city>"), "Rain: take a coat."]
MODEL = GenericFakeChatModel(messages=iter(map(AIMessage, REPLIES)))


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: 4 degrees, rain"


def main() -> None:
    """Run the agent, and print what was said. The call of the first reply is wrong, and sent back to the model."""
    agent = create_agent(ToolCallingChatModel(wrapped=MODEL), tools=[weather])
    state = agent.invoke({"messages": [{"role": "user", "content": "Do I need a coat in Oslo?"}]})
    for message in state["messages"]:
        calls = "".join(f"[{call['name']} {call['args']}]" for call in getattr(message, "tool_calls", ()))
        print(f"{message.type}: {message.text.strip()} {calls}".strip())


if __name__ == "__main__":
    main()
