"""The tours of the Python SDK. Usage: sdk.py demo|fixtures modern|auto|legacy URL|COMMAND..."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters

from asking import Answers
from demo import demo
from fixtures import Tourist, fixtures
from tour import Check, Target, Told, Visit, deprecated, main


class Sdk:
    """How the SDK does it."""

    always_asks_for_logs = False
    drives_tasks = False

    def __init__(self, target: Target) -> None:
        self.target = target

    def visit(self, *, can_be_asked: bool = True) -> Visit:
        command, *arguments = self.target.words
        server = StdioServerParameters(command=command, args=arguments) if self.target.is_pipe else command
        told, answers = Told(), Answers()
        callbacks: dict[str, Any] = {
            "elicitation_callback": answers.on_elicit,
            "sampling_callback": answers.on_sample,
            "list_roots_callback": answers.on_roots,
        }
        asked = callbacks if can_be_asked else {}
        return Visit(Client(server, mode=self.target.negotiation, message_handler=told, **asked), told, answers)

    def call(self, client: Client, name: str, arguments: Any, *, on_progress: Any = None, meta: Any = None):
        return client.call_tool(name, arguments, progress_callback=on_progress, meta=meta)

    def tools(self, client: Client):
        return client.list_tools()

    def resources(self, client: Client, cursor: str | None):
        return client.list_resources(cursor=cursor)

    def templates(self, client: Client):
        return client.list_resource_templates()

    def read(self, client: Client, uri: str):
        return client.read_resource(uri)

    def prompts(self, client: Client):
        return client.list_prompts()

    def prompt(self, client: Client, name: str, arguments: dict[str, str] | None):
        return client.get_prompt(name, arguments)

    def complete(self, client: Client, ref: Any, argument: dict[str, str]):
        return client.complete(ref, argument)

    async def set_level(self, client: Client, level: Any) -> None:
        async with deprecated():
            await client.set_logging_level(level)

    async def ping(self, client: Client) -> None:
        async with deprecated():
            await client.send_ping()

    @asynccontextmanager
    async def watch(self, client: Client, uri: str) -> AsyncIterator[None]:
        if not self.target.is_legacy:
            async with client.listen(resource_subscriptions=[uri]):
                yield
            return
        async with deprecated():
            await client.subscribe_resource(uri)
        yield
        async with deprecated():
            await client.unsubscribe_resource(uri)

    @asynccontextmanager
    async def follow_lists(self, client: Client) -> AsyncIterator[None]:
        if self.target.is_legacy:
            yield
            return
        async with client.listen(tools_list_changed=True, prompts_list_changed=True):
            yield

    def extra(self, tourist: Tourist) -> dict[str, Check]:
        return {}


if __name__ == "__main__":
    tour, mode, *words = sys.argv[1:]
    kind = Sdk(Target(mode, words))
    where = " on a pipe" if kind.target.is_pipe else ""
    main(f"mcp 2.3 {mode}{where}", {"demo": demo, "fixtures": fixtures}[tour](kind))
