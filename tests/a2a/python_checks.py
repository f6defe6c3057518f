"""The official Python client, over JSON-RPC and over HTTP with JSON."""

import asyncio
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from world import served

BINDINGS = ["JSONRPC", "HTTP+JSON"]


def says(text, agent="thinker", at_once=False, **place):
    message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)], **place)
    configuration = SendMessageConfiguration(return_immediately=at_once)
    return SendMessageRequest(tenant=agent, message=message, configuration=configuration)


def over(check):
    """The check with a client over each binding, streaming or not."""

    async def one(server, binding, streaming):
        headers = {"Authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(headers=headers, timeout=60) as http:
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], streaming=streaming)
            card = await A2ACardResolver(http, server.origin).get_agent_card()
            await check(ClientFactory(config).create(card), streaming)

    def run(updraft, _):
        with served(updraft) as server:
            for binding in BINDINGS:
                for streaming in (True, False):
                    asyncio.run(one(server, binding, streaming))

    run.__name__ = check.__name__
    return run


async def raises(kind, awaited):
    try:
        await awaited
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


async def events(stream):
    return [event async for event in stream]


async def end_of(stream):
    """The last task that a stream tells of, and the texts of its artifacts."""
    state, task, texts = None, None, []
    for event in await events(stream):
        if event.HasField("task"):
            task, state = event.task, event.task.status.state
            texts += [part.text for artifact in event.task.artifacts for part in artifact.parts]
        elif event.HasField("status_update"):
            state = event.status_update.status.state
        elif event.HasField("artifact_update"):
            texts += [part.text for part in event.artifact_update.artifact.parts]
    return task, state, texts


@over
async def check_a_message_is_answered(client, streaming):
    task, state, texts = await end_of(client.send_message(says("What is it?")))
    assert (state, texts) == (TaskState.TASK_STATE_COMPLETED, ["A loom."]), (state, texts)
    got = await client.get_task(GetTaskRequest(id=task.id))
    assert got.history[0].parts[0].text == "What is it?", got
    follow = says("And now?", context_id=got.context_id)
    task, state, _ = await end_of(client.send_message(follow))
    assert (task.context_id, state) == (got.context_id, TaskState.TASK_STATE_COMPLETED)
    listed = await client.list_tasks(ListTasksRequest(context_id=got.context_id, page_size=1))
    assert (len(listed.tasks), listed.total_size, listed.tasks[0].id) == (1, 2, task.id), listed
    rest = await client.list_tasks(ListTasksRequest(context_id=got.context_id, page_token=listed.next_page_token))
    assert [one.id for one in rest.tasks] == [got.id] and rest.next_page_token == ""
    card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert any(skill.id == "thinker" for skill in card.skills), card


@over
async def check_a_question_is_answered(client, streaming):
    task, state, _ = await end_of(client.send_message(says("Paint it", "clarification")))
    assert state == TaskState.TASK_STATE_INPUT_REQUIRED, state
    asked = await client.get_task(GetTaskRequest(id=task.id, history_length=0))
    assert asked.status.message.parts[0].text == "Which colour? (red / blue)", asked
    reply = says("blue", "", task_id=task.id, context_id=task.context_id)
    _, state, texts = await end_of(client.send_message(reply))
    assert (state, texts) == (TaskState.TASK_STATE_COMPLETED, ["A loom."]), (state, texts)
    await raises(UnsupportedOperationError, events(client.send_message(says("green", "", task_id=task.id))))


@over
async def check_a_task_is_cancelled_while_somebody_follows_it(client, streaming):
    began = None
    async for event in client.send_message(says("Slowly", at_once=True)):
        began = event.task
        break

    async def follow():
        return await end_of(client.subscribe(SubscribeToTaskRequest(id=began.id)))

    # A client that does not stream cannot follow either.
    followed = asyncio.create_task(follow()) if streaming else None
    await asyncio.sleep(0.3)
    cancelled = await client.cancel_task(CancelTaskRequest(id=began.id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED, cancelled
    if followed:
        task, state, _ = await followed
        assert (task.id, state) == (began.id, TaskState.TASK_STATE_CANCELED), (task, state)
        await raises(UnsupportedOperationError, events(client.subscribe(SubscribeToTaskRequest(id=began.id))))
    await raises(TaskNotCancelableError, client.cancel_task(CancelTaskRequest(id=began.id)))
    await raises(TaskNotFoundError, client.get_task(GetTaskRequest(id="nobody")))


@over
async def check_servers_to_be_told_are_added_and_removed(client, streaming):
    task, _, _ = await end_of(client.send_message(says("Paint it", "clarification")))
    config = TaskPushNotificationConfig(task_id=task.id, url="http://127.0.0.1:9/told", token="t")
    made = await client.create_task_push_notification_config(config)
    assert made.id and made.url == config.url, made
    got = await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=task.id, id=made.id))
    assert got == made, got
    listed = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
    assert list(listed.configs) == [made], listed
    await client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=made.id))
    listed = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
    assert not listed.configs, listed


CHECKS = [
    check_a_message_is_answered,
    check_a_question_is_answered,
    check_a_task_is_cancelled_while_somebody_follows_it,
    check_servers_to_be_told_are_added_and_removed,
]
