/**
 * The page over connections that are many, slow or gone. A file of its own with a stack of its own: these tests mostly wait, and run
 * beside the others.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { Network } from "./proxy.ts";
import { missing, Stack } from "./stack.ts";
import { BLANK, bound, tabsOf } from "./tabs.ts";

describe.skipIf(missing !== undefined)("the page and its connections", () => {
  let stack: Stack;
  const { open } = tabsOf(async () => (stack = await Stack.start()));

  /** Sends a goal in one tab, and opens its conversation in another one, over a network that can be cut. */
  async function followed(goal: string) {
    const network = await Network.to(stack.address);
    onTestFinished(() => network.cut());
    const writer = await open();
    await writer.send(goal);
    await writer.page.getByRole("button", { name: /wait 4 seconds/ }).waitFor();
    const { page } = await open({}, BLANK);
    await page.goto(`${network.address}/${new URL(writer.page.url()).hash}`);
    // On a slow machine the task has gone on until this tab is open.
    await page.getByRole("button", { name: /wait [146] seconds?|press ctrl\+a/ }).waitFor();
    return { network, writer, page };
  }

  test("a reload in mid-task and a second tab show the same task", async () => {
    const { page, send } = bound(await open());
    await send('Open editor, type "two tabs", then wait 20 seconds');
    await page.getByRole("button", { name: /wait 20 seconds/ }).waitFor();
    const other = await open({}, new URL(page.url()).hash);
    await other.page.getByRole("button", { name: /wait 20 seconds/ }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    await other.page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("eight tabs of one browser all follow a task, and none keeps another from acting", async () => {
    const first = bound(await open());
    await first.send("wait 60 seconds");
    await first.page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    const fragment = new URL(first.page.url()).hash;
    // Connections are limited for each browser profile, which is a context.
    const others = await Promise.all(Array.from({ length: 7 }, () => first.page.context().newPage()));
    await Promise.all(others.map((page) => page.goto(`${stack.address}/${fragment}`)));
    await Promise.all(others.map((page) => page.getByRole("button", { name: "Pause", exact: true }).waitFor()));
    await others.at(-1)!.getByRole("button", { name: "Pause", exact: true }).click();
    await Promise.all([first.page, ...others].map((page) => page.getByRole("button", { name: "Resume", exact: true }).waitFor()));
    await others[3]!.getByRole("button", { name: "Stop", exact: true }).click();
    await Promise.all([first.page, ...others].map((page) => page.getByText("Stopped", { exact: true }).waitFor()));
  });

  test("after a restart of the server in mid-task, the page shows what it missed", async (context) => {
    if (!stack.owned) context.skip("MOTORIUM_PAGE names a running server, which a test may not restart");
    const { page, send } = bound(await open());
    await send('wait 3 seconds, then press ctrl+a, then wait 40 seconds');
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    onTestFinished(async () => {
      // The tests after this one need a server, whatever happened here.
      await page.close();
    });
    await stack.stopServer("SIGKILL");
    await page.getByText("No connection to the server.").waitFor();
    await stack.startServer();
    await page.getByText("No connection to the server.").waitFor({ state: "detached" });
    await page.getByText(/Reconnected|The server was restarted/).first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText(/^(Stopped|Not done)$/).waitFor();
  });

  test("a connection that is frozen, not closed, is never shown as live, and is opened anew", { timeout: 60_000 }, async () => {
    const network = await Network.to(stack.address);
    onTestFinished(() => network.cut());
    const writer = await open();
    await writer.send("wait 60 seconds");
    await writer.page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    const { page } = await open({}, BLANK);
    await page.goto(`${network.address}/${new URL(writer.page.url()).hash}`);
    const run = page.getByRole("region", { name: "Run" });
    const shown = (): Promise<number> => page.getByRole("img", { name: "Live screen" }).evaluate((canvas: HTMLCanvasElement) => canvas.width);
    await expect.poll(shown).toBeGreaterThan(300);
    network.freeze();
    await page.getByText("The live screen is lost, reconnecting…").waitFor({ timeout: 15_000 });
    await run.getByText("Lost", { exact: true }).waitFor();
    // Connections that are made after the break go through.
    await page.getByText("The live screen is lost, reconnecting…").waitFor({ state: "detached", timeout: 15_000 });
    await run.getByText("Lost", { exact: true }).waitFor({ state: "detached", timeout: 40_000 });
    await writer.page.getByRole("button", { name: "Stop", exact: true }).click();
    await writer.page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("a network that is cut for 20 seconds in mid-task loses nothing, and nothing is sent twice", { timeout: 60_000 }, async () => {
    const goal = "wait 4 seconds, then press ctrl+a, then wait 6 seconds, then press ctrl+a, then wait 60 seconds";
    const { network, writer, page } = await followed(goal);

    const cutAt = Date.now();
    await network.cut();
    await page.getByText("No connection to the server.").waitFor();
    await page.locator("#prompt").fill("write it down");
    await page.keyboard.press("Enter");
    await page.getByRole("main").getByRole("alert").getByText(/The server cannot be reached/).waitFor();
    // The task goes on, as the other tab shows.
    await writer.page.getByRole("button", { name: /wait 60 seconds/ }).waitFor({ timeout: 20_000 });
    await page.waitForTimeout(Math.max(0, cutAt + 20_000 - Date.now()));
    await network.restore();

    await page.getByRole("button", { name: /wait 60 seconds/ }).waitFor();
    await page.getByText(/^Reconnected\. \d+ events happened meanwhile/).waitFor();
    await page.getByText("No connection to the server.").waitFor({ state: "detached" });
    await page.getByRole("button", { name: /Unfold the steps/ }).click();
    await expect.poll(() => page.getByText("missed", { exact: true }).count()).toBeGreaterThanOrEqual(2);
    await page.getByRole("main").getByRole("button", { name: "Try again" }).click();
    await writer.page.getByText("write it down").waitFor();
    expect(await writer.page.getByText("write it down").count()).toBe(1);
    // Both tabs have the same steps, and either stops the task.
    expect(await page.getByRole("slider").getAttribute("aria-valuemax")).toBe(await writer.page.getByRole("slider").getAttribute("aria-valuemax"));
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await writer.page.getByText("Stopped", { exact: true }).waitFor();
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  // Some seconds of sleep; as long as it says in `SLEEP_SECONDS`.
  const asleepMs = Number(process.env["SLEEP_SECONDS"] ?? 0) * 1_000;
  test("a page that slept with its laptop shows what it missed", { timeout: 60_000 + asleepMs }, async () => {
    const minutes = Array.from({ length: 1 + Math.ceil(asleepMs / 60_000) }, () => "then wait 60 seconds").join(", ");
    const goal = `wait 4 seconds, then press ctrl+a, then wait 1 second, then press ctrl+a, ${minutes}`;
    const last = { name: /wait 60 seconds/ };
    const { network, writer, page } = await followed(goal);
    const seen = Number(await page.getByRole("slider").getAttribute("aria-valuemax"));

    // Asleep, the page runs nothing and is told nothing: its program stands still, and its connections end without a word.
    await page.evaluate(() => {
      let last = performance.now();
      setInterval(() => {
        const now = performance.now();
        const { dataset } = document.documentElement;
        dataset["asleep"] = String(Math.max(Number(dataset["asleep"] ?? 0), now - last));
        last = now;
      }, 50);
    });
    const debug = await page.context().newCDPSession(page);
    await debug.send("Debugger.enable");
    const standsStill = new Promise((resolve) => debug.once("Debugger.paused", resolve));
    await debug.send("Debugger.pause");
    await standsStill;
    network.freeze();
    await writer.page.getByRole("button", last).waitFor({ timeout: 20_000 });
    await writer.page.waitForTimeout(asleepMs);
    await network.cut();
    await network.restore();
    await debug.send("Debugger.resume");
    await debug.send("Debugger.disable");

    await page.getByRole("button", last).waitFor();
    await page.getByText(/^Reconnected\. \d+ events happened meanwhile/).waitFor();
    await page.getByRole("button", { name: /Unfold the steps/ }).click();
    const steps = Number(await writer.page.getByRole("slider").getAttribute("aria-valuemax"));
    expect(steps).toBeGreaterThan(seen);
    // A step may have ended between the look at it and the sleep.
    await expect.poll(() => page.getByText("missed", { exact: true }).count()).toBeGreaterThanOrEqual(2);
    await expect.poll(() => page.getByRole("slider").getAttribute("aria-valuemax").then(Number)).toBeGreaterThanOrEqual(steps);
    expect(await page.evaluate(() => Number(document.documentElement.dataset["asleep"]))).toBeGreaterThan(2_000 + asleepMs);
    // It is as usable as before.
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await writer.page.getByText("Stopped", { exact: true }).waitFor();
  });
});
