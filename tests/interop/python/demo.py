"""The short tour of the demo server: what somebody does in the first minute."""

import asyncio
import json

from asking import accepting, answering
from fixtures import Kind, Tourist
from tour import Check, text

TOOLS = {"add", "ask_name", "countdown", "echo", "slow_report", "time"}


def demo(kind: Kind) -> dict[str, Check]:
    tourist = Tourist(kind)
    visit = tourist.visit

    def call(name: str, arguments: dict[str, object], **options: object):
        return kind.call(visit.client, name, arguments, **options)

    async def lists() -> None:
        tools = (await visit.client.list_tools()).tools
        assert TOOLS <= {tool.name for tool in tools}, tools

    async def echoes() -> None:
        assert text(await call("echo", {"message": "hello"})) == "hello"

    async def adds() -> None:
        result = await call("add", {"a": 2, "b": 40})
        assert result.structured_content == {"sum": 42}, result
        assert json.loads(text(result)) == result.structured_content

    async def tells_time() -> None:
        assert ":" in text(await call("time", {}))

    async def tells_progress() -> None:
        told: list[float] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)

        await call("countdown", {"from": 2}, on_progress=listen)
        assert told == [1, 2], told

    async def can_be_given_up() -> None:
        begun = asyncio.Event()

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        pending = asyncio.create_task(call("countdown", {"from": 1000}, on_progress=listen))
        await begun.wait()
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        assert text(await call("echo", {"message": "again"})) == "again"

    async def is_asked() -> None:
        result, _ = await answering(tourist, call("ask_name", {}), elicit=accepting(name="Ada"))
        assert text(result) == "Hello, Ada!"

    async def is_asked_half_way() -> None:
        told: list[str | None] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)

        report = call("slow_report", {"topic": "tea", "step_ms": 10}, on_progress=listen)
        result, asked = await answering(tourist, report, elicit=accepting(length="long"))
        assert len(asked) == 1 and "This was found by" in text(result), result
        assert told == ["collecting", "sorting", "writing", "checking"], told

    return {
        "connects": visit.enter,
        "lists the tools": lists,
        "echoes": echoes,
        "adds, in structure and in text": adds,
        "tells the time": tells_time,
        "counts down and tells how far it is": tells_progress,
        "a call that is given up leaves the client usable": can_be_given_up,
        "is asked for a name": is_asked,
        "is asked half-way through a report, and told how far it is": is_asked_half_way,
        "closes": visit.leave,
    }
