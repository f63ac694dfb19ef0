"""Function calling for models that have none: a proxy in front of any server that speaks OpenAI's chat completions.

    xmltools.serve.run(ServeConfig(upstream="http://localhost:8000/v1"))

Clients of OpenAI's and Anthropic's API ask it as they would ask a model with function calling. What a request becomes,
and its reply, is decided by `xmltools.proxy.bridge`; here are the sockets. It needs the extra `serve`.
"""

from xmltools.extras import install_line

try:
    import aiohttp  # noqa: F401
    import httpx2  # noqa: F401
    import prometheus_client  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ModuleNotFoundError(
        f"xmltools.serve needs the library {error.name}: {install_line('serve')}", name=error.name
    ) from None

from xmltools.proxy.server.app import create_app, run, run_app
from xmltools.proxy.server.config import ServeConfig

__all__ = ["ServeConfig", "create_app", "run", "run_app"]
