"""Streams of structured calls: a parser's events as OpenAI and Anthropic stream them, and such streams as events.

    parser, stream = Parser(tools), OpenAIStream(id="chatcmpl-1", model="m", created=0, tools=tools)
    for text in model:
        send(to_sse(stream.feed(parser.feed(text))))
    send(to_sse([*stream.feed(parser.close()), *stream.close(finish_reason)]) + SSE_DONE)

    reader = OpenAIReader(tools)
    for chunk in client.chat.completions.create(..., stream=True):
        for event in reader.feed(chunk): ...  # the events of a parser

`ArgumentStream` is the layer below: the JSON of a call's arguments in fragments, while they are still being written.
"""

from xmltools.conversations.streams.anthropic import AnthropicReader, AnthropicStream
from xmltools.conversations.streams.json_arguments import ArgumentStream
from xmltools.conversations.streams.openai import OpenAIReader, OpenAIStream
from xmltools.conversations.streams.responses import ResponsesStream, response_object
from xmltools.conversations.streams.sse import SSE_DONE, to_sse

__all__ = [
    "SSE_DONE",
    "AnthropicReader",
    "AnthropicStream",
    "ArgumentStream",
    "OpenAIReader",
    "OpenAIStream",
    "ResponsesStream",
    "response_object",
    "to_sse",
]
