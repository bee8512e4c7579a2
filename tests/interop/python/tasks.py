"""Tasks of the modern era, for the package that has words for them: fastmcp-tasks."""

from typing import TYPE_CHECKING, Any

from fastmcp.exceptions import ToolError
from fastmcp_tasks import ToolTask, call_tool_task

from asking import accepting, answering
from tour import Check, until

if TYPE_CHECKING:
    from fixtures import Tourist


def tasks(tourist: "Tourist") -> dict[str, Check]:
    async def begin(name: str, **arguments: Any) -> ToolTask:
        return await call_tool_task(tourist.client, name, arguments)

    async def fails(task: ToolTask) -> str:
        try:
            result = await task
        except ToolError as error:
            return str(error)
        raise AssertionError(f"no failure but {result}")

    async def is_followed() -> None:
        task = await begin("slow_compute", seconds=0.3, label="sums")
        created = task.create_result
        assert (created.status, created.poll_interval_ms) == ("working", 100), created
        assert created.ttl_ms == 600_000, created
        result = await task
        assert result.content[0].text == "Computed sums in 0.3 s.", result
        assert (await task.status()).status == "completed"

    async def asks() -> None:
        task = await begin("confirm_delete", filename="a.txt")
        waiting = await task.wait(state="input_required")
        [asked] = waiting.input_requests.values()
        assert asked["params"]["message"] == "Do you want to delete a.txt?", asked
        result, _ = await answering(tourist, task.result(), elicit=accepting(confirm=True))
        assert result.content[0].text == "Deleted a.txt.", result

    async def asks_twice() -> None:
        task = await begin("multi_input")
        waiting = await task.wait(state="input_required")
        assert len(waiting.input_requests) == 2, waiting
        result, asked = await answering(tourist, task.result(), elicit=accepting(name="Ada", confirm=True))
        assert len(asked) == 2 and result.content[0].text == "name=Ada, confirm=true", result

    async def asks_before() -> None:
        call = tourist.call("test_tool_with_task")
        result, asked = await answering(tourist, call, elicit=accepting(name="Ada"))
        assert len(asked) == 1 and result.content[0].text == "Hello, Ada!", result

    async def fails_or_breaks() -> None:
        failing = await begin("failing_job")
        assert await fails(failing) == "This job always fails."
        assert (await failing.status()).status == "completed"
        breaking = await begin("protocol_error_job")
        assert await fails(breaking) == "This job breaks."
        assert (await breaking.status()).status == "failed"

    async def is_cancelled() -> None:
        task = await begin("slow_compute", seconds=60, label="sums")

        async def is_at_work() -> bool:
            return (await task.status()).status_message == "computing sums"

        await until(is_at_work)
        await task.cancel()
        assert (await task.wait()).status == "cancelled"
        assert "cancelled" in await fails(task)
        await task.cancel()

    return {
        "a task is followed to its result": is_followed,
        "a task asks, and goes on with the answer": asks,
        "a task asks two things at once": asks_twice,
        "a call asks before it becomes a task": asks_before,
        "a task that fails has a result, and one that breaks an error": fails_or_breaks,
        "a task tells what it does, until it is cancelled": is_cancelled,
    }
