"""Tools that can be tasks, for a client that need not know: to whoever calls them, they are tools like any other."""

from typing import TYPE_CHECKING

from asking import accepting, answering
from tour import METHOD_NOT_FOUND, MISSING_CAPABILITY, Check, error_of, text

if TYPE_CHECKING:
    from fixtures import Tourist


def jobs(tourist: "Tourist") -> dict[str, Check]:
    async def answers() -> None:
        result = await tourist.call("slow_compute", {"seconds": 0.05, "label": "sums"})
        assert text(result) == "Computed sums in 0.05 s."

    async def asks() -> None:
        for confirm, what in [(True, "Deleted"), (False, "Kept")]:
            call = tourist.call("confirm_delete", {"filename": "a.txt"})
            result, [asked] = await answering(tourist, call, elicit=accepting(confirm=confirm))
            assert asked.message == "Do you want to delete a.txt?", asked
            assert text(result) == f"{what} a.txt."

    async def is_refused() -> None:
        error = await error_of(tourist.call("failing_job"))
        assert error.code == (METHOD_NOT_FOUND if tourist.target.is_legacy else MISSING_CAPABILITY), error

    checks = {"a job answers like any tool": answers, "a job asks on the way": asks}
    refused = {"a job that has to be a task is refused": is_refused}
    return checks if tourist.kind.drives_tasks else {**checks, **refused}
