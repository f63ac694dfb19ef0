"""Function calling for models that have none, inside the process: the clients of OpenAI and Anthropic as they are, over
a transport that does what the proxy does.

    client = OpenAI(base_url="http://127.0.0.1:8000/v1", http_client=httpx2.Client(transport=XMLToolsTransport()))
    client = AsyncAnthropic(http_client=httpx2.AsyncClient(transport=AsyncXMLToolsTransport()))

The tools of a request become instructions in its prompt, and calls that the model writes in its text come out as the
calls of the client's API, while it still writes them:

    completion = client.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": "What is the weather in Oslo?"}],
        tools=[{"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}],
    )
    call = completion.choices[0].message.tool_calls[0]
    print(call.function.name, call.function.arguments)  # weather {"city":"Oslo"}

A POST to `…/chat/completions`, `…/messages` or `…/responses` is sent to `…/chat/completions` of the same origin, so
that credentials go nowhere else; `…/messages/count_tokens` is answered here, with an estimate; anything else passes
through untouched. What such a request becomes is decided by
`xmltools.proxy.bridge`.
"""

from xmltools.extras import install_line

try:
    import httpx2  # noqa: F401
except ImportError:
    raise ImportError(f"xmltools.transport needs the library httpx2: {install_line('serve')}") from None


from xmltools.proxy.transport.transports import MAX_BODY, AsyncXMLToolsTransport, XMLToolsTransport

__all__ = ["MAX_BODY", "AsyncXMLToolsTransport", "XMLToolsTransport"]
