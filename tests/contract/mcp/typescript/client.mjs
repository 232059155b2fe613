/**
 * A client of one of the official TypeScript SDKs, for test_typescript.py: it lists the tools, runs a task whose risky action the
 * person at the client decides, cancels a call, and prints what it saw as JSON.
 *
 *   node client.mjs '{"sdk": "v1" | "v2", "version": "…", "url": "…", "token": "…", "goal": "…", "decision": "approve"}'
 *
 * `command` with `args` and `env` in place of `url` starts the server as a program. With `tasks`, it uses the Tasks extension instead:
 * it runs `goal`, and cancels `waiting`.
 */
const settings = JSON.parse(process.argv[2]);
const info = { name: "typescript", version: "1" };
const capabilities = { elicitation: {} };
const questions = [];

function answer({ params }) {
  questions.push(params.message);
  return { action: "accept", content: { decision: settings.decision } };
}

/** The first version of the SDK, which knows the protocol with sessions. */
async function connectV1() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, answer);
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  await client.connect(transport(StreamableHTTPClientTransport, StdioClientTransport));
  return { client, call: (request, options) => client.callTool(request, undefined, options) };
}

/** The second version, which knows the protocol without sessions as well. */
async function connectV2() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = settings.version === "2026-07-28" ? { pin: settings.version } : "legacy";
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", answer);
  await client.connect(transport(StreamableHTTPClientTransport, StdioClientTransport));
  return { client, call: (request, options) => client.callTool(request, options) };
}

function transport(Http, Stdio) {
  const { url, token, command, args, env } = settings;
  if (command) return new Stdio({ command, args, env });
  return new Http(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } });
}

/** Calls a tool, and cancels the call after a while. Returns true if it ended as cancelled. */
async function cancelled(call, request, milliseconds) {
  const cancelling = new AbortController();
  setTimeout(() => cancelling.abort("enough"), milliseconds);
  return call(request, { signal: cancelling.signal }).then(() => false, () => true);
}

/**
 * The Tasks extension. Version 2.4.0 of the SDK has no methods for it, takes no handle as the result of a call, and lets no request
 * of these names pass; its transport does, and adds their headers. Returns a function that makes a request.
 */
function extension({ transport }, { version, capabilities: declared }) {
  const waiting = new Map();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const settle = waiting.get(message.id);
    waiting.delete(message.id);
    (settle ?? ((other) => onmessage?.(other, extra)))(message);
  };
  const prefix = "io.modelcontextprotocol";
  const _meta = { [`${prefix}/protocolVersion`]: version, [`${prefix}/clientInfo`]: info, [`${prefix}/clientCapabilities`]: declared };
  let count = 0;
  return async (method, params) => {
    const id = `extension-${count++}`;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    await transport.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    const { result, error } = await answered;
    return error === undefined ? result : Promise.reject(new Error(`${method}: ${error.message}`));
  };
}

/** Runs a task by its handle, whose question the person answers, then cancels another one. Prints what it saw. */
async function runTasks() {
  const { client } = await connectV2();
  const request = extension(client, { version: settings.version, capabilities: { ...capabilities, extensions: { "io.modelcontextprotocol/tasks": {} } } });
  const begin = (goal) => request("tools/call", { name: "run_task", arguments: { goal } });
  const ended = async ({ taskId, pollIntervalMs }) => {
    const statuses = [];
    for (;;) {
      const state = await request("tasks/get", { taskId });
      if (statuses.at(-1) !== state.status) statuses.push(state.status);
      if (["completed", "cancelled", "failed"].includes(state.status)) return { statuses, state };
      if (state.status === "input_required") {
        const answers = Object.entries(state.inputRequests).map(([key, asked]) => [key, answer(asked)]);
        await request("tasks/update", { taskId, inputResponses: Object.fromEntries(answers) });
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(pollIntervalMs, 200)));
    }
  };
  const handle = await begin(settings.goal);
  const decided = await ended(handle);
  const late = await request("tasks/update", { taskId: handle.taskId, inputResponses: {} }).then(() => "", (error) => error.message);
  const waiting = await begin(settings.waiting);
  await request("tasks/cancel", { taskId: waiting.taskId });
  const cancelled = await ended(waiting);
  await client.close();
  return { handle, decided, late, waiting, cancelled, questions };
}

if (settings.tasks) {
  console.log(JSON.stringify(await runTasks()));
  process.exit(0);
}
const { client, call } = settings.sdk === "v1" ? await connectV1() : await connectV2();
const server = client.getServerVersion()?.name;
const { tools } = await client.listTools();
const decided = await call({ name: "run_task", arguments: { goal: settings.goal } });
const stopped = await cancelled(call, { name: "run_task", arguments: { goal: "wait 40 seconds" } }, 1_500);
// It would wait for the desktop if the cancelled task still had it.
const after = await call({ name: "run_task", arguments: { goal: "wait 0.1 seconds", wait_seconds: 20 } });
await client.close();
console.log(JSON.stringify({
  server,
  tools: tools.map(({ name }) => name),
  questions,
  decided: decided.structuredContent,
  stopped,
  after: after.structuredContent,
}));
