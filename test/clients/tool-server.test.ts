import { expect, onTestFinished, test } from 'vitest';
import { createToolServer, type ToolServer } from '../../src/clients/tool-server.ts';
import {
  answerJson,
  beginEvents,
  type FakeTool,
  type Misbehave,
  type RawMessage,
  startRawToolServer,
  startToolServer,
  TOOL_SERVERS,
} from '../fakes/tool-server.ts';
import { eventually } from '../helpers/eventually.ts';
import { recordingLog } from '../helpers/recording-log.ts';

const TOKEN = 'Bearer tok_0123456789abcdef';

const LOOK: FakeTool = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
  annotations: { readOnlyHint: true },
};

function clientOf(
  { url }: { url: string },
  options: Partial<Parameters<typeof createToolServer>[1]> & { name?: string; token?: string } = {},
): ToolServer {
  const { name = 'fake', token = TOKEN, ...more } = options;
  const address = { name, url, headers: { authorization: token } };
  const client = createToolServer(address, { version: '1.2.3', ...more });
  onTestFinished(() => client.close());
  return client;
}

/** Calls the only tool of a raw server and returns the error. */
async function fails(misbehave: Misbehave, limits: { callMs?: number } = {}) {
  const server = await startRawToolServer(misbehave);
  const client = clientOf(server, { limits });
  await client.list().catch(() => {});
  const failure = await client.call({ name: 'look', inputSchema: {} }, {}).catch((error) => error);
  expect(failure).toBeInstanceOf(Error);
  return { server, client, failure: failure as Error };
}

/** Wait for something that must not arrive. */
const SHORT_MS = 500;

/** Does something with calls of tools alone. */
const onCall =
  (misbehave: Misbehave): Misbehave =>
  (message, response, request) =>
    message.method === 'tools/call' ? misbehave(message, response, request) : undefined;

test.each(Object.entries(TOOL_SERVERS))('lists and calls the tools of %s', async (_, start) => {
  const server = await start({ tools: [LOOK, { name: 'do' }] });
  const client = clientOf(server);
  expect(client.health()).toEqual({ state: 'unknown' });
  expect(await client.list()).toEqual({
    isPartial: false,
    entries: [
      {
        name: 'look',
        description: 'Looks.',
        inputSchema: LOOK.inputSchema,
        isReadOnly: true,
        isDestructive: false,
      },
      {
        name: 'do',
        description: '',
        inputSchema: { type: 'object' },
        isReadOnly: false,
        isDestructive: true,
      },
    ],
  });
  const answer = await client.call({ name: 'look', inputSchema: {} }, { at: 'it' });
  expect(answer).toEqual({ text: '{"at":"it"}', isError: false });
  expect(client.health()).toEqual({ state: 'answers' });
  expect(server.headers.every(({ authorization }) => authorization === TOKEN)).toBe(true);
  expect(server.calls).toEqual([{ name: 'look', input: { at: 'it' } }]);
});

test('a session that the server forgot is begun anew, and the call is done once', async () => {
  let forgets = false;
  const server = await startRawToolServer(({ method }, response, { headers }) => {
    if (method === 'initialize') response.setHeader('mcp-session-id', forgets ? 'second' : 'first');
    else if (forgets && headers['mcp-session-id'] === 'first') {
      response.writeHead(404).end();
      return true;
    }
    return undefined;
  });
  const client = clientOf(server);
  await client.list();
  forgets = true;
  expect(await client.call({ name: 'look', inputSchema: {} }, { a: 1 })).toMatchObject({
    text: '{"a":1}',
  });
  expect(server.calls).toHaveLength(1);
});

test('a call whose events the server closes in order to be polled is resumed after the last one', async () => {
  const resumed: unknown[] = [];
  let isClosed = false;
  let id: RawMessage['id'];
  const server = await startRawToolServer((message, response, { method, headers }) => {
    if (method !== 'GET' && message.method !== 'tools/call') return undefined;
    if (method === 'GET') resumed.push(headers['last-event-id']);
    else id = message.id;
    const send = beginEvents(response);
    if (resumed.length === 2) {
      send({ id, result: { content: [{ type: 'text', text: 'done' }] } });
      // It stays open, as servers leave it.
      response.on('close', () => {
        isClosed = true;
      });
      return true;
    }
    response.end(`id: ${resumed.length}\nretry: 300\ndata: \n\n`);
    return true;
  });
  const answer = await clientOf(server).call({ name: 'look', inputSchema: {} }, {});
  expect(answer).toEqual({ text: 'done', isError: false });
  expect(resumed).toEqual(['0', '1']);
  await eventually(() => isClosed);
});

test('gives a session back when it is closed', async () => {
  const methods: Array<string | undefined> = [];
  const server = await startRawToolServer(({ method }, response, request) => {
    methods.push(request.method);
    if (method === 'initialize') response.setHeader('mcp-session-id', 'first');
    if (request.method !== 'DELETE') return undefined;
    response.writeHead(200).end();
    return true;
  });
  const client = clientOf(server);
  await client.list();
  await client.close();
  expect(methods.at(-1)).toBe('DELETE');
  // The client never opens a stream for messages from the server.
  expect(methods).not.toContain('GET');
});

test.each<[string, Misbehave, RegExp]>([
  ['hangs', () => true, /fake did not answer within 0\.5 s\./],
  [
    'begins to answer and hangs',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"jsonrpc":"2.0",');
      return true;
    },
    /fake did not answer within 0\.5 s\./,
  ],
  [
    'sends events for ever',
    (_, response) => {
      const send = beginEvents(response);
      const sending = setInterval(
        () => send({ method: 'notifications/message', params: { level: 'info', data: 'x' } }),
        5,
      );
      response.once('close', () => clearInterval(sending));
      return true;
    },
    /fake did not answer within 0\.5 s\./,
  ],
  [
    'dies in mid-answer',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"jsonrpc":"2.0",');
      setTimeout(() => response.destroy(), 10);
      return true;
    },
    /fake lost its connection: /,
  ],
  [
    'ends its events without an answer',
    (_, response) => {
      beginEvents(response);
      response.end();
      return true;
    },
    /fake ended its answer early\./,
  ],
  [
    'sends 10 MB',
    ({ id }, response) => {
      const text = 'x'.repeat(10_000_000);
      answerJson(response, { id, result: { content: [{ type: 'text', text }] } });
      return true;
    },
    /fake sent more than 1 MB at once\./,
  ],
  [
    'sends what is nested a hundred thousand times',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('['.repeat(100_000) + ']'.repeat(100_000));
      return true;
    },
    /fake sent data that is nested more than 200 levels deep\./,
  ],
  [
    'hides in a comment how deep it is nested',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`: "\ndata: ${'['.repeat(1_000)}${']'.repeat(1_000)}\n\n`);
      return true;
    },
    /fake sent data that is nested more than 200 levels deep\./,
  ],
  [
    'packs its answer',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end('x');
      return true;
    },
    /fake sent a compressed answer/,
  ],
  [
    'answers with a page',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<h1>Welcome</h1>');
      return true;
    },
    /fake sent an answer that breaks the protocol\./,
  ],
  [
    'answers with a result of the wrong shape',
    ({ id }, response) => {
      answerJson(response, { id, result: { content: 'x' } });
      return true;
    },
    /fake sent an answer that breaks the protocol\./,
  ],
  [
    'fails',
    (_, response) => {
      response.writeHead(500).end('Traceback: password=hunter2');
      return true;
    },
    /^fake answered with status 500\.$/,
  ],
])('a call of a server that %s ends with a sentence', async (_, misbehave, said) => {
  const { failure } = await fails(
    onCall(misbehave),
    said.source.includes('did not answer') ? { callMs: SHORT_MS } : {},
  );
  expect(failure.message).toMatch(said);
});

test.each<[string, string]>([
  ['in its first message', 'server/discover'],
  ['in its handshake', 'initialize'],
  ['in its list', 'tools/list'],
])('a server that hangs %s ends a list with a sentence', async (_, method) => {
  const server = await startRawToolServer((message) => message.method === method || undefined);
  const client = clientOf(server, { limits: { listMs: 300 } });
  await expect(client.list()).rejects.toThrow('fake did not answer within 0.3 s.');
});

test('a list that never ends is read in part', async () => {
  const server = await startRawToolServer(({ id, method, params }, response) => {
    if (method !== 'tools/list') return undefined;
    const at = Number(params.cursor ?? 0);
    const tools = [{ name: `tool${at}`, inputSchema: { type: 'object' } }];
    answerJson(response, { id, result: { tools, nextCursor: `${at + 1}` } });
    return true;
  });
  const { entries, isPartial } = await clientOf(server).list();
  expect(entries.map(({ name }) => name)).toEqual(
    Array.from({ length: 20 }, (_, at) => `tool${at}`),
  );
  expect(isPartial).toBe(true);
});

test('a definition that cannot be used says why, and leaves the others as they are', async () => {
  let deep: object = { type: 'string' };
  for (let at = 0; at < 30; at += 1) deep = { type: 'object', properties: { a: deep } };
  const tools = [
    { name: 'huge', inputSchema: { type: 'object', description: 'x'.repeat(20_000) } },
    { name: 'deep', inputSchema: deep },
    { name: 'odd', inputSchema: { type: 'array' } },
    { name: 'worse', inputSchema: null },
    { description: 'Has no name.', inputSchema: { type: 'object' } },
    { ...LOOK, description: 7 },
    { ...LOOK, name: 'twice', description: 'First.' },
    { ...LOOK, name: 'twice', description: 'Second.' },
  ];
  const server = await startRawToolServer(({ id, method }, response) => {
    if (method !== 'tools/list') return undefined;
    answerJson(response, { id, result: { tools } });
    return true;
  });
  const { entries } = await clientOf(server).list();
  expect(entries).toEqual([
    { name: 'huge', problem: 'Its schema is longer than 16 KB.' },
    { name: 'deep', problem: 'Its schema is nested too deep.' },
    { name: 'odd', problem: 'Its definition breaks the protocol.' },
    { name: 'worse', problem: 'Its definition breaks the protocol.' },
    { name: 'look', problem: 'Its definition breaks the protocol.' },
    expect.objectContaining({ name: 'twice', description: 'First.' }),
  ]);
});

test('what nobody sees is in no definition, and a long description is cut', async () => {
  const hidden = 'a\u200bb\u202ec\u{e0041}d';
  const server = await startToolServer({
    tools: [
      {
        name: 'look',
        description: `${hidden}\nnext ${'x'.repeat(5_000)}`,
        inputSchema: { type: 'object', properties: { [hidden]: { description: hidden } } },
      },
    ],
  });
  const { entries } = await clientOf(server).list();
  expect(entries).toEqual([
    expect.objectContaining({
      description: expect.stringMatching(/^abcd\nnext x+$/),
      inputSchema: { type: 'object', properties: { abcd: { description: 'abcd' } } },
    }),
  ]);
  expect((entries[0] as { description: string }).description).toHaveLength(1_024);
});

test('a result is cut at 20 KB, and says what it was', async () => {
  const text = `${'é'.repeat(9_999)}ab€${'x'.repeat(30_000)}`;
  const server = await startToolServer({
    tools: [LOOK],
    call: () => ({ content: [{ type: 'text', text }] }),
  });
  const answer = await clientOf(server).call({ name: 'look', inputSchema: {} }, {});
  expect(answer).toEqual({
    text: `${'é'.repeat(9_999)}ab`,
    cutFromBytes: Buffer.byteLength(text),
    isError: false,
  });
});

test('what is no text is named, and a structured result comes as JSON', async () => {
  const server = await startToolServer({ tools: [LOOK] });
  const client = clientOf(server);
  server.offer.call = () => ({
    content: [
      { type: 'text', text: 'Here:' },
      { type: 'image', mimeType: 'image/png', data: 'aGk=' },
      { type: 'resource', resource: { uri: 'file:///a', text: 'of a file' } },
      { type: 'resource', resource: { uri: 'file:///b', blob: 'aGk=' } },
      { type: 'resource_link', uri: 'https://a.example', name: 'a' },
    ],
  });
  const look = () => client.call({ name: 'look', inputSchema: {} }, {});
  expect((await look()).text).toBe(
    'Here:\n[image, image/png: not read]\nof a file\n[resource: not read]\n[link: a https://a.example]',
  );
  server.offer.call = () => ({
    content: [{ type: 'text', text: 'one' }],
    structuredContent: { a: 1 },
  });
  expect((await look()).text).toBe('{"a":1}');
  server.offer.call = () => ({
    content: [{ type: 'text', text: 'No such thing.' }],
    isError: true,
  });
  expect(await look()).toEqual({ text: 'No such thing.', isError: true });
});

test.each(['sampling/createMessage', 'elicitation/create', 'roots/list'])(
  'a server that asks for %s is refused, and the call goes on',
  async (method) => {
    const refusals: unknown[] = [];
    let send: ReturnType<typeof beginEvents> | undefined;
    let called: number | string | undefined;
    const server = await startRawToolServer((message, response) => {
      if (message.method === 'tools/call') {
        called = message.id;
        send = beginEvents(response);
        const params = {
          messages: [],
          maxTokens: 10,
          message: 'Your password?',
          requestedSchema: { type: 'object', properties: {} },
        };
        send({ id: 'ask', method, params });
        return true;
      }
      if (message.id !== 'ask') return undefined;
      refusals.push((message as { error?: unknown }).error);
      send?.({ id: called, result: { content: [{ type: 'text', text: 'Without, then.' }] } });
      response.writeHead(202).end();
      return true;
    });
    const answer = await clientOf(server).call({ name: 'look', inputSchema: {} }, {});
    expect(answer.text).toBe('Without, then.');
    expect(refusals).toEqual([expect.objectContaining({ code: -32601 })]);
    const { capabilities } =
      server.messages.find((one) => one.method === 'initialize')?.params ?? {};
    expect(capabilities).toEqual({});
  },
);

test('a server that asks without end is not answered without end', async () => {
  let send: ReturnType<typeof beginEvents> | undefined;
  let called: RawMessage['id'];
  const refusals: RawMessage[] = [];
  const server = await startRawToolServer((message, response) => {
    if (message.method === 'tools/call') {
      called = message.id;
      send = beginEvents(response);
      for (let at = 0; at < 200; at += 1) send({ id: `ask${at}`, method: 'roots/list' });
      return true;
    }
    if (!String(message.id).startsWith('ask')) return undefined;
    refusals.push(message);
    response.writeHead(202).end();
    if (refusals.length === 19) send?.({ id: called, result: { content: [] } });
    return true;
  });
  const client = clientOf(server);
  expect(await client.call({ name: 'look', inputSchema: {} }, {})).toMatchObject({ text: '' });
  // Everything sent before this call has arrived by now.
  await client.list();
  expect(refusals).toHaveLength(19);
});

test('a redirect to another origin is not followed, and nothing is sent there', async () => {
  const other = await startRawToolServer(() => undefined);
  for (const status of [301, 302, 303, 307, 308]) {
    const { failure } = await fails((_, response) => {
      response.writeHead(status, { location: other.url }).end();
      return true;
    });
    expect(failure.message).toBe(
      `fake redirects to ${new URL(other.url).origin}, which is not followed. If it moved there, set that as its \`url\`.`,
    );
  }
  expect(other.headers).toEqual([]);
});

test('a redirect within the server is followed, as to the same path with a slash', async () => {
  const server = await startRawToolServer((_, response, { url = '' }) => {
    if (url.endsWith('/')) return undefined;
    response.writeHead(307, { location: `${url}/` }).end();
    return true;
  });
  expect(await clientOf(server).call({ name: 'look', inputSchema: {} }, {})).toMatchObject({
    text: '{}',
  });
});

test.each([401, 403])('a %i that names where to log in begins no login', async (status) => {
  const elsewhere = await startRawToolServer(() => undefined);
  const { failure, server } = await fails((_, response) => {
    const metadata = `${elsewhere.url}/.well-known/oauth-protected-resource`;
    response
      .writeHead(status, {
        'www-authenticate': `Bearer error="insufficient_scope", scope="all", resource_metadata="${metadata}"`,
      })
      .end();
    return true;
  });
  expect(failure.message).toBe(`fake answered with status ${status}.`);
  expect(elsewhere.headers).toEqual([]);
  // For the list and for the call, each once.
  expect(server.messages).toHaveLength(2);
});

test('a server that repeats its token gives it on to nobody', async () => {
  const secret = TOKEN.slice('Bearer '.length);
  const server = await startToolServer({
    tools: [{ ...LOOK, description: `Use ${secret}.` }],
    call: (_, { how }) => {
      if (how === 'error') throw new Error(`I do not like ${secret}.`);
      return how === 'text'
        ? { content: [{ type: 'text', text: `You are ${TOKEN}.` }] }
        : { content: [], structuredContent: { you: secret } };
    },
  });
  const { log, lines } = recordingLog();
  const client = clientOf(server, { log });
  const look = (how: string) => client.call({ name: 'look', inputSchema: {} }, { how });
  const said = [
    JSON.stringify((await client.list()).entries),
    (await look('text')).text,
    (await look('structured')).text,
    ((await look('error').catch((error) => error)) as Error).message,
    JSON.stringify(lines),
  ];
  expect(said.filter((text) => text.includes(secret))).toEqual([]);
  expect(said.slice(0, 4).every((text) => text.includes('[secret]'))).toBe(true);
});

test('a refusal of the server is told in its own words, on one line', async () => {
  const { failure } = await fails(
    onCall(({ id }, response) => {
      answerJson(response, {
        id,
        error: { code: -32602, message: `No\n such\u202e tool${'!'.repeat(500)}` },
      });
      return true;
    }),
  );
  expect(failure.name).toBe('ToolRefusedError');
  expect(failure.message).toMatch(/^No such tool!+…$/);
  expect(failure.message.length).toBeLessThan(320);
});

test('a call that was sent and not answered says that nobody knows whether it was done', async () => {
  const { failure } = await fails(
    onCall(() => true),
    { callMs: SHORT_MS },
  );
  expect(failure.name).toBe('UnknownOutcomeError');
  const refused = await fails(
    onCall((_, response) => {
      response.writeHead(403).end();
      return true;
    }),
  );
  expect(refused.failure.name).toBe('StatusError');
  const gone = await startRawToolServer(() => undefined);
  await gone.close();
  const failure2 = await clientOf(gone)
    .call({ name: 'look', inputSchema: {} }, {})
    .catch((error) => error);
  expect(failure2.message).toMatch(/fake could not be reached: /);
  expect(failure2.name).toBe('NetworkError');
});

test('a server that fails three times is left alone, longer each time, until one call shows that it answers', async () => {
  let fails = true;
  const server = await startRawToolServer((_, response) => {
    if (!fails) return undefined;
    response.writeHead(500).end();
    return true;
  });
  let nowMs = 1_000_000;
  const { log, lines } = recordingLog();
  const client = clientOf(server, { nowMs: () => nowMs, log });
  const list = () =>
    client.list().then(
      () => 'lists',
      (error: Error) => error.name,
    );
  expect([await list(), await list(), await list()]).toEqual([
    'StatusError',
    'StatusError',
    'StatusError',
  ]);
  const sent = server.messages.length;
  expect(await list()).toBe('CircuitOpenError');
  expect(server.messages).toHaveLength(sent);
  expect(client.health()).toEqual({
    state: 'fails',
    problem: 'fake answered with status 500.',
    openUntilMs: nowMs + 30_000,
  });
  nowMs += 30_000;
  expect(await Promise.all([list(), list()])).toEqual(['StatusError', 'CircuitOpenError']);
  expect(client.health().openUntilMs).toBe(nowMs + 60_000);
  nowMs += 60_000;
  fails = false;
  expect(await list()).toBe('lists');
  expect(client.health()).toEqual({ state: 'answers' });
  expect(lines.map(({ msg }) => msg)).toEqual([
    'tool server failing; skipping it for a while',
    'tool server answers again',
  ]);
});

test('whoever goes away leaves the server as it was, and others their call', async () => {
  const server = await startRawToolServer(
    onCall(({ params }) => params.arguments.hang === true || undefined),
  );
  const client = clientOf(server, { limits: {} });
  const gone = new AbortController();
  const hanging = client.call({ name: 'look', inputSchema: {} }, { hang: true }, gone.signal);
  const other = client.call({ name: 'look', inputSchema: {} }, { a: 1 });
  expect((await other).text).toBe('{"a":1}');
  gone.abort(new Error('gone'));
  await expect(hanging).rejects.toThrow('gone');
  expect(client.health()).toEqual({ state: 'answers' });
});
