"""The tour of FastMCP's client. Usage: fast.py modern|auto|legacy URL|COMMAND..."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.subscriptions import listen

from asking import Answers
from fixtures import Tourist, fixtures
from tasks import tasks
from tour import Check, Target, Told, Visit, deprecated, main


class Fast:
    """How FastMCP does it. For changes it has no words of its own, but shows the session below."""

    always_asks_for_logs = True

    def __init__(self, target: Target) -> None:
        self.target = target
        self.drives_tasks = not target.is_legacy

    def visit(self, *, can_be_asked: bool = True) -> Visit:
        command, *arguments = self.target.words
        transport = (
            StdioTransport(command, arguments, keep_alive=False)
            if self.target.is_pipe
            else StreamableHttpTransport(command)
        )
        told, answers = Told(), Answers()

        async def elicit(message: str, kind: Any, params: Any, context: Any) -> Any:
            return await answers.on_elicit(context, params)

        async def sample(messages: Any, params: Any, context: Any) -> Any:
            return await answers.on_sample(context, params)

        async def roots(context: Any) -> Any:
            return (await answers.on_roots(context)).roots

        handlers: dict[str, Any] = {"elicitation_handler": elicit, "sampling_handler": sample, "roots": roots}
        asked = handlers if can_be_asked else {}
        return Visit(Client(transport, mode=self.target.negotiation, message_handler=told, **asked), told, answers)

    def call(self, client: Client, name: str, arguments: Any, *, on_progress: Any = None, meta: Any = None):
        return client.call_tool_mcp(name, arguments, progress_handler=on_progress, meta=meta)

    def tools(self, client: Client):
        return client.list_tools_mcp()

    def resources(self, client: Client, cursor: str | None):
        return client.list_resources_mcp(cursor=cursor)

    def templates(self, client: Client):
        return client.list_resource_templates_mcp()

    def read(self, client: Client, uri: str):
        return client.read_resource_mcp(uri)

    def prompts(self, client: Client):
        return client.list_prompts_mcp()

    def prompt(self, client: Client, name: str, arguments: dict[str, str] | None):
        return client.get_prompt_mcp(name, arguments)

    def complete(self, client: Client, ref: Any, argument: dict[str, str]):
        return client.complete_mcp(ref, argument)

    async def set_level(self, client: Client, level: Any) -> None:
        async with deprecated():
            await client.set_logging_level(level)

    async def ping(self, client: Client) -> None:
        async with deprecated():
            assert await client.ping()

    @asynccontextmanager
    async def watch(self, client: Client, uri: str) -> AsyncIterator[None]:
        if not self.target.is_legacy:
            async with listen(client.session, resource_subscriptions=[uri]):
                yield
            return
        async with deprecated():
            await client.session.subscribe_resource(uri)
        yield
        async with deprecated():
            await client.session.unsubscribe_resource(uri)

    @asynccontextmanager
    async def follow_lists(self, client: Client) -> AsyncIterator[None]:
        if self.target.is_legacy:
            yield
            return
        async with listen(client.session, tools_list_changed=True, prompts_list_changed=True):
            yield

    def extra(self, tourist: Tourist) -> dict[str, Check]:
        return tasks(tourist) if self.drives_tasks else {}


if __name__ == "__main__":
    mode, *words = sys.argv[1:]
    kind = Fast(Target(mode, words))
    where = " on a pipe" if kind.target.is_pipe else ""
    main(f"fastmcp 4.1 {mode}{where}", fixtures(kind))
