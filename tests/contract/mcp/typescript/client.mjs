/**
 * A client of one of the official TypeScript SDKs, for test_typescript.py: it lists the tools, runs a task whose risky action the
 * person at the client decides, cancels a call, and prints what it saw as JSON.
 *
 *   node client.mjs '{"sdk": "v1" | "v2", "version": "…", "url": "…", "token": "…", "goal": "…", "decision": "approve"}'
 *
 * `command` with `args` and `env` in place of `url` starts the server as a program.
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
