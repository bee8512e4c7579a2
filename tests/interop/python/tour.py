"""What a tour is made of, whichever package its client comes from."""

import asyncio
import sys
import traceback
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

if TYPE_CHECKING:
    from asking import Answers

INTERNAL_ERROR = -32603
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
MISSING_CAPABILITY = -32021
RESOURCE_NOT_FOUND = -32002
VERSIONS = {"modern": "2026-07-28", "auto": "2026-07-28", "legacy": "2025-11-25"}

# How long a check may take, in seconds.
PATIENCE = 15

Check = Callable[[], Awaitable[None]]


@dataclass
class Target:
    """Which server, and how it is to be spoken to: `modern|auto|legacy URL|COMMAND...`."""

    mode: str
    words: list[str]

    @property
    def is_pipe(self) -> bool:
        return not self.words[0].startswith("http")

    @property
    def is_legacy(self) -> bool:
        return self.mode == "legacy"

    @property
    def version(self) -> str:
        return VERSIONS[self.mode]

    @property
    def negotiation(self) -> str:
        """The mode, as the packages call it."""
        return self.version if self.mode == "modern" else self.mode


@dataclass
class Told:
    """What a client has been told that was no answer, in order."""

    messages: list[Any] = field(default_factory=list)

    async def __call__(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        self.messages.append(message)

    def take(self, method: str) -> list[Any]:
        """What it has been told by one method since the last question."""
        taken = [message.params for message in self.messages if message.method == method]
        self.messages.clear()
        return taken


class Visit:
    """A client that is connected until it is left, in the task that entered it."""

    def __init__(self, client: AbstractAsyncContextManager[Any], told: Told, answers: "Answers") -> None:
        self.client: Any = client
        self.told = told
        self.answers = answers

    async def enter(self) -> None:
        await self.client.__aenter__()

    async def leave(self) -> None:
        await self.client.__aexit__(None, None, None)


@asynccontextmanager
async def deprecated() -> AsyncIterator[None]:
    """For methods of the legacy era: that they are deprecated is no news."""
    with warnings.catch_warnings(action="ignore"):
        yield


def text(result: CallToolResult) -> str:
    """The text of a result that is one text."""
    assert len(result.content) == 1 and result.content[0].type == "text", result
    return result.content[0].text


async def error_of(call: Awaitable[object]) -> MCPError:
    try:
        result = await call
    except MCPError as error:
        return error
    raise AssertionError(f"no error but {result}")


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Asks again and again until the answer is yes; the check's own patience is the limit."""
    while not await condition():
        await asyncio.sleep(0.02)


async def run(label: str, checks: dict[str, Check]) -> int:
    """Runs the checks in order, and prints a line for each and what came of it.

    When the first fails, which connects, the others count as failed without being run.
    """
    passed = failed = 0
    for name, body in checks.items():
        try:
            assert passed or not failed, "not run for want of a connection"
            async with asyncio.timeout(PATIENCE):
                await body()
        except Exception:
            failed += 1
            print(f"FAIL  {label}: {name}: {traceback.format_exc()}")
        else:
            passed += 1
            print(f"ok    {label}: {name}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main(label: str, checks: dict[str, Check]) -> None:
    sys.exit(asyncio.run(run(label, checks)))
