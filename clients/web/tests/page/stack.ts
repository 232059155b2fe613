/**
 * The real product for tests of the page: `motorium up` on a virtual desktop of its own, and Debian's Chromium.
 *
 * MOTORIUM_PAGE names a gateway that already runs (its login link, or its address where no login is needed); otherwise the
 * binary MOTORIUM_BINARY is started, by default target/debug/motorium.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { request } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, type Client } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { OrchestratorService } from "@gen/orchestrator/v1/orchestrator_service_pb.ts";
import { Task_State as TaskState } from "@gen/orchestrator/v1/task_pb.ts";
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from "playwright-core";

const BINARY = process.env["MOTORIUM_BINARY"] ?? fileURLToPath(new URL("../../../../target/debug/motorium", import.meta.url));
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const DATA = process.env["MOTORIUM_DATA"] ?? join(process.env["XDG_DATA_HOME"] ?? join(homedir(), ".local/share"), "motorium");
const SERVICES = ["orchestrator", "perception", "planner", "executor", "gateway"];
const START_LIMIT_MS = 40_000;

/** The reason why the tests cannot run here; undefined if they can. */
export const missing = !existsSync(CHROMIUM)
  ? `${CHROMIUM} is not installed`
  : process.env["MOTORIUM_PAGE"] === undefined && !existsSync(BINARY)
    ? `${BINARY} is not built`
    : undefined;

export class Stack {
  private process: ChildProcess | undefined;

  private constructor(
    private readonly browser: Browser,
    private readonly folder: string | undefined,
    private readonly environment: NodeJS.ProcessEnv,
    private readonly settings: readonly string[] = [],
  ) {}

  private link = "";

  /** Origin of the page, which the login link has. */
  get address(): string {
    return new URL(this.link).origin;
  }

  private cookies: Awaited<ReturnType<BrowserContext["cookies"]>> = [];

  /** Starts the product with settings in addition to its defaults, as `key=value`. */
  static async start(settings: readonly string[] = []): Promise<Stack> {
    // Chromium's sandbox needs user namespaces, which containers and root do not have.
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--force-color-profile=srgb"] });
    const given = process.env["MOTORIUM_PAGE"];
    if (given !== undefined) {
      const stack = new Stack(browser, undefined, {});
      stack.link = given;
      await stack.logIn();
      return stack;
    }
    const folder = mkdtempSync(join(tmpdir(), "motorium-page-"));
    for (const name of ["models", "onnxruntime", "fonts"]) {
      if (existsSync(join(DATA, name))) symlinkSync(join(DATA, name), join(folder, name));
    }
    const ports = await freePorts(SERVICES.length);
    const listeners = SERVICES.map((name, index) => [`MOTORIUM_${name.toUpperCase()}__LISTEN`, `127.0.0.1:${ports[index]}`]);
    const { DISPLAY: _, ...inherited } = process.env;
    const environment = { ...inherited, ...Object.fromEntries(listeners), MOTORIUM_DATA: folder, LANG: "C.UTF-8" };
    const stack = new Stack(browser, folder, environment, settings);
    await stack.startServer();
    await stack.logIn();
    return stack;
  }

  /** True if this stack can be restarted. */
  get owned(): boolean {
    return this.folder !== undefined;
  }

  /** Address of a service, such as `perception`. */
  serviceAddress(name: string): string {
    return `http://${this.environment[`MOTORIUM_${name.toUpperCase()}__LISTEN`]}`;
  }

  /** The calls of the server. */
  client(): Client<typeof OrchestratorService> {
    const cookie = this.cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
    return createClient(OrchestratorService, createGrpcWebTransport({ baseUrl: this.address, fetch: localFetch(cookie) }));
  }

  /** Process of the server. */
  get processId(): number {
    return this.process?.pid ?? 0;
  }

  async startServer(): Promise<void> {
    const settings = this.settings.flatMap((setting) => ["--set", setting]);
    const child = spawn(BINARY, [...settings, "up", "--virtual-desktop", "--size", "1280x800"], {
      env: this.environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process = child;
    let output = "";
    this.link = await new Promise<string>((resolve, reject) => {
      const give = setTimeout(() => reject(new Error(`motorium up printed no link: ${output}`)), START_LIMIT_MS);
      const read = (data: Buffer): void => {
        output += data.toString();
        const found = /https?:\/\/\S+\/login\?code=\S+/.exec(output)?.[0];
        if (found === undefined) return;
        clearTimeout(give);
        resolve(found);
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.on("exit", (code) => reject(new Error(`motorium up ended with ${code}: ${output}`)));
    });
  }

  async stopServer(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  /** A login link works once, so the cookie is kept for all pages. */
  private async logIn(): Promise<void> {
    const context = await this.browser.newContext();
    const page = await context.newPage();
    await page.goto(this.link);
    this.cookies = await context.cookies();
    await context.close();
  }

  async open(options: BrowserContextOptions = {}, fragment = "#/"): Promise<Tab> {
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB", ...options });
    await context.addCookies(this.cookies);
    const page = await context.newPage();
    const tab = new Tab(page, context, this.address);
    if (fragment !== "") await page.goto(`${this.address}/${fragment}`);
    return tab;
  }

  /** Stops every task that has not ended. */
  async stopTasks(): Promise<void> {
    const client = this.client();
    const { tasks } = await client.listTasks({ states: [TaskState.PENDING, TaskState.RUNNING, TaskState.PAUSED, TaskState.AWAITING_USER] });
    await Promise.all(tasks.map(({ name }) => client.cancelTask({ name })));
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.stopServer();
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A page and what went wrong in it. */
export class Tab {
  readonly problems: string[] = [];

  constructor(readonly page: Page, readonly context: BrowserContext, readonly address: string) {
    page.on("pageerror", (error) => this.problems.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      this.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) this.problems.push(message.text());
    });
  }

  async send(text: string): Promise<void> {
    await this.page.locator("#prompt").fill(text);
    await this.page.keyboard.press("Enter");
  }

  async show(fragment: string): Promise<void> {
    await this.page.goto(`${this.address}/${fragment}`);
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

/** `fetch` for the name of the page: browsers know that names below `localhost` are this machine, and Node does not. */
function localFetch(cookie: string): typeof fetch {
  return (input, init) => new Promise((resolve, reject) => {
    const url = new URL(String(input));
    const headers = { ...Object.fromEntries(new Headers(init?.headers)), host: url.host, cookie };
    const sent = request({ host: "127.0.0.1", port: url.port, path: url.pathname, method: init?.method ?? "GET", headers }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => resolve(new Response(Buffer.concat(parts), {
        status: response.statusCode ?? 500, headers: { "content-type": response.headers["content-type"] ?? "" },
      })));
    });
    sent.on("error", reject);
    sent.end(init?.body as Uint8Array | undefined);
  });
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => new Promise<ReturnType<typeof createServer>>((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => resolve(server));
  })));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
