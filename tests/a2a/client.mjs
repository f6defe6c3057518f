// The official JavaScript client: client.mjs ORIGIN TOKEN BINDING. Ends with "ok", or with what went wrong.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';

const [origin, token, binding] = process.argv.slice(2);
const options = { serviceParameters: { Authorization: `Bearer ${token}`, 'A2A-Version': '1.0' } };
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [binding] }),
);
const client = await factory.createFromUrl(origin);

function says(text, agent, place = {}) {
  const part = { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' };
  const message = {
    messageId: randomUUID(), role: Role.ROLE_USER, parts: [part], taskId: '', contextId: '', extensions: [],
    metadata: undefined, referenceTaskIds: [], ...place,
  };
  return { tenant: agent, message, configuration: undefined, metadata: undefined };
}

async function told(stream) {
  const events = [];
  for await (const event of stream) events.push(event.payload);
  return events;
}

const texts = (artifacts) => artifacts.flatMap((artifact) => artifact.parts.map((part) => part.content.value));

// Streamed.
const events = await told(client.sendMessageStream(says('What is it?', 'thinker'), options));
assert.equal(events[0].$case, 'task');
assert.equal(events.at(-1).value.status.state, TaskState.TASK_STATE_COMPLETED);
assert.deepEqual(texts(events.filter((one) => one.$case === 'artifactUpdate').map((one) => one.value.artifact)), ['A loom.']);
const first = events[0].value;
const got = await client.getTask({ tenant: '', id: first.id, historyLength: undefined }, options);
assert.deepEqual(texts(got.artifacts), ['A loom.']);

// Not streamed, with a question in between.
const task = await client.sendMessage(says('Paint it', 'clarification'), options);
assert.equal(task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
const place = { taskId: task.id, contextId: task.contextId };
const done = await client.sendMessage(says('blue', '', place), options);
assert.equal(done.status.state, TaskState.TASK_STATE_COMPLETED);

// Listed, followed, cancelled.
const query = { tenant: '', contextId: first.contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '' };
const listed = await client.listTasks(query, options);
assert.deepEqual(listed.tasks.map((one) => one.id), [first.id]);
const slow = says('Slowly', 'thinker');
slow.configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true };
const working = await client.sendMessage(slow, options);
const following = told(client.resubscribeTask({ tenant: '', id: working.id }, options));
await new Promise((resolve) => setTimeout(resolve, 300));
const cancelled = await client.cancelTask({ tenant: '', id: working.id, metadata: undefined }, options);
assert.equal(cancelled.status.state, TaskState.TASK_STATE_CANCELED);
assert.equal((await following).at(-1).value.status.state, TaskState.TASK_STATE_CANCELED);
await assert.rejects(client.getTask({ tenant: '', id: 'nobody', historyLength: undefined }, options), /no task/);
console.log('ok');
