"""The tour of the Python SDK through the demo server.

Usage: tour.py URL modern|auto|legacy
"""

import asyncio
import json
import re
import sys
import traceback
import warnings
from collections.abc import Awaitable, Callable

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

TOOLS = {"add", "countdown", "echo", "time"}
INVALID_PARAMS = -32602
URL, MODE = sys.argv[1:3]
VERSION = "2025-11-25" if MODE == "legacy" else "2026-07-28"
PATIENCE = 30


class Tour:
    """Runs checks and counts them."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    async def check(self, name: str, body: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await body()
        except Exception:
            self.failed += 1
            print(f"FAIL  mcp 2.3 {MODE}: {name}\n{traceback.format_exc()}")
        else:
            self.passed += 1
            print(f"ok    mcp 2.3 {MODE}: {name}")


def connect() -> Client:
    return Client(URL, mode=VERSION if MODE == "modern" else MODE)


def text(result: CallToolResult) -> str:
    return result.content[0].text


async def code_of(call: Awaitable[object]) -> int:
    try:
        result = await call
    except MCPError as error:
        return error.code
    raise AssertionError(f"no error but {result}")


async def walk(tour: Tour, client: Client) -> None:
    async def introduces() -> None:
        if MODE == "modern":
            # A client that was told the version has asked the server nothing yet.
            found = await client.session.send_discover(VERSION)
            assert found["supportedVersions"] == [VERSION] and "tools" in found["capabilities"], found
        else:
            assert client.server_info is not None and client.server_capabilities.tools is not None

    async def speaks() -> None:
        assert client.protocol_version == VERSION, client.protocol_version

    async def lists() -> None:
        tools = (await client.list_tools()).tools
        assert TOOLS <= {tool.name for tool in tools}, tools
        for tool in tools:
            assert tool.description, tool
            assert tool.input_schema["type"] == "object", tool

    async def echoes() -> None:
        for message in ["hello", "", "Zażółć gęślą jaźń 🦀", 'line\nline "quoted" \\', "x" * 2**20]:
            assert text(await client.call_tool("echo", {"message": message})) == message

    async def adds() -> None:
        result = await client.call_tool("add", {"a": 2, "b": 40})
        assert 42 in result.structured_content.values(), result
        assert json.loads(text(result)) == result.structured_content

    async def tells_time() -> None:
        assert re.search(":", text(await client.call_tool("time", {})))

    async def tells_progress() -> None:
        told: list[float] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)

        result = await client.call_tool("countdown", {"from": 3}, progress_callback=listen)
        assert not result.is_error, result
        assert told and told == sorted(set(told)), told

    async def keeps_silent() -> None:
        assert not (await client.call_tool("countdown", {"from": 1})).is_error

    async def points_at_arguments() -> None:
        result = await client.call_tool("add", {"a": "one", "b": 2})
        assert result.is_error and "/a" in text(result), result

    async def knows_no_such_tool() -> None:
        assert await code_of(client.call_tool("no_such_tool", {})) == INVALID_PARAMS

    async def answers_many() -> None:
        messages = [f"number {at}" for at in range(20)]
        results = await asyncio.gather(*(client.call_tool("echo", {"message": message}) for message in messages))
        assert [text(result) for result in results] == messages

    async def can_be_given_up() -> None:
        begun = asyncio.Event()

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        call = asyncio.create_task(client.call_tool("countdown", {"from": 1000}, progress_callback=listen))
        await begun.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert text(await client.call_tool("echo", {"message": "again"})) == "again"

    async def serves_two() -> None:
        async with connect() as other:
            ours, theirs = await asyncio.gather(
                client.call_tool("echo", {"message": "ours"}), other.call_tool("echo", {"message": "theirs"})
            )
            assert (text(ours), text(theirs)) == ("ours", "theirs")
        assert text(await client.call_tool("echo", {"message": "still"})) == "still"

    async def answers_ping() -> None:
        # The method is deprecated, not the answer.
        with warnings.catch_warnings(action="ignore"):
            await client.send_ping()

    await tour.check("the server introduces itself", introduces)
    await tour.check(f"speaks {VERSION}", speaks)
    await tour.check("lists the tools", lists)
    await tour.check("echoes any text, a megabyte too", echoes)
    await tour.check("adds, in structure and in text", adds)
    await tour.check("tells the time", tells_time)
    await tour.check("counts down and tells how far it is", tells_progress)
    await tour.check("counts down in silence when nobody asks", keeps_silent)
    await tour.check("wrong arguments are a result that points at them", points_at_arguments)
    await tour.check("an unknown tool is an error", knows_no_such_tool)
    await tour.check("twenty calls at once are answered each to its own", answers_many)
    await tour.check("a call that is given up leaves the client usable", can_be_given_up)
    await tour.check("two clients are served at once", serves_two)
    if MODE == "legacy":
        await tour.check("answers a ping", answers_ping)


async def main() -> int:
    tour = Tour()
    client = connect()

    async def opens() -> None:
        await client.__aenter__()

    async def closes() -> None:
        await client.__aexit__(None, None, None)

    # Opened and closed by hand, in one task, so that each is a check of its own.
    await tour.check("connects", opens)
    if tour.failed == 0:
        await walk(tour, client)
        await tour.check("closes", closes)
    print(f"{tour.passed} passed, {tour.failed} failed")
    return 1 if tour.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
