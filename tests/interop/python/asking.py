"""What a server asks its client for: to fill in a form, to visit a page, the words of a model, its roots.

Modern clients find the questions in the answer to a request, legacy ones are asked while they wait for it; which it
was, the packages don't show.
"""

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

from tour import INTERNAL_ERROR, MISSING_CAPABILITY, Check, error_of, text

if TYPE_CHECKING:
    from fixtures import Tourist

CHOICES = ["option1", "option2", "option3"]
TITLED = ["value1", "value2", "value3"]
ADA = {"username": "ada", "email": "ada@example.com"}


class Answers:
    """How a client answers what it is asked, as a check wants it, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.elicit: Callable[[Any], ElicitResult]
        self.sample: Callable[[Any], CreateMessageResult]
        self.roots: list[str] = []

    async def on_elicit(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return self.elicit(params)

    async def on_sample(self, context: Any, params: Any) -> CreateMessageResult:
        self.asked.append(params)
        return self.sample(params)

    async def on_roots(self, context: Any) -> ListRootsResult:
        self.asked.append(None)
        return ListRootsResult(roots=[Root(uri=uri) for uri in self.roots])


async def answering(tourist: "Tourist", call: Awaitable[Any], **answers: Any) -> tuple[Any, list[Any]]:
    """Lets the client of a tour answer so for as long as a call takes. Returns the result and what was asked."""
    given = tourist.visit.answers
    given.asked = []
    for name, answer in answers.items():
        setattr(given, name, answer)
    return await call, given.asked


def accepting(**content: Any) -> Callable[[Any], ElicitResult]:
    return lambda _: ElicitResult(action="accept", content=content)


def refusing(action: Any) -> Callable[[Any], ElicitResult]:
    return lambda _: ElicitResult(action=action)


def in_turn(*contents: dict[str, Any]) -> Callable[[Any], ElicitResult]:
    waiting = iter(contents)
    return lambda _: ElicitResult(action="accept", content=next(waiting))


def saying(words: str) -> Callable[[Any], CreateMessageResult]:
    content = TextContent(type="text", text=words)
    return lambda _: CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")


def asking(tourist: "Tourist") -> dict[str, Check]:
    return {**forms(tourist), **models(tourist), **several(tourist), **declared(tourist)}


def forms(tourist: "Tourist") -> dict[str, Check]:
    async def account(elicit: Callable[[Any], ElicitResult]) -> tuple[Any, list[Any]]:
        call = tourist.call("test_elicitation", {"message": "Who are you?"})
        result, asked = await answering(tourist, call, elicit=elicit)
        return json.loads(text(result).removeprefix("User response: ")), asked

    async def form(name: str, content: dict[str, Any]) -> dict[str, Any]:
        result, [asked] = await answering(tourist, tourist.call(name), elicit=accepting(**content))
        assert completed(result) == ("accept", content), result
        return asked.requested_schema["properties"]

    async def fills_in() -> None:
        response, [asked] = await account(accepting(**ADA))
        assert response == {"action": "accept", "content": ADA}, response
        assert asked.message == "Who are you?", asked
        schema = asked.requested_schema
        assert sorted(schema["properties"]) == sorted(schema["required"]) == ["email", "username"], schema

    async def refuses() -> None:
        for action in ["decline", "cancel"]:
            response, _ = await account(refusing(action))
            assert response["action"] == action, response

    async def is_asked_again() -> None:
        response, asked = await account(in_turn({"username": "ada"}, ADA))
        assert len(asked) == 2 and response["content"] == ADA, response

    async def sees_defaults() -> None:
        content = {"name": "Ada", "age": 36, "score": 1.5, "status": "pending", "verified": False}
        fields = await form("test_elicitation_sep1034_defaults", content)
        defaults = {"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": True}
        assert {name: field["default"] for name, field in fields.items()} == defaults, fields

    async def sees_choices() -> None:
        content = {"untitledSingle": "option1", "titledSingle": "value2", "legacyEnum": "opt3"}
        lists = {"untitledMulti": ["option1", "option3"], "titledMulti": ["value1"]}
        fields = await form("test_elicitation_sep1330_enums", {**content, **lists})
        assert fields["untitledSingle"]["enum"] == fields["untitledMulti"]["items"]["enum"] == CHOICES, fields
        for titled in fields["titledSingle"]["oneOf"], fields["titledMulti"]["items"]["anyOf"]:
            assert [choice["const"] for choice in titled] == TITLED, titled
        assert len(fields["legacyEnum"]["enumNames"]) == 3, fields

    async def visits() -> None:
        for action in ["accept", "decline", "cancel"]:
            result, [asked] = await answering(tourist, tourist.call("tour_visit"), elicit=refusing(action))
            assert text(result) == f"Visit: {action}"
            assert (asked.mode, asked.url) == ("url", "https://example.com/tour"), asked
            assert asked.message == "Please look at this page.", asked
            assert bool(asked.elicitation_id) == tourist.target.is_legacy, asked

    return {
        "fills in a form": fills_in,
        "declines and dismisses a form": refuses,
        "is asked again when it leaves something out": is_asked_again,
        "is shown what a form begins with": sees_defaults,
        "is shown what it can choose from": sees_choices,
        "visits a page, or does not": visits,
    }


def models(tourist: "Tourist") -> dict[str, Check]:
    async def speaks() -> None:
        call = tourist.call("test_sampling", {"prompt": "Say something."})
        result, [asked] = await answering(tourist, call, sample=saying("Something."))
        assert text(result) == "LLM response: Something."
        [message] = asked.messages
        assert (asked.max_tokens, message.role, message.content.text) == (100, "user", "Say something."), asked

    async def tells_roots() -> None:
        call = tourist.call("test_input_required_result_list_roots")
        result, _ = await answering(tourist, call, roots=["file:///a", "file:///b"])
        assert text(result) == "Roots: file:///a, file:///b"

    return {"lets its model speak": speaks, "tells its roots": tells_roots}


def several(tourist: "Tourist") -> dict[str, Check]:
    kind = tourist.kind

    async def at_once() -> None:
        call = tourist.call("test_input_required_result_multiple_inputs")
        answers = {"elicit": accepting(name="Ada"), "sample": saying("Good morning."), "roots": ["file:///a"]}
        result, asked = await answering(tourist, call, **answers)
        assert len(asked) == 3 and text(result) == "Ada, in 1 roots: Good morning.", asked

    async def one_by_one() -> None:
        call = tourist.call("test_input_required_result_multi_round")
        result, asked = await answering(tourist, call, elicit=in_turn({"name": "Ada"}, {"color": "green"}))
        assert len(asked) == 2 and text(result) == "Ada likes green.", asked

    async def keeps_state() -> None:
        call = tourist.call("test_input_required_result_request_state")
        result, _ = await answering(tourist, call, elicit=accepting(ok=True))
        assert text(result) == "state-ok, confirmed: true"

    async def hears_first() -> None:
        told: list[tuple[float, float | None, str | None]] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        call = tourist.call("test_streaming_elicitation", on_progress=listen)
        result, _ = await answering(tourist, call, elicit=accepting(name="Ada"))
        assert text(result) == "Hello, Ada!"
        assert told[0] == (1, 2, "There is a question."), told

    async def elsewhere() -> None:
        get = kind.prompt(tourist.client, "test_input_required_result_prompt", None)
        prompt, _ = await answering(tourist, get, elicit=accepting(context="a rainy day"))
        assert prompt.messages[0].content.text == "Use this context: a rainy day", prompt
        read = kind.read(tourist.client, "tour://welcome")
        resource, _ = await answering(tourist, read, elicit=accepting(name="Ada"))
        assert resource.contents[0].text == "Welcome, Ada!", resource

    return {
        "is asked for several things at once": at_once,
        "is asked for one thing after the other": one_by_one,
        "brings back what the server remembers": keeps_state,
        "is told of progress before it is asked": hears_first,
        "is asked for a prompt and for a resource": elsewhere,
    }


def declared(tourist: "Tourist") -> dict[str, Check]:
    async def cannot_be_asked() -> None:
        other = tourist.other(can_be_asked=False)
        await other.visit.enter()
        error = await error_of(other.call("test_missing_capability"))
        if tourist.target.is_legacy:
            assert error.code == INTERNAL_ERROR, error
        else:
            assert error.code == MISSING_CAPABILITY, error
            assert error.data == {"requiredCapabilities": {"sampling": {}}}, error.data
        assert text(await other.call("test_input_required_result_capabilities")) == "There is nothing to ask for."
        await other.visit.leave()

    return {"is not asked for what it does not declare": cannot_be_asked}


def completed(result: CallToolResult) -> tuple[str, Any]:
    """What a form of the suite's tells of its answer."""
    action, content = text(result).removeprefix("Elicitation completed: action=").split(", content=", 1)
    return action, json.loads(content)
