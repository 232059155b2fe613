/** The page as a person uses it: Chromium against a real stack on a virtual desktop. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { SceneSchema } from "@gen/common/v1/element_pb.ts";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { RequestKind, TaskState } from "../../src/model/task.ts";
import { Log } from "../unit/events.ts";
import { replay } from "./recording.ts";
import { missing, Stack } from "./stack.ts";
import { BLANK, bound, tabsOf } from "./tabs.ts";

const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));
const FIRST_LOAD_LIMIT_BYTES = 350 * 1024;

/** Compares the live screen with itself at an earlier time. The pixels stay in the page: a million numbers take a second on their way here. */
function liveScreenOf(page: Page): { remember(): Promise<void>; changedPixels(): Promise<number> } {
  const screen = page.getByRole("img", { name: /^(Live screen|实时画面)$/ });
  return {
    remember: () => screen.evaluate((canvas: HTMLCanvasElement) => {
      Object.assign(window, { remembered: canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data });
    }),
    changedPixels: () => screen.evaluate((canvas: HTMLCanvasElement) => {
      const { remembered } = window as unknown as { remembered: Uint8ClampedArray };
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, index) => index % 4 === 0 && Math.abs(value - (remembered[index] ?? 0)) > 40).length;
    }),
  };
}

if (missing !== undefined) console.warn(`tests of the page are skipped: ${missing}`);

describe.skipIf(missing !== undefined)("the page", () => {
  let stack: Stack;
  const { open } = tabsOf(async () => (stack = await Stack.start()));

  test("a task shows its screen at once, then its steps, then the answer in their place", async () => {
    const { page, send } = bound(await open());
    await page.getByRole("button", { name: /Write a note/ }).click();
    expect(await page.locator("#prompt").inputValue()).toBe('Open editor, then type "Hello from Motorium"');
    await send('Open editor, type "report ready", then wait 2 seconds');
    await page.getByRole("region", { name: "Run" }).waitFor({ timeout: 1_000 });
    await page.getByRole("img", { name: "Live screen" }).waitFor();
    await page.getByRole("button", { expanded: false, name: /wait 2 seconds/ }).waitFor();
    await page.getByText("Done", { exact: true }).waitFor();
    await page.getByRole("region", { name: "Run" }).waitFor({ state: "detached" });
    expect(await page.getByRole("region", { name: "Answer" }).textContent()).toContain("report ready");
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("slider").waitFor();
  });

  test("timeline, screenshot and scrubber agree, however a step is chosen", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING);
    for (let number = 1; number <= 5; number++) log.step(number);
    log.add({ case: "succeeded", value: { answer: "done" } }, 5, TaskState.SUCCEEDED);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("button", { name: /Unfold the steps/ }).click();
    const slider = page.getByRole("slider");
    const expectStep = async (number: number): Promise<void> => {
      await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe(`Step ${number} of 5`);
      await expect.poll(() => page.locator("[aria-current=step]").textContent()).toContain(`step ${number}`);
      await page.getByRole("img", { name: `Screen in step ${number}` }).waitFor();
      expect(await page.getByRole("img", { name: `Screen in step ${number}` }).getAttribute("src")).toMatch(new RegExp(`/${number}$`));
    };

    await page.getByRole("button", { name: /step 2/ }).click();
    await expectStep(2);
    await slider.press("ArrowRight");
    await expectStep(3);
    await slider.press("Home");
    await expectStep(1);
    const box = (await slider.boundingBox())!;
    await page.mouse.move(box.x + 12, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    await expectStep(4);
    await slider.press("End");
    await expect.poll(() => page.locator("[aria-current=step]").count()).toBe(0);
    await page.getByRole("button", { name: "Play the run" }).click();
    await expectStep(1);
    await expectStep(2);
  });

  test("unfolded, the timeline has a vertical rule through all its steps", async () => {
    const { page } = await open({}, BLANK);
    await replay(page, endedLog(6));
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Show the run" }).click();
    expect(await page.locator("[data-rule]").count()).toBe(0);
    await page.getByRole("button", { name: /Unfold the steps/ }).click();
    await expect.poll(() => page.locator("[data-rule]").count()).toBe(6);
    const { rules, marks } = await page.evaluate(() => {
      const boxes = (selector: string) => [...document.querySelectorAll(selector)].map((element) => element.getBoundingClientRect())
        .map(({ left, right, top, bottom, width }) => ({ left, right, top, bottom, width }))
        .sort((a, b) => a.top - b.top);
      return { rules: boxes("[data-rule]"), marks: boxes("[data-rule] + span > span") };
    });
    for (const [index, rule] of rules.entries()) {
      expect(rule.width).toBeCloseTo(1, 0);
      // One line: each piece begins where the one above ends, and runs through the middle of the step's mark.
      if (index > 0) expect(rule.top).toBeLessThanOrEqual(rules[index - 1]!.bottom + 0.5);
      expect(Math.abs((rule.left + rule.right) / 2 - (marks[index]!.left + marks[index]!.right) / 2)).toBeLessThan(1.5);
    }
    expect(rules[0]!.top).toBeGreaterThan(marks[0]!.top);
    expect(rules.at(-1)!.bottom).toBeLessThan(marks.at(-1)!.bottom);
  });

  test("numbers of all elements are drawn over the screenshot", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).step(1);
    log.add({ case: "observed", value: {
      frame: { size: { width: 200, height: 100 } }, image: { name: "tasks/t/artifacts/2" }, scene: { name: "tasks/t/artifacts/scene" },
    } }, 2).add({ case: "succeeded", value: { answer: "done" } }, 2, TaskState.SUCCEEDED);
    await replay(page, log);
    const scene = create(SceneSchema, { elements: [
      { id: 1, interactable: true, bounds: { x1: 0.1, y1: 0.2, x2: 0.5, y2: 0.4 } },
      { id: 23, bounds: { x1: 0.6, y1: 0.5, x2: 0.9, y2: 0.9 } },
    ] });
    await page.route("**/api/artifacts/tasks/t/artifacts/scene", (route) =>
      route.fulfill({ contentType: "application/x-protobuf", body: Buffer.from(toBinary(SceneSchema, scene)) }));
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("slider").press("ArrowLeft");
    await page.getByRole("img", { name: /^Screen in step 2/ }).waitFor();
    await page.getByRole("button", { name: "Numbers of all elements" }).click();
    await expect.poll(() => page.locator("main svg text").allTextContents()).toEqual(["1", "23"]);
    const box = await page.locator("main svg:has(text) rect").first().evaluate((rect: SVGRectElement) => [rect.x, rect.y, rect.width, rect.height].map((length) => length.baseVal.value));
    expect(box.map(Math.round)).toEqual([20, 20, 80, 20]);
  });

  test("what a step did is drawn over its screenshots: the way of the pointer, its target, what changed, and the verdict", async () => {
    const { page } = await open({}, BLANK);
    const observed = (number: number): [{ case: "observed"; value: object }, number] => [{ case: "observed", value: {
      frame: { size: { width: 900, height: 450 }, cursor: { position: { x: 30, y: 400 } } }, image: { name: `tasks/t/artifacts/${number}` },
    } }, number];
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).add(...observed(1));
    log.add({ case: "actionIntended", value: {
      actionId: "a1",
      planned: { intent: "press Save" },
      action: { action: { case: "click", value: { at: { target: { case: "point", value: { x: 300, y: 200 } } } } } },
      target: { x1: 250, y1: 180, x2: 350, y2: 220 },
    } }, 1).add({ case: "actionPerformed", value: { actionId: "a1", outcome: { result: 1 } } }, 1);
    log.add({ case: "effectJudged", value: { actionId: "a1", effect: {
      verdict: 2, change: { regions: [{ bounds: { x1: 500, y1: 300, x2: 600, y2: 340 } }] },
    } } }, 1).add({ case: "stepFinished", value: { outcome: "changed" } }, 1);
    log.add(...observed(2)).add({ case: "succeeded", value: { answer: "done" } }, 2, TaskState.SUCCEEDED);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("slider").press("Home");
    await page.getByRole("img", { name: /^Screen in step 1/ }).waitFor();
    const overlay = page.locator("main svg[viewBox='0 0 900 450']");
    /** Middle and size of the boxes that are drawn. */
    const boxes = (): Promise<number[][]> => overlay.locator("rect").evaluateAll((rects) => rects.map((rect) => {
      const { x, y, width, height } = (rect as SVGRectElement).getBBox();
      return [x + width / 2, y + height / 2, width, height].map(Math.round);
    }));
    await expect.poll(boxes).toEqual([[300, 200, 104, 44]]);
    expect(await overlay.locator("polyline").getAttribute("points")).toBe("30,400 300,200");
    const halos = await overlay.locator("circle").evaluateAll((circles) => circles.map((circle) => [circle.getAttribute("cx"), circle.getAttribute("cy")].join()));
    expect(new Set(halos)).toEqual(new Set(["300,200"]));
    // The screenshot is drawn as large as its overlay.
    const shown = (await page.getByRole("img", { name: /^Screen in step 1/ }).boundingBox())!;
    const drawn = (await overlay.boundingBox())!;
    expect([drawn.x, drawn.y, drawn.width, drawn.height].map(Math.round)).toEqual([shown.x, shown.y, shown.width, shown.height].map(Math.round));
    await page.getByText("Changed elsewhere").first().waitFor();

    await page.getByRole("button", { name: "After", exact: true }).click();
    await expect.poll(boxes).toEqual([[550, 320, 104, 44]]);
    expect(await overlay.locator("polyline").count()).toBe(0);
  });

  test("thinking is shown until the agent has decided", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).step(1);
    log.add({ case: "observed", value: { frame: { size: { width: 100, height: 50 } }, image: { name: "tasks/t/artifacts/2" } } }, 2);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    const run = page.getByRole("region", { name: "Run" });
    await run.getByText("Thinking", { exact: true }).waitFor();
    await run.getByText("step 1").waitFor();
    log.add({ case: "decided", value: { decision: { backend: "model", thought: "press Save" } } }, 2)
      .add({ case: "progressAdded", value: { text: "step 2" } }, 2);
    await replay(page, log);
    await page.reload();
    await run.getByText("step 2").waitFor();
    expect(await run.getByText("Thinking", { exact: true }).count()).toBe(0);
  });

  test("live is shown again from the last knot", async () => {
    const { page, send } = bound(await open());
    await send("press ctrl+a, then wait 30 seconds");
    await page.getByRole("button", { name: /wait 30 seconds/ }).waitFor();
    const live = page.getByRole("img", { name: "Live screen" });
    const slider = page.getByRole("slider");
    await slider.press("Home");
    await page.getByRole("img", { name: /^Screen in step 1/ }).waitFor();
    expect(await live.count()).toBe(0);
    const box = (await slider.boundingBox())!;
    await page.mouse.click(box.x + box.width - 12, box.y + box.height / 2);
    await live.waitFor();
    expect(await slider.getAttribute("aria-valuetext")).toBe("Live");
    // The newest screenshot stands in for it until its first frame.
    await expect.poll(() => page.getByRole("img", { name: /^Screen in step/ }).count()).toBe(0);
    await expect.poll(() => live.evaluate((canvas: HTMLCanvasElement) => canvas.width)).toBeGreaterThan(300);
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("conversation stays at its end while it grows, unless the reader has scrolled up", async () => {
    const writer = await open();
    await writer.send("wait 60 seconds");
    await writer.page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    const { page } = await open({}, new URL(writer.page.url()).hash);
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    const note = async (name: string): Promise<void> => {
      await writer.send(Array.from({ length: 14 }, (_, line) => `${name} ${line}`).join(", and then "));
      await page.getByText(new RegExp(`^${name} 0`)).waitFor();
    };
    const scroller = page.locator("main div.overflow-y-auto").first();
    const below = (): Promise<number> => scroller.evaluate((view) => view.scrollHeight - view.scrollTop - view.clientHeight);
    for (const name of ["first", "second", "third"]) {
      await note(name);
      await expect.poll(below).toBeLessThan(4);
    }
    await scroller.evaluate((view) => view.scrollTo({ top: 0 }));
    await page.getByRole("button", { name: "To the end" }).waitFor();
    await note("fourth");
    expect(await scroller.evaluate((view) => view.scrollTop)).toBe(0);
    await page.getByRole("button", { name: "To the end" }).click();
    await expect.poll(below).toBeLessThan(4);
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("dropped files are attached to the task", async () => {
    const { page, send } = bound(await open());
    await page.locator("#prompt").waitFor();
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["total: 100"], "bill.txt"));
      transfer.items.add(new File(["total: 200"], "账单.txt"));
      const target = document.querySelector("#prompt")!.parentElement!;
      target.dispatchEvent(new DragEvent("dragover", { dataTransfer: transfer, bubbles: true, cancelable: true }));
      target.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await page.getByRole("button", { name: "Remove bill.txt" }).waitFor();
    await page.getByRole("button", { name: "Remove 账单.txt" }).waitFor();
    await send("wait 1 second");
    await page.getByText("Done", { exact: true }).waitFor();
    // From the events alone: nothing of the drop is left in the page.
    await page.reload();
    await page.getByRole("article").getByText("bill.txt").waitFor();
    await page.getByRole("article").getByText("账单.txt").waitFor();
  });

  test("a file that is asked for is downloaded with the answer", async () => {
    const { page, send } = bound(await open());
    await page.locator("input[type=file]").setInputFiles([{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("total: 100") }]);
    await page.getByRole("button", { name: "Files to fetch" }).click();
    await page.getByRole("textbox", { name: "Files to fetch" }).fill("notes.txt, none.pdf");
    await send("wait 1 second");
    await page.getByText(/^(Done|Not done)$/).waitFor();
    const files = page.getByRole("region", { name: "Answer" }).getByRole("list", { name: "Files" });
    const saved = page.waitForEvent("download");
    await files.getByRole("link", { name: /notes\.txt/ }).click();
    const download = await saved;
    expect(download.suggestedFilename()).toBe("notes.txt");
    expect(readFileSync(await download.path(), "utf8")).toBe("total: 100");
    // A file that is not there is told, and does not hide the other.
    await files.getByText(/^none\.pdf: /).waitFor();
  });

  test("what is saved in the editor under a name is downloaded with the answer", { timeout: 60_000 }, async () => {
    const { page, send } = bound(await open());
    const name = `list-${Date.now()}.txt`;
    await page.getByRole("button", { name: "Files to fetch" }).click();
    await page.getByRole("textbox", { name: "Files to fetch" }).fill(`${name}, missing.txt`);
    await send(`Open editor, type "Milk", press enter, type "Bread", press ctrl+shift+s, type "${name}", then press enter`);
    await page.getByText(/^(Done|Not done)$/).waitFor({ timeout: 40_000 });
    const files = page.getByRole("region", { name: "Answer" }).getByRole("list", { name: "Files" });
    const saved = page.waitForEvent("download");
    await files.getByRole("link", { name }).click();
    expect(readFileSync(await (await saved).path(), "utf8")).toContain("Milk\nBread");
    // The reason is in the language of the task, names the file once, and no folder of the server.
    expect(await files.getByText(/^missing\.txt/).textContent()).toMatch(/^missing\.txt: there is no file missing\.txt in the desktop's folder$/);
  });

  // Two of the four in each language, which differ in their words alone.
  test.each([["en-GB", "Suggestions", "Done", [0, 1]], ["zh-CN", "建议", "已完成", [2, 3]]] as const)(
    "a suggestion is carried out without a model: %s", { timeout: 60_000 }, async (locale, name, done, indexes) => {
      const { page } = await open({ locale });
      const suggestions = page.getByRole("list", { name }).getByRole("button");
      await expect.poll(() => suggestions.count()).toBe(4);
      for (const index of indexes) {
        await suggestions.nth(index).click();
        await page.locator("#prompt").press("Enter");
        await page.getByText(/^(Done|Not done|已完成|未完成)$/).waitFor({ timeout: 20_000 });
        expect(await page.getByRole("region", { name: /^(Answer|回答)$/ }).getByRole("status").textContent()).toContain(done);
        await page.evaluate(() => { window.location.hash = "#/"; });
        await suggestions.first().waitFor();
      }
    });

  test("a file that is dropped beside the prompt is attached, too, and the page stays", async () => {
    const { page } = await open();
    await page.locator("#prompt").waitFor();
    const kept = await page.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["total: 100"], "bill.txt"));
      const events = ["dragover", "drop"].map((type) => new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
      return events.map((event) => !document.querySelector("aside")!.dispatchEvent(event));
    });
    expect(kept).toEqual([true, true]);
    await page.getByRole("button", { name: "Remove bill.txt" }).waitFor();
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["x"], "x.txt"));
      document.body.dispatchEvent(new DragEvent("dragover", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await page.getByText("Drop files to attach them").waitFor();
    // Where no view takes files, the browser does not leave the page for one either.
    await page.goto(`${stack.address}/#/desktops`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["x"], "x.txt"));
      return document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    })).toBe(false);
  });

  test("in full screen, a task can be stopped, and an approval is decided", { timeout: 40_000 }, async () => {
    const { page, send } = bound(await open());
    const shop = createServer((_, response) => response.setHeader("content-type", "text/html")
      .end("<!doctype html><title>Shop</title><button style='font:24px sans-serif;margin:200px' onclick='this.textContent=`Thank you`'>Pay now</button>"));
    await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void shop.close());
    await send(`Open http://127.0.0.1:${(shop.address() as AddressInfo).port}/, wait 3 seconds, then click "Pay now"`);
    await page.getByRole("button", { name: /wait 3 seconds/ }).waitFor();
    await page.getByRole("button", { name: "Full screen" }).click();
    await expect.poll(() => page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    const inside = (selector: string): Promise<boolean> => page.evaluate((words) =>
      [...document.querySelectorAll("button")].some((button) => button.textContent === words && document.fullscreenElement!.contains(button)), selector);
    for (const name of ["Pause", "Take over", "Stop"]) expect(await inside(name)).toBe(true);
    const stop = (await page.getByRole("button", { name: "Stop", exact: true }).boundingBox())!;
    expect(stop.y + stop.height).toBeLessThanOrEqual(WIDE.height);
    // Nothing lies over it.
    await page.getByRole("button", { name: "Stop", exact: true }).click({ trial: true });
    const card = page.getByRole("region", { name: "Approval needed" });
    await card.waitFor();
    expect(await inside("Approve")).toBe(true);
    const approved = page.waitForResponse(/ResolveApproval/);
    await card.getByRole("button", { name: "Approve" }).click();
    expect((await approved).ok()).toBe(true);
    expect(await page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    // The answer takes the place of the screen, on the colour of the page and with a margin.
    const done = page.locator(":fullscreen").getByText("Done", { exact: true });
    await done.waitFor();
    expect((await done.boundingBox())!.x).toBeGreaterThan(100);
    const background = (selector: string) => page.locator(selector).evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(await background(":fullscreen")).toBe(await background("body"));
  });

  test("a task is stopped from beside the prompt, and by its keys, wherever the reader is", async () => {
    const { page, send } = bound(await open({ viewport: { width: 1440, height: 420 } }));
    await send("wait 60 seconds");
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    await page.locator("main div.overflow-y-auto").first().evaluate((view) => view.scrollTo({ top: 0 }));
    const stopButton = page.getByRole("button", { name: "Stop the task" });
    const box = (await stopButton.boundingBox())!;
    expect(box.y + box.height).toBeLessThanOrEqual(420);
    await stopButton.click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    expect(await stopButton.count()).toBe(0);

    await send("wait 60 seconds");
    await stopButton.waitFor();
    await page.locator("#prompt").press("Control+Shift+Period");
    await expect.poll(() => page.getByText("Stopped", { exact: true }).count()).toBe(2);
  });

  test("a record in full screen has its speeds there", async () => {
    const { page } = await open({}, BLANK);
    await replay(page, endedLog(3));
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("button", { name: "Full screen" }).click();
    await expect.poll(() => page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    await page.getByRole("button", { name: /^Speed/ }).click();
    await page.getByRole("menuitemradio", { name: "4×" }).click();
    await page.getByRole("button", { name: "Speed: 4×" }).waitFor();
  });

  test("frame rate, dropped frames and delay of the live screens are shown", async () => {
    const { page } = await open({}, "#/diagnostics");
    await page.getByText(/^\d+ frames\/s · \d+ dropped · .+ behind · .+\/s$/).waitFor();
  });

  test("sent once, with its files, though the response to the first try was lost", async () => {
    const { page, send } = bound(await open());
    let tries = 0;
    await page.route("**/motorium.orchestrator.v1.OrchestratorService/CreateTask", async (route) => {
      tries += 1;
      if (tries > 1) return route.continue();
      // It reaches the server, whose name only the browser resolves; its answer does not reach the page.
      const { host } = new URL(route.request().url());
      await route.fetch({ url: route.request().url().replace(/\/\/[^:/]+/, "//127.0.0.1"), headers: { ...route.request().headers(), host } });
      return route.abort("connectionreset");
    });
    await page.locator("input[type=file]").setInputFiles([{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") }]);
    await send("wait 1 second");
    await page.getByRole("alert").getByText(/The server cannot be reached/).waitFor();
    expect(await page.getByRole("alert").getByRole("button").allTextContents()).toEqual(["Try again"]);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText(/^(Done|Not done)$/).waitFor();
    await page.reload();
    await page.getByText(/^(Done|Not done)$/).waitFor();
    expect(tries).toBe(2);
    expect(await page.getByRole("article").count()).toBe(1);
    await page.getByRole("article").getByText("notes.txt").waitFor();
  });

  test("a draft stays in its conversation", async () => {
    const { page } = await open({}, BLANK);
    await replay(page, endedLog(1));
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.locator("#prompt").fill("and now print it");
    await page.evaluate(() => { window.location.hash = "#/"; });
    await page.getByRole("heading", { name: "What should be done?" }).waitFor();
    expect(await page.locator("#prompt").inputValue()).toBe("");
    await page.evaluate(() => { window.location.hash = "#/tasks/t"; });
    await expect.poll(() => page.locator("#prompt").inputValue()).toBe("and now print it");
  });

  test("a desktop is drained and used again", async () => {
    const { page } = await open({}, "#/desktops");
    await page.getByRole("button", { name: "Drain" }).click();
    await page.getByText("Draining", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Use again" }).click();
    await page.getByText("Available", { exact: true }).waitFor();
  });

  test("what a task waits for is said, and answered by a press", async () => {
    const { page } = await open({}, BLANK);
    const show = async (add: (log: Log) => void): Promise<void> => {
      const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).step(1);
      add(log);
      await replay(page, log);
      await page.goto(`${stack.address}/#/tasks/t`);
      await page.reload();
    };
    await page.route("**/api/session", (route) => route.fulfill({ json: { version: "1", name: "bob", roles: ["operator", "approver"] } }));
    await show((log) => log.add({ case: "takenOver", value: { user: "ann@example.org" } }, 1, TaskState.AWAITING_USER));
    await page.getByRole("button", { name: /^ann@example\.org has the desktop/ }).waitFor();
    // It is hers: others see it, and neither use it nor hand it back.
    await page.getByText("Only the person who took the desktop over").waitFor();
    expect(await page.getByRole("button", { name: "Hand back" }).count()).toBe(0);
    expect(await page.locator("[data-state]").count()).toBe(0);

    await show((log) => log.add({ case: "userAsked", value: { request: { kind: RequestKind.QUESTION, message:
      "Interrupted while performing `press Save`; it is unknown whether it took effect. Check the screen, then answer `done` if it did or `retry` if it did not." } } }, 1, TaskState.AWAITING_USER));
    const question = page.getByRole("region", { name: "A question for you" });
    await question.getByText("did it take effect?").waitFor();
    expect(await question.textContent()).not.toMatch(/answer .?done/);
    const answered = page.waitForRequest(/AcknowledgeUserAction/);
    await question.getByRole("button", { name: "No, try again" }).click();
    expect((await answered).postDataBuffer()!.toString("utf8")).toContain("\u0012\u0005retry");

    await show((log) => log
      .add({ case: "approvalRequested", value: { approval: {
        name: "tasks/t/approvals/1", action: { intent: "press Pay" }, rules: ["pay"], context: { pageOrigin: "https://shop.example", amounts: ["100€"] },
      } } }, 1)
      .add({ case: "userAsked", value: { request: { kind: RequestKind.APPROVAL } } }, 1, TaskState.AWAITING_USER));
    const approval = page.getByRole("region", { name: "Approval needed" });
    await approval.getByText("https://shop.example").waitFor();
    await approval.getByText("100€").waitFor();
    const stopped = page.waitForRequest(/CancelTask/);
    await approval.getByRole("button", { name: "Stop", exact: true }).click();
    expect((await stopped).postDataBuffer()!.toString("utf8")).toContain("tasks/t");
  });

  test("a live screen that is not shown gives way to the newest screenshot, and says why", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING)
      .add({ case: "started", value: {} }, 0, TaskState.RUNNING).add({ case: "desktopAcquired", value: { desktop: "desktops/local" } }, 0).step(1).step(2);
    await replay(page, log, { stays: true });
    // The gateway passes the Orchestrator's refusal on, and asks again.
    await page.routeWebSocket(/\/api\/live\/tasks\/t\?/, (socket) =>
      socket.send(JSON.stringify({ state: "waiting", reason: "WRONG_STATE", message: "its screen is not shown now" })));
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByText("The live screen is not shown now").waitFor();
    await page.getByRole("img", { name: /^Screen in step 2/ }).waitFor();
    expect(await page.getByText("Lost", { exact: true }).count()).toBe(0);
    await page.getByRole("region", { name: "Run" }).getByText("Newest screenshot", { exact: true }).waitFor();
  });

  test("a desktop is not taken over from another person, and a question shows the screen that it is about", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING)
      .add({ case: "desktopAcquired", value: { desktop: "desktops/local" } }, 0, TaskState.RUNNING).step(1)
      .add({ case: "takenOver", value: { user: "ann@example.org" } }, 1, TaskState.AWAITING_USER);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: /^ann@example\.org has the desktop/ }).waitFor();
    expect(await page.getByRole("button", { name: "Take over" }).count()).toBe(0);
    // Who sent the task is an administrator here, and frees the desktop of a person who has gone.
    const freed: string[] = [];
    await page.route("**/HandBack", (route) => {
      freed.push(route.request().url());
      return route.abort();
    });
    await page.getByRole("button", { name: "Hand back", exact: true }).click();
    await expect.poll(() => freed.length).toBe(1);

    const asked = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING)
      .add({ case: "desktopAcquired", value: { desktop: "desktops/local" } }, 0, TaskState.RUNNING).step(1)
      .add({ case: "userAsked", value: { request: { kind: RequestKind.QUESTION, message: "Look at the screen: which one?" } } }, 1, TaskState.AWAITING_USER);
    await replay(page, asked);
    await page.reload();
    const question = page.getByRole("region", { name: "A question for you" });
    await question.getByRole("img").waitFor();
    // The whole run shows the same screen, larger.
    await page.getByRole("button", { name: "Show the run" }).click();
    await expect.poll(() => question.getByRole("img").count()).toBe(0);
  });

  test("the sender of a task is told that another person has to approve it", async () => {
    const { page } = await open({}, BLANK);
    await page.route("**/api/session", (route) => route.fulfill({ json: { version: "1", name: "ann", roles: ["author", "approver"] } }));
    const show = async (creator: string): Promise<void> => {
      const log = new Log().add({ case: "created", value: { task: { goal: "goal", creator } } }, 0, TaskState.PENDING).step(1);
      log.add({ case: "approvalRequested", value: { approval: {
        name: "tasks/t/approvals/1", action: { intent: "press Pay" }, secondPerson: true,
        context: { pageOrigin: "https://shop.example", windowTitle: "Checkout", question: ["Pay 100 € to Northwind?"], targetTexts: ["Pay now"] },
      } } }, 1, TaskState.AWAITING_USER);
      await replay(page, log);
      await page.goto(`${stack.address}/#/tasks/t`);
      await page.reload();
    };
    await show("ann");
    const card = page.getByRole("region", { name: "Approval needed" });
    await card.getByText("You sent this task, so another person has to approve it.").waitFor();
    expect(await card.getByRole("button", { name: "Approve" }).count()).toBe(0);
    for (const part of ["Pay 100 € to Northwind?", "Pay now", "https://shop.example", "Checkout"]) {
      expect(await card.textContent()).toContain(part);
    }
    await show("bob");
    await card.getByText("another person than the one who sent the task").waitFor();
    await card.getByRole("button", { name: "Approve" }).waitFor();
  });

  test("run details have the times, the model's requests and responses, usage and cost of each step", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).step(1);
    log.add({ case: "decided", value: {
      decision: { backend: "claude", model: "some-model", thought: "Save is at the top.", usage: { calls: 1, inputTokens: 1200n, outputTokens: 34n, costMicrosUsd: 5600n } },
      requests: { name: "tasks/t/artifacts/requests" }, responses: { name: "tasks/t/artifacts/responses" },
    } }, 2);
    log.add({ case: "stepFinished", value: { outcome: "12 pixels changed at the target", timings: [
      { stage: "observe", elapsed: { nanos: 120_000_000 } }, { stage: "decide", elapsed: { seconds: 2n } }, { stage: "settle", elapsed: { nanos: 300_000_000 } },
    ] } }, 2);
    log.add({ case: "succeeded", value: { answer: "done" } }, 2, TaskState.SUCCEEDED);
    await replay(page, log);
    await page.route("**/api/artifacts/tasks/t/artifacts/responses", (route) =>
      route.fulfill({ contentType: "application/json", body: '[{"content":"<b>press Save</b>"}]' }));
    const shown = `artifacts/${"ab".repeat(32)}`;
    const prompt = `<b>You operate a computer.</b>\nThe goal: goal`;
    await page.route("**/api/artifacts/tasks/t/artifacts/requests", (route) =>
      route.fulfill({ contentType: "application/json", body: JSON.stringify([{ system: prompt, image: `<image ${shown}>` }]) }));
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Run details" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("1,234");
    expect(await dialog.textContent()).toContain("$0.0056");
    await dialog.getByRole("button", { name: /^2/ }).click();
    expect(await dialog.textContent()).toMatch(/See 120 ms.*Decide 2.0 s.*Settle 300 ms/);
    await dialog.getByText("Save is at the top.").waitFor();
    await dialog.getByText("1,200 tokens sent, 34 received · $0.0056").waitFor();
    await dialog.getByText("Responses of the provider").click();
    await dialog.getByText('"content": "<b>press Save</b>"').waitFor();
    await dialog.getByText("Requests to the model").click();
    const request = dialog.locator("pre", { hasText: "You operate a computer" });
    expect(await request.textContent()).toContain(`"<b>You operate a computer.</b>\nThe goal: goal"`);
    expect(await request.getByRole("link").getAttribute("href")).toBe(`/api/artifacts/tasks/t/${shown}`);
  });

  test("exported, a run is one file that replays from disk without a network", async () => {
    const evil = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>";
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: evil, attachments: [{ name: evil }] } } }, 0, TaskState.PENDING);
    for (let number = 1; number <= 3; number++) log.step(number);
    log.add({ case: "progressAdded", value: { text: `read ${evil}` } }, 3)
      .add({ case: "extracted", value: { json: JSON.stringify({ [evil]: evil }) } }, 3)
      .add({ case: "succeeded", value: { answer: `**${evil}**` } }, 3, TaskState.SUCCEEDED);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Run details" }).click();
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Replay as one file" }).click();
    const download = await saved;
    expect(download.suggestedFilename()).toBe("script-script-window-hacked-1-script-img-src-x-o.html");
    const folder = mkdtempSync(join(tmpdir(), "motorium-replay-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    await download.saveAs(join(folder, "run.html"));

    const offline = await open({ offline: true }, BLANK);
    const requests: string[] = [];
    offline.page.on("request", (request) => requests.push(request.url()));
    await offline.page.goto(`file://${folder}/run.html`);
    const { page: file } = offline;
    expect(await file.getByRole("heading", { level: 1 }).textContent()).toBe(evil);
    const image = file.locator(".screen img");
    await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.complete && element.naturalWidth > 0)).toBe(true);
    expect(await file.getByText("Step 1 / 3").count()).toBe(1);
    await file.keyboard.press("ArrowRight");
    await file.getByText("Step 2 / 3").waitFor();
    await file.getByRole("button", { name: /^read/ }).click();
    await file.getByText("Step 3 / 3").waitFor();
    expect(await file.locator("[aria-current=step]").textContent()).toContain(evil);
    await file.getByRole("slider").fill("0");
    await file.getByRole("button", { name: "Play" }).click();
    await file.getByText("Step 2 / 3").waitFor();
    expect(await file.evaluate(() => "hacked" in window)).toBe(false);
    expect(requests.filter((url) => !/^(file|data):/.test(url))).toEqual([]);
  });

  test("a risky action waits for an approval, in words, with its target, and is denied with a reason", async () => {
    const { page, send } = bound(await open());
    await send('Open editor, type "Pay now", then click "Pay now"');
    const card = page.getByRole("region", { name: "Approval needed" });
    await card.waitFor();
    const text = await card.textContent();
    expect(text).toContain('click "Pay now"');
    expect(text).toMatch(/Expires in \d:\d\d/);
    expect(text).toContain("pay");
    await expect.poll(() => card.getByRole("img").evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(20);
    // Among equal buttons, the approver sees which one is meant: in the picture, and on the live screen.
    const picture = (await card.getByRole("img").boundingBox())!;
    const target = (await card.locator("svg[data-target] rect").last().boundingBox())!;
    const middle = { x: target.x + target.width / 2, y: target.y + target.height / 2 };
    expect(middle.x > picture.x && middle.x < picture.x + picture.width).toBe(true);
    expect(middle.y > picture.y && middle.y < picture.y + picture.height).toBe(true);
    expect(target.height).toBeLessThan(picture.height / 2);
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("region", { name: "Run" }).locator("svg[data-target] rect").last().waitFor();
    await page.getByRole("link", { name: /Approvals/ }).getByText("1").waitFor();

    const inbox = await open({}, "#/approvals");
    await inbox.page.getByRole("region", { name: "Approval needed" }).waitFor();
    expect(await inbox.page.getByRole("main").textContent()).toContain('Open editor, type "Pay now"');

    await card.getByRole("button", { name: "Deny…" }).click();
    await card.getByRole("textbox").fill("not today");
    await card.getByRole("button", { name: "Deny" }).click();
    await page.getByText("Not done", { exact: true }).waitFor();
    expect(await page.getByRole("region", { name: "Answer" }).textContent()).toContain("not today");
  });

  test("“我已经操作” sends exactly that", async () => {
    const { page, send } = bound(await open({ locale: "zh-CN" }));
    await send('打开 editor，输入“重复”，按回车，输入“重复”，然后点击“重复”');
    const card = page.getByRole("region", { name: "有问题问您" });
    await card.waitFor();
    const request = page.waitForRequest(/AcknowledgeUserAction/);
    await card.getByRole("button", { name: "我已经操作" }).click();
    const body = (await request).postDataBuffer()!.toString("utf8");
    expect(body).toContain("\u0012\u000f我已经操作");
    await page.getByText("我已经操作", { exact: true }).waitFor();
  });

  test("a manual action has the button, too, and the screen gives way to the request", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "buy" } } }, 0, TaskState.PENDING).step(1);
    log.add({ case: "userAsked", value: { request: { kind: RequestKind.MANUAL_ACTION, message: "Please **log in**." } } }, 1, TaskState.AWAITING_USER);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    const card = page.getByRole("region", { name: "Something for you to do" });
    await card.waitFor();
    expect(await page.getByRole("region", { name: "Run" }).count()).toBe(0);
    const sent = page.waitForRequest(/AcknowledgeUserAction/);
    await card.getByRole("button", { name: "I have done it" }).click();
    expect((await sent).postDataBuffer()!.toString("utf8")).toContain("\u0012\u000eI have done it");
  });

  test("pause, resume, take over, hand back with a note, stop", async () => {
    const { page, send } = bound(await open());
    await send("wait 30 seconds");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText(/^Paused/).first().waitFor();
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    // The prompt has the same buttons: they stay in view when the run card is scrolled out of view.
    await page.getByRole("button", { name: "Pause the task" }).click();
    await page.getByText(/^Paused/).first().waitFor();
    await page.getByRole("button", { name: "Resume the task" }).click();
    await page.getByRole("button", { name: "Take over" }).click();
    await page.getByText("You have the desktop").first().waitFor();
    await page.getByLabel("What you did").fill("logged in");
    await page.getByRole("button", { name: "Hand back" }).click();
    await page.getByText("You have the desktop").first().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("mouse and keyboard go to a desktop that is taken over, until it is handed back", async () => {
    const { page, send } = bound(await open());
    await send('Open editor, then wait 60 seconds');
    await page.getByRole("button", { name: /wait 60 seconds/ }).waitFor();
    await page.getByRole("button", { name: "Take over" }).click();
    const surface = page.locator("[data-state=open]");
    await surface.waitFor();
    const { remember, changedPixels } = liveScreenOf(page);
    const box = (await surface.boundingBox())!;
    // Into the text of the editor, which fills the desktop below its menu.
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    await remember();
    await page.keyboard.type("by hand WWWWWWWWWWWWWWWWWWWWWWWW");
    await page.keyboard.press("Enter");
    await page.keyboard.insertText("输入法");
    await expect.poll(changedPixels).toBeGreaterThan(100);
    expect(await page.getByRole("status").filter({ hasText: "ms" }).count()).toBe(1);
    // A click with Shift selects from the caret to the pointer, which the editor draws.
    await remember();
    await page.keyboard.down("Shift");
    await page.mouse.click(box.x + box.width / 3, box.y + box.height / 8);
    await page.keyboard.up("Shift");
    await expect.poll(changedPixels).toBeGreaterThan(50);
    await page.keyboard.press("Shift+Escape");
    await page.getByLabel("What you did").fill("wrote something");
    await page.getByRole("button", { name: "Hand back" }).click();
    await surface.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("a desktop is taken over and handed back in full screen, in Chinese as well", async () => {
    const { page, send } = bound(await open({ locale: "zh-CN" }));
    await send("打开editor，然后等待60秒");
    await page.getByRole("button", { name: /等待.*60/ }).first().waitFor();
    await page.getByRole("button", { name: "全屏" }).click();
    await expect.poll(() => page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    const full = page.locator(":fullscreen");
    await full.getByRole("button", { name: "接管" }).click();
    const surface = full.locator("[data-state=open]");
    await surface.waitFor();
    const { remember, changedPixels } = liveScreenOf(page);
    const box = (await surface.boundingBox())!;
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    await remember();
    await page.keyboard.type("WWWWWWWWWWWWWWWWWWWWWWWW");
    await expect.poll(changedPixels).toBeGreaterThan(100);
    // The keys of the desktop leave neither the full screen nor the desktop, but for the one that does.
    await page.keyboard.press("Shift+Escape");
    await full.getByLabel("您做了什么，告诉智能体（可不填）").fill("写好了");
    await full.getByRole("button", { name: "交还" }).click();
    await surface.waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    await full.getByRole("button", { name: "停止", exact: true }).click();
    await page.getByText("已停止", { exact: true }).first().waitFor();
  });

  test("what is copied on a desktop that is taken over is on one's own clipboard, after a press of one's own", async () => {
    const { page, send } = bound(await open());
    await send("Open editor, then wait 60 seconds");
    await page.getByRole("button", { name: /wait 60 seconds/ }).waitFor();
    await page.getByRole("button", { name: "Take over" }).click();
    const surface = page.locator("[data-state=open]");
    await surface.waitFor();
    const box = (await surface.boundingBox())!;
    await page.mouse.click(box.x + box.width / 4, box.y + box.height / 4);
    await page.keyboard.type("by hand");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stack.address });
    const clipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    await page.keyboard.press("Control+a");
    expect(await clipboard()).toBe("mine");
    await page.keyboard.press("Control+c");
    await page.getByRole("status").filter({ hasText: "it is on your clipboard" }).waitFor();
    expect(await clipboard()).toMatch(/by hand$/);
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    await page.getByRole("button", { name: "Copy from the desktop" }).click();
    await expect.poll(clipboard).toMatch(/by hand$/);
  });

  test("a text of an input method, and one from one's own clipboard, arrive whole on a desktop that is taken over", async () => {
    const { page, send } = bound(await open());
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stack.address });
    const clipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
    await send("Open editor, then wait 60 seconds");
    await page.getByRole("button", { name: /wait 60 seconds/ }).waitFor();
    await page.getByRole("button", { name: "Take over" }).click();
    const surface = page.locator("[data-state=open]");
    await surface.waitFor();
    const box = (await surface.boundingBox())!;
    await page.mouse.click(box.x + box.width / 4, box.y + box.height / 4);
    const copyAll = async (): Promise<void> => {
      await page.keyboard.press("Control+a");
      await page.keyboard.press("Control+c");
    };
    // What was there before is replaced.
    await page.keyboard.press("Control+a");
    const browser = await page.context().newCDPSession(page);
    for (const text of ["s", "shu", "shuru"]) {
      await browser.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
    }
    await browser.send("Input.insertText", { text: "输入法" });
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    await copyAll();
    await expect.poll(clipboard).toBe("输入法");

    const own = "Größe: 12.50 €\n第二行\tend";
    await page.evaluate((text) => navigator.clipboard.writeText(text), own);
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Control+v");
    // The desktop has it before it is asked for it.
    await page.waitForTimeout(500);
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    await copyAll();
    await expect.poll(clipboard).toBe(own);
    await page.getByRole("button", { name: "Hand back" }).click();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("on a phone, a desktop is used with taps, a long press, two fingers, and keys that the phone lacks", async () => {
    const { page, send } = bound(await open({ viewport: PHONE, hasTouch: true, isMobile: true }));
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stack.address });
    await send("Open editor, then wait 60 seconds");
    await page.getByRole("button", { name: /wait 60 seconds/ }).waitFor();
    await page.getByRole("button", { name: "Take over" }).click();
    const surface = page.locator("[data-state=open]");
    await surface.waitFor();
    const { remember, changedPixels } = liveScreenOf(page);
    await surface.scrollIntoViewIfNeeded();
    const box = (await surface.boundingBox())!;
    const [x, y] = [box.x + box.width / 4, box.y + box.height / 2];
    await page.touchscreen.tap(x, y);
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    const press = async (name: string): Promise<void> => {
      await page.getByRole("button", { name: "Keys", exact: true }).click();
      await page.getByRole("menuitem", { name, exact: true }).click();
    };
    await press("Ctrl+A");
    await surface.locator("textarea").focus();
    await page.keyboard.insertText("by touch\n".repeat(60));
    await page.keyboard.press("Control+a");
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    await page.keyboard.press("Control+c");
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("by touch\n".repeat(60));

    const browser = await page.context().newCDPSession(page);
    const touches = (type: "touchStart" | "touchMove" | "touchEnd", ...points: [number, number][]): Promise<unknown> =>
      browser.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, py], id) => ({ x: px, y: py, id })) });
    // Two fingers that move down show what is above.
    await remember();
    await touches("touchStart", [x, y]);
    await touches("touchStart", [x, y], [x + 60, y]);
    for (let step = 1; step <= 6; step++) await touches("touchMove", [x, y + 15 * step], [x + 60, y + 15 * step]);
    await touches("touchEnd");
    await expect.poll(changedPixels).toBeGreaterThan(100);
    // The menu of the editor comes with the right button.
    await page.waitForTimeout(500);
    await remember();
    await touches("touchStart", [x, y]);
    await expect.poll(changedPixels).toBeGreaterThan(300);
    await touches("touchEnd");
    await press("Escape");
    await page.getByRole("button", { name: "Hand back" }).click();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("each value that was read has its step, which is shown by a press, and a long table says what it leaves out", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).step(1).step(2);
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`row ${index}`, index]));
    log.add({ case: "extracted", value: { json: JSON.stringify({ total: "12.50 €", items: ["pen"] }) } }, 1);
    log.add({ case: "extracted", value: { json: JSON.stringify(many) } }, 2);
    log.add({ case: "succeeded", value: { answer: "done" } }, 2, TaskState.SUCCEEDED);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    const rows = page.locator("table tbody tr");
    await expect.poll(() => rows.first().locator("td").allTextContents()).toEqual(["total", "12.50 €", "Step 1"]);
    expect(await rows.nth(1).locator("td").allTextContents()).toEqual(["items.0", "pen", "Step 1"]);
    expect(await rows.count()).toBe(50);
    await page.getByText("Values that are in the export of the task only: 12").waitFor();
    await rows.nth(2).getByRole("button", { name: "Step 2" }).click();
    await page.getByRole("img", { name: /^Screen in step 2/ }).waitFor();
  });

  test("a live screen is streamed only while it can be seen", async () => {
    const { page, send } = bound(await open());
    let streams = 0;
    page.on("websocket", (socket) => {
      if (!/\/live(\/|\?|$)/.test(new URL(socket.url()).pathname)) return;
      streams += 1;
      socket.on("close", () => streams -= 1);
    });
    await send("wait 60 seconds");
    await page.getByRole("img", { name: "Live screen" }).waitFor();
    await expect.poll(() => streams).toBe(1);
    const hide = (hidden: boolean): Promise<void> => page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { value, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await hide(true);
    await expect.poll(() => streams).toBe(0);
    await hide(false);
    await expect.poll(() => streams).toBe(1);
    const move = (by: string): Promise<void> => page.locator("[data-run]").evaluate((run, value) => void ((run as HTMLElement).style.transform = value), by);
    await move("translateY(5000px)");
    await expect.poll(() => streams).toBe(0);
    await move("");
    await expect.poll(() => streams).toBe(1);
    await page.getByText("Live", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
  });

  test("a follow-up continues the conversation, which is found again", async () => {
    const { page, send } = bound(await open());
    const word = `find${Date.now()}`;
    await send(`Open editor, then type "${word}"`);
    await page.getByText("Done", { exact: true }).waitFor();
    const address = page.url();
    await send("wait 1 second");
    await expect.poll(() => page.getByText("Done", { exact: true }).count()).toBe(2);
    expect(page.url()).toBe(address);

    await page.keyboard.press("Control+k");
    await page.keyboard.type(word);
    const found = page.getByRole("complementary").getByRole("listitem");
    await expect.poll(() => found.count()).toBe(1);
    await page.goto(`${stack.address}/#/`);
    await page.reload();
    await page.getByRole("link", { name: new RegExp(word) }).click();
    await expect.poll(() => page.getByText("Done", { exact: true }).count()).toBe(2);
  });

  test("a task that has to wait says for what, and can be stopped", async () => {
    const first = bound(await open());
    await first.send("wait 30 seconds");
    await first.page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    const second = bound(await open());
    await second.send("wait 1 second");
    await second.page.getByText("place 1 in the queue").first().waitFor();
    await second.page.getByRole("region", { name: "Run" }).getByRole("link", { name: "wait 30 seconds" }).waitFor();
    await second.page.getByRole("button", { name: "Stop", exact: true }).click();
    await second.page.getByText("Stopped", { exact: true }).waitFor();
    await first.page.getByRole("button", { name: "Stop", exact: true }).click();
    await first.page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("a file that is too large is refused in words, others are attached", async () => {
    const { page, send } = bound(await open());
    const input = page.locator("input[type=file]");
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new ArrayBuffer(65 * 1024 * 1024)], "<b>film</b>.mp4"));
      const target = document.querySelector("#prompt")!.parentElement!;
      target.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await page.getByRole("alert").getByText("<b>film</b>.mp4 has 65.0 MB; files may have at most 64.0 MB.").waitFor();
    await input.setInputFiles([
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") },
      { name: "large.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(2 * 1024 * 1024, 7) },
    ]);
    await send("wait 1 second");
    const article = page.getByRole("article");
    await article.getByText("notes.txt").waitFor();
    await article.getByText("large.bin").waitFor();
    await page.getByText(/^(Done|Not done)$/).waitFor();
  });

  test("an upload tells how much has been sent, and can be cancelled", { timeout: 40_000 }, async () => {
    const { page, context } = await open();
    const network = await context.newCDPSession(page);
    // Slow enough to be watched: 5 s for the file.
    await network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 1024 * 1024 });
    const film = { name: "film.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(5 * 1024 * 1024, 7) };
    const prompt = page.locator("#prompt");
    const bar = page.getByRole("progressbar", { name: "Upload of the files" });
    const percent = async () => Number(await bar.getAttribute("aria-valuenow"));
    await page.locator("input[type=file]").setInputFiles([film]);
    await prompt.fill("wait 1 second");
    await page.keyboard.press("Enter");
    await expect.poll(percent).toBeGreaterThan(0);
    expect(await percent()).toBeLessThan(100);
    await page.getByText(/ of 5\.0 MB sent$/).waitFor();
    await expectFine(page);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await bar.waitFor({ state: "detached" });
    expect(await prompt.inputValue()).toBe("wait 1 second");
    await page.getByRole("button", { name: "Remove film.bin" }).waitFor();

    await prompt.press("Enter");
    await bar.waitFor();
    await page.getByText(/^(Done|Not done)$/).waitFor({ timeout: 20_000 });
    expect(await bar.count()).toBe(0);
  });

  test("the policy is read, and an approval leads to the rule that asked for it", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).step(1);
    log.add({ case: "approvalRequested", value: { approval: {
      name: "tasks/t/approvals/1", reason: "it pays", action: { intent: "press Pay" }, rules: ["pay", "provider", "of-a-hook"],
    } } }, 1, TaskState.AWAITING_USER);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    const card = page.getByRole("region", { name: "Approval needed" });
    await card.getByText("Policy rule").click();
    await card.getByText("it pays, buys or orders something").waitFor();
    await card.getByText("A safety check of the model’s provider").waitFor();
    expect(await card.getByRole("link", { name: "of-a-hook" }).count()).toBe(0);
    await card.getByRole("link", { name: "pay", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Policy" }).waitFor();
    const asked = page.locator("li[aria-current=true]");
    expect(await asked.textContent()).toContain("This rule asked");
    await asked.getByText('resource.meanings.contains("pay")').waitFor();
    expect(await page.getByRole("region", { name: "Needs an approval" }).getByRole("listitem").count()).toBeGreaterThan(10);
    await page.getByRole("region", { name: "Done without asking" }).getByText("reading and navigation are free", { exact: true }).waitFor();
    await page.getByText("Built in: careful").waitFor();
    expect(await page.getByText(/^[0-9a-f]{12}$/).getAttribute("title")).toMatch(/^[0-9a-f]{64}$/);
    await expectFine(page);
    await page.setViewportSize(PHONE);
    await expectFine(page);
  });

  test.each([
    ["en-GB", "Step", "Try", 'click "Pay now", then click "Next page"', "Would need an approval", "It pays, buys or orders something", "Would be done without asking"],
    ["zh-CN", "步骤", "试一试", "点击“立即付款”，然后点击“下一页”", "需要批准", "这会付款、购买或下单", "会直接执行，无需询问"],
  ] as const)("a step is tried against the policy: %s", async (locale, label, submit, sentence, asks, because, allowed) => {
    const { page } = await open({ locale }, "#/policy");
    await page.getByRole("textbox", { name: label, exact: true }).fill(sentence);
    await page.getByRole("button", { name: submit, exact: true }).click();
    const [first, second] = [0, 1].map((index) => page.getByRole("list", { name: /^(Judgement|判断)$/ }).getByRole("listitem").nth(index));
    await first!.getByText(asks, { exact: true }).waitFor();
    expect((await first!.textContent())!.toLowerCase()).toContain(because.toLowerCase());
    await second!.getByText(allowed, { exact: true }).waitFor();
    await page.getByRole("textbox", { name: label, exact: true }).fill("frobnicate it");
    await page.keyboard.press("Enter");
    const alert = page.getByRole("alert");
    await alert.waitFor();
    // The server's own words are English.
    if (locale === "zh-CN") await alert.getByText("技术信息").click();
    await alert.getByText(/frobnicate it/).waitFor();
    await expectFine(page);
  });

  test("texts of screens, models and users are never HTML", async () => {
    const evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: evil, attachments: [{ name: evil }] } } }, 0, TaskState.PENDING);
    log.add({ case: "observed", value: {
      frame: { size: { width: 100, height: 50 }, windows: [{ title: evil, active: true }] }, image: { name: "tasks/t/artifacts/1" }, currentUrl: "javascript:window.hacked=1",
    } }, 1);
    log.add({ case: "progressAdded", value: { text: evil } }, 1)
      .add({ case: "actionIntended", value: { actionId: "a", targetLabel: evil, planned: { intent: evil } } }, 1)
      .add({ case: "extracted", value: { json: JSON.stringify({ [evil]: evil }) } }, 1)
      .add({ case: "injectionSuspected", value: { suspectedInjections: [{ quote: evil }] } }, 1)
      .add({ case: "decided", value: { decision: { thought: evil, backend: evil, model: evil, usage: { calls: 1 } } } }, 1)
      .add({ case: "functionCalled", value: { call: { callId: "1", name: evil, argumentsJson: evil } } }, 1)
      .add({ case: "resultFetched", value: { name: evil, artifact: { name: 'tasks/t/artifacts/"><script>' } } }, 1)
      .add({ case: "succeeded", value: { answer: `${evil}\n\n[click](javascript:window.hacked=1) ![x](https://evil.example/x.png)` } }, 1, TaskState.SUCCEEDED);
    await replay(page, log);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("slider").press("Home");
    await page.getByRole("button", { name: /Unfold the steps/ }).click();
    await page.getByRole("img", { name: /Screen in step 1/ }).waitFor();
    await page.getByRole("button", { name: "Run details" }).click();
    await page.getByRole("dialog").getByRole("button", { name: /onerror/ }).click();
    expect((await page.getByRole("dialog").textContent())!.split(evil).length).toBeGreaterThan(4);
    await page.keyboard.press("Escape");
    expect(await page.evaluate(() => "hacked" in window)).toBe(false);
    expect(await page.locator("main script, main a[href^=javascript]").count()).toBe(0);
    expect(await page.getByRole("article").textContent()).toContain(evil);
    expect(requests.filter((url) => !url.startsWith(stack.address))).toEqual([]);
  });

  test("five hundred steps stay smooth", async () => {
    const { page } = await open({}, BLANK);
    const log = new Log().add({ case: "created", value: { task: { goal: "long" } } }, 0, TaskState.PENDING);
    for (let number = 1; number <= 500; number++) log.step(number);
    log.add({ case: "succeeded", value: { answer: "done" } }, 500, TaskState.SUCCEEDED);
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.getByRole("button", { name: "Show the run" }).click();
    await page.getByRole("button", { name: /Unfold the steps/ }).click();
    expect(await page.getByRole("slider").getAttribute("aria-valuemax")).toBe("500");
    expect(await page.locator("[data-index]").count()).toBeLessThan(60);
    const slowest = await page.evaluate(async () => {
      const slider = document.querySelector<HTMLElement>("[role=slider]")!;
      let worst = 0;
      for (let press = 0; press < 40; press++) {
        const began = performance.now();
        slider.dispatchEvent(new KeyboardEvent("keydown", { key: press % 4 === 3 ? "PageDown" : "ArrowLeft", bubbles: true }));
        await new Promise((resolve) => requestAnimationFrame(resolve));
        worst = Math.max(worst, performance.now() - began);
      }
      return worst;
    });
    // Measured: 17 to 35 ms with one other build running. Dropped frames are felt from about 100 ms.
    expect(slowest).toBeLessThan(150);
    const began = Date.now();
    await page.getByRole("button", { name: "Run details" }).click();
    await page.getByRole("dialog").getByText("step 1", { exact: true }).waitFor();
    const opened = Date.now() - began;
    console.log(`500 steps: ${slowest.toFixed(0)} ms for the slowest move, ${opened} ms to open the details`);
    // With everything drawn at once it was 600 ms and more, beside other builds.
    expect(opened).toBeLessThan(1_500);
    await expect.poll(() => page.getByRole("dialog").getByRole("listitem").count()).toBe(500);
  });

  test.each([
    // Each view in both schemes, both languages and both sizes, but not in all eight combinations, which would take a minute.
    ["light", "en-GB", WIDE, ["desktops"], "done"], ["dark", "zh-CN", WIDE, ["approvals", "policy"], "asking"],
    ["dark", "en-GB", PHONE, ["diagnostics"], "done"], ["light", "zh-CN", PHONE, ["desktops"], "asking"],
  ] as const)("every view is accessible and fits its window: %s, %s, %o", async (colorScheme, locale, viewport, views, end) => {
    const { page } = await open({ colorScheme, locale, viewport });
    await page.locator("#prompt").waitFor();
    await expectFine(page);
    for (const view of views) {
      await page.goto(`${stack.address}/#/${view}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expectFine(page);
    }
    const log = new Log().add({ case: "created", value: { task: { goal: "goal ".repeat(40) } } }, 0, TaskState.PENDING).step(1).step(2);
    if (end === "asking") {
      log.add({ case: "userAsked", value: { request: { kind: RequestKind.QUESTION, message: "Which **one**?" } } }, 2, TaskState.AWAITING_USER);
    } else {
      log.add({ case: "succeeded", value: { answer: "# Done\n\n| a | b |\n|---|---|\n| `1` | [x](https://example.org) |" } }, 2, TaskState.SUCCEEDED);
    }
    await replay(page, log);
    await page.goto(`${stack.address}/#/tasks/t`);
    await page.reload();
    await page.getByRole("article").waitFor();
    await expectFine(page);
    await page.locator("article button[aria-expanded]").first().click();
    await page.getByRole("slider").waitFor();
    await page.getByRole("slider").press("Home");
    await page.getByRole("button", { name: /Unfold the steps|展开步骤/ }).click();
    await expectFine(page);
    if (end === "asking") {
      const approval = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING).step(1);
      approval.add({ case: "approvalRequested", value: { approval: {
        name: "tasks/t/approvals/1", reason: "it pays", action: { intent: "press Pay" }, rules: ["pay"], evidence: { name: "tasks/t/artifacts/1" },
        context: { pageOrigin: `https://${"long.".repeat(40)}example`, amounts: ["100€"] },
      } } }, 1, TaskState.AWAITING_USER);
      await replay(page, approval);
      await page.reload();
      await page.getByText("100€").waitFor();
    } else {
      await page.getByRole("button", { name: /Run details|运行详情/ }).click();
      await page.getByRole("dialog").getByRole("button", { name: /step 1/ }).click();
    }
    await expectFine(page);
  });

  test("everything is reached with the keyboard alone", async () => {
    const { page } = await open();
    await page.locator("#prompt").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("wait 1 second");
    await page.keyboard.press("Enter");
    await page.getByText(/^(Done|Not done)$/).waitFor();
    await page.keyboard.press("Alt+n");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("prompt");
    await page.keyboard.press("Control+k");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("search");
    await page.keyboard.press("Escape");
    await page.locator("body").press("Tab");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).press("Enter");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("with the keyboard alone, a desktop is taken over and handed back, an action is approved, and a task is stopped", { timeout: 40_000 }, async () => {
    const { page, send } = bound(await open());
    const shop = createServer((_, response) => response.setHeader("content-type", "text/html")
      .end("<!doctype html><title>Shop</title><button style='font:24px sans-serif;margin:200px' onclick='this.textContent=`Thank you`'>Pay now</button>"));
    await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void shop.close());
    const press = async (name: string): Promise<void> => {
      await page.getByRole("button", { name, exact: true }).first().waitFor();
      for (let presses = 0; presses < 80; presses++) {
        if (await page.evaluate(() => document.activeElement?.textContent) === name) return page.keyboard.press("Enter");
        await page.keyboard.press("Shift+Tab");
      }
      throw new Error(`${name} is not reached`);
    };
    await send(`Open http://127.0.0.1:${(shop.address() as AddressInfo).port}/, wait 2 seconds, then click "Pay now", then wait 60 seconds`);
    await press("Take over");
    await page.getByText("You have the desktop").first().waitFor();
    await page.getByLabel("What you did").focus();
    await page.keyboard.type("nothing");
    await page.keyboard.press("Enter");
    await page.getByText("You have the desktop").first().waitFor({ state: "detached" });
    await press("Approve");
    await page.getByRole("button", { name: /wait 60 seconds/ }).waitFor();
    await press("Stop");
    await page.getByText("Stopped", { exact: true }).waitFor();
  });

  test("language and colours are chosen, and stay", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: /^Language/ }).click();
    await page.getByRole("menuitemradio", { name: "中文" }).click();
    await page.getByRole("heading", { name: "要做什么？" }).waitFor();
    await page.getByRole("button", { name: "颜色" }).click();
    await page.getByRole("menuitemradio", { name: "深色" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "要做什么？" }).waitFor();
    expect(await page.evaluate(() => [document.documentElement.lang, document.documentElement.classList.contains("dark")])).toEqual(["zh-CN", true]);
  });

  test("the first load is small", () => {
    const files = readdirSync(DIST, { recursive: true }).map(String);
    // Not the parts that are loaded when they are needed.
    const compressed = files.filter((file) => file.endsWith(".gz") && !file.includes("replay-file"));
    const fonts = files.filter((file) => file.endsWith(".woff2"));
    const size = [...compressed, ...fonts].reduce((sum, file) => sum + statSync(DIST + file).size, 0);
    expect(size).toBeLessThan(FIRST_LOAD_LIMIT_BYTES);
    expect(readFileSync(`${DIST}index.html`, "utf8")).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|style=/);
  });
});

/** Events of a task that has ended after some steps. */
function endedLog(steps: number): Log {
  const log = new Log().add({ case: "created", value: { task: { goal: "goal" } } }, 0, TaskState.PENDING);
  for (let number = 1; number <= steps; number++) log.step(number);
  return log.add({ case: "succeeded", value: { answer: "done" } }, steps, TaskState.SUCCEEDED);
}

/** Nothing that axe calls serious, and nothing beyond the right edge. */
async function expectFine(page: Page): Promise<void> {
  // Contrast is judged on what is there, not on what fades in.
  await page.waitForTimeout(250);
  expect(await violations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
}

/** Over the debugging protocol, because the page's policy forbids code from strings. */
async function violations(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const { result } = await session.send("Runtime.evaluate", {
    awaitPromise: true,
    returnByValue: true,
    expression: `axe.run(document).then(({ violations }) => violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")))`,
  });
  await session.detach();
  return result.value as string[];
}
