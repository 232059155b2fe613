/**
 * Measures the page in Chromium against a real stack on a virtual desktop. Not a test: it prints figures for docs/performance.md.
 *
 *   clients/web/tests/run bench                     the development build
 *   MOTORIUM_BINARY=FILE clients/web/tests/run bench
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { missing, Stack } from "../page/stack.ts";

const PRESSES = 40;
const VIEWERS = 20;
const VIEWING_MS = 10_000;
const PAINTS = 7;

/** Pages of the desktop. `box` and `whole` change colour with every key, in a small box and all over; `moving` never rests. */
const PAGES: Readonly<Record<string, string>> = {
  box: `<!doctype html><title>Box</title><body style="margin:0;background:#fff"><div id=b style="position:absolute;left:40%;top:40%;width:20%;height:20%;background:#d00"></div>
<script>let on=false;addEventListener("keydown",()=>{on=!on;b.style.background=on?"#00d":"#d00"})</script>`,
  whole: `<!doctype html><title>Whole</title><body style="margin:0;background:#d00">
<script>let on=false;addEventListener("keydown",()=>{on=!on;document.body.style.background=on?"#00d":"#d00"})</script>`,
  moving: `<!doctype html><title>Moving</title><style>@keyframes m{to{transform:translateX(900px)}}div{width:200px;height:200px;margin:100px 0;background:linear-gradient(#24396b,#e94);animation:m 2s linear infinite alternate}p{font:16px sans-serif}</style>
<div></div>${"<p>A line of text that stands still while the square above it moves.</p>".repeat(9)}`,
};

const median = (values: readonly number[]): number => quantile(values, 0.5);
const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};
const print = (line: string): void => console.log(line);

describe.skipIf(missing !== undefined)("the page is measured", () => {
  let stack: Stack;
  let site: Server;
  let address: string;
  beforeAll(async () => {
    site = createServer(({ url }, response) => response.setHeader("content-type", "text/html").end(PAGES[(url ?? "").slice(1)] ?? ""));
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    stack = await Stack.start();
  }, 90_000);
  afterAll(async () => {
    await stack?.close();
    site?.close();
  });

  // What a failed measurement left at work would keep the others from the desktop.
  afterEach(() => stack?.stopTasks());

  /** Shows a page on the desktop, and returns once its task does nothing but wait. */
  async function shown(name: string): Promise<Awaited<ReturnType<Stack["open"]>>> {
    const tab = await stack.open();
    await tab.send(`Open ${address}/${name}, then wait 60 seconds, then wait 59 seconds`);
    await tab.page.getByRole("button", { name: /wait 60 seconds/ }).waitFor({ timeout: 40_000 });
    await tab.page.getByRole("img", { name: "Live screen" }).waitFor();
    return tab;
  }

  async function end({ page, close }: { readonly page: Page; close(): Promise<void> }): Promise<void> {
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    await close();
  }

  test.each([["box", "a box of 20 % by 20 %"], ["whole", "the whole page"]])("glass to glass: %s", { timeout: 90_000 }, async (name, words) => {
    const tab = await shown(name);
    const { page } = tab;
    await page.getByRole("button", { name: "Take over" }).click();
    const surface = page.locator("[data-state=open]");
    await surface.waitFor();
    const box = (await surface.boundingBox())!;
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    await page.waitForTimeout(500);
    const elapsed: number[] = [];
    for (let press = 0; press < PRESSES; press++) {
      await page.evaluate(watchPixel);
      await page.keyboard.press("a");
      elapsed.push(await page.evaluate(() => (window as unknown as Measured).elapsed));
      await page.waitForTimeout(120);
    }
    print(`glass to glass, ${words}: median ${median(elapsed).toFixed(0)} ms, p95 ${quantile(elapsed, 0.95).toFixed(0)} ms, ${elapsed.length} presses`);
    await page.keyboard.press("Shift+Escape");
    await end({ page, close: () => tab.close() });
  });

  test("viewers of one screen", { timeout: 120_000 }, async () => {
    const tab = await shown("moving");
    const rest = await stack.open({}, "#/policy");
    await tab.page.goto("about:blank");
    const results: Viewed[] = [];
    for (const viewers of [0, 1, VIEWERS]) {
      const begun = cpuMs(stack.processId);
      const seen = await rest.page.evaluate(watchScreens, { viewers, milliseconds: VIEWING_MS });
      const share = (cpuMs(stack.processId) - begun) / VIEWING_MS;
      results.push({ share, ...seen });
      print(viewers === 0 ? `no viewer: ${(share * 100).toFixed(0)} % of a core` : `${viewers} viewers: ${(share * 100).toFixed(0)} % of a core, ${seen.framesPerSecond.toFixed(1)} frames/s each, ` +
        `delay median ${seen.median.toFixed(0)} ms, p95 ${seen.p95.toFixed(0)} ms, ${(seen.bytesPerSecond / 1024).toFixed(0)} kB/s each`);
    }
    const [, one, many] = results;
    const costs = (viewed: Viewed): number => viewed.share / viewed.framesPerSecond;
    print(`${VIEWERS} viewers cost ${(costs(many!) / costs(one!)).toFixed(2)} times one, for each frame that all of them see`);
    await rest.close();
    await tab.close();
  });

  test("first paint", { timeout: 60_000 }, async () => {
    const paints: Record<"cold" | "warm", { readonly ms: number; readonly bytes: number }[]> = { cold: [], warm: [] };
    for (let round = 0; round < PAINTS; round++) {
      const tab = await stack.open({}, "");
      for (const kind of ["cold", "warm"] as const) {
        await tab.page.goto("about:blank");
        await tab.page.goto(`${stack.address}/#/`);
        await tab.page.locator("#prompt").waitFor();
        paints[kind].push(await tab.page.evaluate(readPaint));
      }
      await tab.close();
    }
    for (const [kind, all] of Object.entries(paints)) {
      const times = all.map(({ ms }) => ms);
      print(`first paint, ${kind}: median ${median(times).toFixed(0)} ms, slowest ${Math.max(...times).toFixed(0)} ms, ${(median(all.map(({ bytes }) => bytes)) / 1024).toFixed(0)} kB`);
    }
    expect(paints.cold).toHaveLength(PAINTS);
  });
});

interface Measured {
  elapsed: Promise<number>;
}

interface Viewed {
  readonly share: number;
  readonly framesPerSecond: number;
}

/** In the page: notes the time from the next key to the change of a pixel of the live screen, beside the pointer in the middle. */
function watchPixel(): void {
  const canvas = document.querySelector<HTMLCanvasElement>("canvas[role=img]")!;
  const red = (): number => canvas.getContext("2d")!.getImageData(0.44 * canvas.width, 0.58 * canvas.height, 1, 1).data[0]!;
  (window as unknown as Measured).elapsed = new Promise((resolve) => {
    window.addEventListener("keydown", () => {
      const pressed = performance.now();
      const before = red();
      const look = (): void => {
        if (Math.abs(red() - before) > 100) resolve(performance.now() - pressed);
        else setTimeout(look, 1);
      };
      look();
    }, { once: true, capture: true });
  });
}

/** In a page: watches the screen with several viewers, which acknowledge frames and draw none. */
async function watchScreens({ viewers, milliseconds }: { viewers: number; milliseconds: number }): Promise<
  { framesPerSecond: number; median: number; p95: number; bytesPerSecond: number }
> {
  const delays: number[] = [];
  let bytes = 0;
  let counts = false;
  const sockets = Array.from({ length: viewers }, () => {
    const socket = new WebSocket(`ws://${location.host}/api/desktops/local/live?width=960&height=600`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (!(data instanceof ArrayBuffer)) return;
      const length = new DataView(data).getUint32(0);
      const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as { index: number; time: string };
      socket.send(JSON.stringify({ ack: header.index }));
      if (!counts) return;
      delays.push(Date.now() - Date.parse(header.time));
      bytes += data.byteLength;
    };
    return socket;
  });
  // All of them are open, and have the first frame.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  counts = true;
  await new Promise((resolve) => setTimeout(resolve, milliseconds - 1_500));
  for (const socket of sockets) socket.close();
  delays.sort((a, b) => a - b);
  const seconds = (milliseconds - 1_500) / 1_000;
  const each = Math.max(1, viewers) * seconds;
  const at = (share: number): number => delays[Math.floor(share * delays.length)] ?? Number.NaN;
  return { framesPerSecond: delays.length / each, median: at(0.5), p95: at(0.95), bytesPerSecond: bytes / each };
}

/** In the page: the time of its first paint, and the bytes that came over the network until then. */
function readPaint(): { ms: number; bytes: number } {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
  return { ms: paint?.startTime ?? Number.NaN, bytes: loaded.reduce((sum, { transferSize }) => sum + transferSize, 0) };
}

/** Time that a process has used, in milliseconds. */
function cpuMs(process: number): number {
  // After the name, which may have spaces; the fields are numbered from the state, the third of the file.
  const fields = readFileSync(`/proc/${process}/stat`, "utf8").split(") ")[1]!.split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  // A tick is 10 ms on every Linux that we know.
  return ticks * 10;
}
