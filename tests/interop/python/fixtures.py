"""The tour of the server for conformance: what every client does with it, whichever package it comes from.

Names and texts are the server's, to the letter.
"""

import asyncio
import base64
import json
import uuid
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from mcp_types import (
    CallToolResult,
    CompleteResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PromptReference,
    ReadResourceResult,
    ResourceTemplateReference,
)

from asking import asking
from jobs import jobs
from tour import INVALID_PARAMS, RESOURCE_NOT_FOUND, Check, Target, Visit, error_of, text, until

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
PNG = bytes.fromhex("89504e470d0a1a0a")
LOGGED = ["Tool execution started", "Tool processing data", "Tool execution completed"]
WATCHED = "test://watched-resource"
ITEMS = [f"tour://item/{number}" for number in range(1, 26)]
RESOURCES = ["test://static-text", "test://static-binary", WATCHED, "tour://welcome", *ITEMS]
PROMPTS = [
    "test_input_required_result_prompt",
    "test_prompt_with_arguments",
    "test_prompt_with_embedded_resource",
    "test_prompt_with_image",
    "test_simple_prompt",
]

# How long nothing has to come before we believe that nothing will, in seconds.
SILENCE = 0.3

# The same for what comes before the answer, if it comes at all.
BREATH = 0.05


class Kind(Protocol):
    """How a package does what the packages do differently."""

    target: Target
    # Asks for log messages with every modern request.
    always_asks_for_logs: bool
    # Follows a task to its result, whoever calls.
    drives_tasks: bool

    def visit(self, *, can_be_asked: bool = True) -> Visit: ...
    def call(
        self, client: Any, name: str, arguments: dict[str, Any], *, on_progress: Any = None, meta: Any = None
    ) -> Awaitable[CallToolResult]: ...
    def tools(self, client: Any) -> Awaitable[ListToolsResult]: ...
    def resources(self, client: Any, cursor: str | None) -> Awaitable[ListResourcesResult]: ...
    def templates(self, client: Any) -> Awaitable[ListResourceTemplatesResult]: ...
    def read(self, client: Any, uri: str) -> Awaitable[ReadResourceResult]: ...
    def prompts(self, client: Any) -> Awaitable[ListPromptsResult]: ...
    def prompt(self, client: Any, name: str, arguments: dict[str, str] | None) -> Awaitable[GetPromptResult]: ...
    def complete(
        self, client: Any, ref: PromptReference | ResourceTemplateReference, argument: dict[str, str]
    ) -> Awaitable[CompleteResult]: ...
    def set_level(self, client: Any, level: Any) -> Awaitable[object]: ...
    def ping(self, client: Any) -> Awaitable[object]: ...
    def watch(self, client: Any, uri: str) -> AbstractAsyncContextManager[object]: ...
    def follow_lists(self, client: Any) -> AbstractAsyncContextManager[object]: ...
    # Checks of what only this package can do.
    def extra(self, tourist: "Tourist") -> dict[str, Check]: ...


class Tourist:
    """A client on its tour."""

    def __init__(self, kind: Kind, *, can_be_asked: bool = True) -> None:
        self.kind = kind
        self.target = kind.target
        self.visit = kind.visit(can_be_asked=can_be_asked)

    def other(self, *, can_be_asked: bool = True) -> "Tourist":
        """Another client of the same server."""
        return Tourist(self.kind, can_be_asked=can_be_asked)

    @property
    def client(self) -> Any:
        return self.visit.client

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> CallToolResult:
        return await self.kind.call(self.client, name, arguments or {}, **options)

    def told(self, method: str) -> list[Any]:
        return self.visit.told.take(method)

    async def hears(self, method: str) -> list[Any]:
        """Waits until it has been told something by that method."""
        told: list[Any] = []

        async def is_told() -> bool:
            told.extend(self.told(method))
            return bool(told)

        await until(is_told)
        return told


def fixtures(kind: Kind) -> dict[str, Check]:
    tourist = Tourist(kind)
    return {
        "connects": tourist.visit.enter,
        **introduction(tourist),
        **content(tourist),
        **failures(tourist),
        **on_the_way(tourist),
        **cancellation(tourist),
        **resources(tourist),
        **prompts(tourist),
        **changes(tourist),
        **asking(tourist),
        **jobs(tourist),
        **kind.extra(tourist),
        **crowds(tourist),
        **(session(tourist) if kind.target.is_legacy else {}),
        "closes": lambda: tourist.visit.leave(),
    }


def introduction(tourist: Tourist) -> dict[str, Check]:
    target = tourist.target

    async def introduces() -> None:
        if target.mode == "modern":
            # A client that was told the version has asked the server nothing yet.
            found = await tourist.client.session.send_discover(target.version)
            assert found["supportedVersions"] == [target.version], found
            assert found["instructions"] == "A server for the conformance suite and for tours.", found
            capabilities = found["capabilities"]
        else:
            info = tourist.client.server_info
            assert (info.name, info.title) == ("conformance", "Conformance") and info.version, info
            assert tourist.client.instructions == "A server for the conformance suite and for tours."
            capabilities = tourist.client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
        assert capabilities["tools"]["listChanged"] and capabilities["prompts"]["listChanged"], capabilities
        assert capabilities["resources"] == {"subscribe": True, "listChanged": True}, capabilities
        assert "completions" in capabilities and "logging" in capabilities, capabilities

    async def speaks() -> None:
        assert tourist.client.protocol_version == target.version, tourist.client.protocol_version

    async def lists() -> None:
        listed = await tourist.kind.tools(tourist.client)
        assert listed.next_cursor is None and listed.tools[0].name == "test_simple_text", listed
        for tool in listed.tools:
            assert tool.description and tool.input_schema["type"] == "object", tool

    return {
        "the server introduces itself, and what it can do": introduces,
        f"speaks {target.version}": speaks,
        "lists the tools on one page": lists,
    }


def content(tourist: Tourist) -> dict[str, Check]:
    async def kinds() -> None:
        assert text(await tourist.call("test_simple_text")) == "This is a simple text response for testing."
        [image] = (await tourist.call("test_image_content")).content
        is_picture(image)
        [sound] = (await tourist.call("test_audio_content")).content
        assert (sound.type, sound.mime_type) == ("audio", "audio/wav"), sound
        assert base64.b64decode(sound.data).startswith(b"RIFF")
        [embedded] = (await tourist.call("test_embedded_resource")).content
        is_text(embedded.resource, "test://embedded-resource", "text/plain", "This is an embedded resource content.")
        [link] = (await tourist.call("tour_resource_link")).content
        assert (link.type, str(link.uri)) == ("resource_link", "test://static-text"), link

    async def several() -> None:
        first, second, third = (await tourist.call("test_multiple_content_types")).content
        assert first.text == "Multiple content types test:"
        is_picture(second)
        is_text(
            third.resource, "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        )

    async def structure() -> None:
        result = await tourist.call("tour_structured", {"a": 2, "b": 40.5})
        assert result.structured_content == {"sum": 42.5, "label": "sum"}, result
        assert json.loads(text(result)) == result.structured_content

    async def echoes() -> None:
        for sent in ["hello", "", "Zażółć gęślą jaźń 🦀", 'line\nline "quoted" \\ \u2028', "x" * 2**20]:
            assert text(await tourist.call("tour_echo", {"text": sent})) == sent

    async def in_header() -> None:
        result = await tourist.call("test_x_mcp_header", {"region": "Zürich 🦀", "level": 3})
        assert text(result) == "region=Zürich 🦀, level=3"

    return {
        "is answered with content of each kind": kinds,
        "is answered with several kinds at once": several,
        "is answered in structure, and the same in text": structure,
        "gets any text back, a megabyte too": echoes,
        "sends an argument in a header too": in_header,
    }


def failures(tourist: Tourist) -> dict[str, Check]:
    kind = tourist.kind

    async def fails() -> None:
        result = await tourist.call("test_error_handling")
        assert result.is_error and text(result) == "This tool intentionally returns an error for testing", result

    async def points_at_arguments() -> None:
        result = await tourist.call("tour_structured", {"a": "one", "b": 2})
        assert result.is_error and "/a" in text(result), result

    async def knows_no_such_tool() -> None:
        assert (await error_of(tourist.call("no_such_tool"))).code == INVALID_PARAMS

    async def knows_no_such_resource() -> None:
        uri = "test://nonexistent-resource-for-conformance-testing"
        error = await error_of(kind.read(tourist.client, uri))
        assert error.code == (RESOURCE_NOT_FOUND if tourist.target.is_legacy else INVALID_PARAMS), error
        assert error.data == {"uri": uri}, error.data

    async def knows_no_such_prompt() -> None:
        assert (await error_of(kind.prompt(tourist.client, "no_such_prompt", None))).code == INVALID_PARAMS
        half = kind.prompt(tourist.client, "test_prompt_with_arguments", {"arg1": "one"})
        assert (await error_of(half)).code == INVALID_PARAMS

    async def knows_no_such_cursor() -> None:
        assert (await error_of(kind.resources(tourist.client, "no-such-cursor"))).code == INVALID_PARAMS

    return {
        "a tool that fails is a result": fails,
        "wrong arguments are a result that points at them": points_at_arguments,
        "an unknown tool is an error": knows_no_such_tool,
        "an unknown resource is an error that names it": knows_no_such_resource,
        "an unknown prompt, and one without its arguments, are errors": knows_no_such_prompt,
        "a cursor that the server did not make is an error": knows_no_such_cursor,
    }


def on_the_way(tourist: Tourist) -> dict[str, Check]:
    async def tells_progress() -> None:
        told: list[tuple[float, float | None]] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total))

        await tourist.call("test_tool_with_progress", on_progress=listen)
        assert told == [(0, 100), (50, 100), (100, 100)], told

    async def logged(meta: dict[str, str] | None = None) -> list[Any]:
        tourist.told("")
        await tourist.call("test_tool_with_logging", meta=meta)
        await asyncio.sleep(BREATH)
        return tourist.told("notifications/message")

    async def logs_from_the_level() -> None:
        for level in [None, "debug", "info"]:
            if level is not None:
                await tourist.kind.set_level(tourist.client, level)
            lines = await logged()
            assert [line.data for line in lines] == LOGGED, (level, lines)
            assert {line.level for line in lines} == {"info"}, lines
        await tourist.kind.set_level(tourist.client, "warning")
        assert await logged() == []
        await tourist.kind.set_level(tourist.client, "info")

    async def logs_if_asked() -> None:
        for level, wanted in [("info", LOGGED), ("debug", LOGGED), ("warning", [])]:
            lines = await logged({LOG_LEVEL: level})
            assert [line.data for line in lines] == wanted, (level, lines)
        unasked = await logged()
        assert [line.data for line in unasked] == (LOGGED if tourist.kind.always_asks_for_logs else []), unasked

    logs = (
        {"is told what a tool logs, from the level that it sets": logs_from_the_level}
        if tourist.target.is_legacy
        else {"is told what a tool logs, if it asks for it": logs_if_asked}
    )
    return {"is told the progress that it asks for": tells_progress, **logs}


def cancellation(tourist: Tourist) -> dict[str, Check]:
    async def seen(tag: str) -> dict[str, Any] | None:
        return (await tourist.call("tour_slow_status", {"tag": tag})).structured_content

    async def ends() -> None:
        tag = str(uuid.uuid4())
        assert await seen(tag) == {"started": False, "cancelled": False, "completed": False}
        assert text(await tourist.call("tour_slow", {"ms": 50, "tag": tag})) == "slept for 50 ms"
        assert await seen(tag) == {"started": True, "cancelled": False, "completed": True}

    async def is_given_up() -> None:
        tag = str(uuid.uuid4())

        async def has(mark: str) -> bool:
            return bool((await seen(tag) or {})[mark])

        pending = asyncio.create_task(tourist.call("tour_slow", {"ms": 60_000, "tag": tag}))
        await until(lambda: has("started"))
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        await until(lambda: has("cancelled"))
        assert await seen(tag) == {"started": True, "cancelled": True, "completed": False}

    return {"a call runs to its end": ends, "a call that is given up is stopped": is_given_up}


def resources(tourist: Tourist) -> dict[str, Check]:
    kind = tourist.kind

    async def pages() -> AsyncIterator[list[str]]:
        cursor = None
        while True:
            page = await kind.resources(tourist.client, cursor)
            yield [str(resource.uri) for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                return

    async def read(uri: str) -> Any:
        [contents] = (await kind.read(tourist.client, uri)).contents
        assert str(contents.uri) == uri, contents
        return contents

    async def lists() -> None:
        listed = [page async for page in pages()]
        assert [len(page) for page in listed] == [10, 10, 9], listed
        assert sorted(sum(listed, [])) == sorted(RESOURCES), listed

    async def reads() -> None:
        fixed = await read("test://static-text")
        is_text(fixed, "test://static-text", "text/plain", "This is the content of the static text resource.")
        picture = await read("test://static-binary")
        assert picture.mime_type == "image/png" and base64.b64decode(picture.blob).startswith(PNG), picture
        assert (await read("tour://item/25")).text == "This is item 25."

    async def reads_by_template() -> None:
        templates = (await kind.templates(tourist.client)).resource_templates
        assert [one.uri_template for one in templates] == ["test://template/{id}/data"], templates
        data = await read("test://template/123/data")
        assert data.mime_type == "application/json", data
        assert json.loads(data.text) == {"id": "123", "templateTest": True, "data": "Data for ID: 123"}, data

    return {
        "lists the resources in pages of ten": lists,
        "reads a text and a picture": reads,
        "reads by a template": reads_by_template,
    }


def prompts(tourist: Tourist) -> dict[str, Check]:
    kind = tourist.kind

    async def get(name: str, **arguments: str) -> Any:
        return (await kind.prompt(tourist.client, name, arguments or None)).messages

    async def complete(ref: PromptReference | ResourceTemplateReference, name: str, value: str) -> list[str]:
        return (await kind.complete(tourist.client, ref, {"name": name, "value": value})).completion.values

    async def lists() -> None:
        listed = (await kind.prompts(tourist.client)).prompts
        assert sorted(prompt.name for prompt in listed) == PROMPTS, listed
        [filled] = [prompt for prompt in listed if prompt.name == "test_prompt_with_arguments"]
        assert [(one.name, one.required) for one in filled.arguments] == [("arg1", True), ("arg2", True)], filled

    async def gets() -> None:
        [simple] = await get("test_simple_prompt")
        assert (simple.role, simple.content.text) == ("user", "This is a simple prompt for testing."), simple
        [filled] = await get("test_prompt_with_arguments", arg1="one", arg2="two")
        assert filled.content.text == "Prompt with arguments: arg1='one', arg2='two'", filled
        uri = "test://static-text"
        resource, please = await get("test_prompt_with_embedded_resource", resourceUri=uri)
        is_text(resource.content.resource, uri, "text/plain", "Embedded resource content for testing.")
        assert please.content.text == "Please process the embedded resource above.", please
        image, analyze = await get("test_prompt_with_image")
        is_picture(image.content)
        assert analyze.content.text == "Please analyze the image above.", analyze

    async def completes() -> None:
        prompt = PromptReference(name="test_prompt_with_arguments")
        assert await complete(prompt, "arg1", "par") == ["paris", "park", "party"]
        assert await complete(prompt, "arg1", "park") == ["park"]
        assert await complete(prompt, "arg2", "par") == []
        template = ResourceTemplateReference(uri="test://template/{id}/data")
        assert await complete(template, "id", "1") == ["1", "12", "123"]
        assert await complete(template, "id", "12") == ["12", "123"]

    return {
        "lists the prompts": lists,
        "gets prompts of text, with a resource and with a picture": gets,
        "completes arguments of prompts and templates": completes,
    }


def changes(tourist: Tourist) -> dict[str, Check]:
    kind = tourist.kind

    async def touch(uri: str) -> None:
        await tourist.call("tour_touch_resource", {"uri": uri})

    async def watches() -> None:
        async with kind.watch(tourist.client, WATCHED):
            tourist.told("")
            await touch("test://static-text")
            await touch(WATCHED)
            [update] = await tourist.hears("notifications/resources/updated")
            assert str(update.uri) == WATCHED, update
        await asyncio.sleep(SILENCE)
        tourist.told("")
        await touch(WATCHED)
        await asyncio.sleep(SILENCE)
        assert tourist.told("notifications/resources/updated") == []

    async def follows_lists() -> None:
        async with kind.follow_lists(tourist.client):
            await tourist.call("test_trigger_tool_change")
            await tourist.hears("notifications/tools/list_changed")
            await tourist.call("test_trigger_prompt_change")
            await tourist.hears("notifications/prompts/list_changed")

    return {
        "is told of the resource that it watches, and of no other": watches,
        "is told when lists have changed": follows_lists,
    }


def crowds(tourist: Tourist) -> dict[str, Check]:
    kind = tourist.kind

    async def answers_many() -> None:
        sent = [f"number {at}" for at in range(20)]
        results = await asyncio.gather(*(tourist.call("tour_echo", {"text": one}) for one in sent))
        assert [text(result) for result in results] == sent

    async def serves_two() -> None:
        other = tourist.other()
        await other.visit.enter()
        ours, theirs = await asyncio.gather(
            tourist.call("tour_echo", {"text": "ours"}), other.call("tour_echo", {"text": "theirs"})
        )
        assert (text(ours), text(theirs)) == ("ours", "theirs")
        await other.visit.leave()
        assert text(await tourist.call("tour_echo", {"text": "still"})) == "still"

    async def hears_of_others() -> None:
        other = tourist.other()
        await other.visit.enter()
        async with kind.watch(other.client, WATCHED):
            await tourist.call("tour_touch_resource", {"uri": WATCHED})
            [update] = await other.hears("notifications/resources/updated")
            assert str(update.uri) == WATCHED, update
        await other.visit.leave()

    async def connects_again() -> None:
        await tourist.visit.leave()
        tourist.visit = kind.visit()
        await tourist.visit.enter()
        assert text(await tourist.call("tour_echo", {"text": "again"})) == "again"

    # On a pipe each client has a server of its own.
    shared = {} if tourist.target.is_pipe else {"is told of what another client changes": hears_of_others}
    return {
        "twenty calls at once are answered each to its own": answers_many,
        "two clients are served at once": serves_two,
        **shared,
        "connects again": connects_again,
    }


def session(tourist: Tourist) -> dict[str, Check]:
    """What a session of the legacy era adds."""

    async def answers_ping() -> None:
        await tourist.kind.ping(tourist.client)

    async def comes_back() -> None:
        result = await tourist.call("test_reconnection")
        assert text(result) == "The stream was closed, and the answer came.", result

    resumes = {} if tourist.target.is_pipe else {"comes back for the answer when the server closes the stream": comes_back}
    return {"answers a ping": answers_ping, **resumes}


def is_picture(content: Any) -> None:
    assert (content.type, content.mime_type) == ("image", "image/png"), content
    assert base64.b64decode(content.data).startswith(PNG)


def is_text(contents: Any, uri: str, mime_type: str, wanted: str) -> None:
    assert (str(contents.uri), contents.mime_type, contents.text) == (uri, mime_type, wanted), contents
