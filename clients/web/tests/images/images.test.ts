/**
 * Takes the images of docs/images: each view at work on a real stack, in the sizes, schemes and languages that are shown.
 *
 *   clients/web/tests/run images            into docs/images
 *   MOTORIUM_IMAGES=DIR … ALL=1             every view in four variants, to look at
 */
import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RequestKind, TaskState } from "../../src/model/task.ts";
import { replay } from "../page/recording.ts";
import { missing, Stack, type Tab } from "../page/stack.ts";
import { Log } from "../unit/events.ts";
import { Model } from "./model.ts";
import { Sites } from "./sites.ts";

const FOLDER = process.env["MOTORIUM_IMAGES"] ?? fileURLToPath(new URL("../../../../docs/images/", import.meta.url));
const ALL = process.env["ALL"] === "1";
const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

interface Variant {
  readonly name: string;
  readonly size: typeof WIDE;
  readonly scheme: "light" | "dark";
  readonly language: "en" | "zh";
}

const VARIANTS: Readonly<Record<"wide" | "wideDark" | "phone" | "phoneDark", Variant>> = {
  wide: { name: "wide", size: WIDE, scheme: "light", language: "en" },
  wideDark: { name: "wide-dark-zh", size: WIDE, scheme: "dark", language: "zh" },
  phone: { name: "phone-zh", size: PHONE, scheme: "light", language: "zh" },
  phoneDark: { name: "phone-dark", size: PHONE, scheme: "dark", language: "en" },
};

/** Both sizes and both schemes, for the views that most people see. The first one has no suffix. */
function every(first: Variant): readonly Variant[] {
  return [first, ...Object.values(VARIANTS).filter((variant) => variant !== first)];
}

const WORDS = {
  en: { title: "Travel expenses", company: "Northwind Travel", heading: "Expense report", fields: ["Traveller", "Destination", "Amount", "Purpose"], main: "Save draft", preview: "Preview", shown: "Preview is ready" },
  zh: { title: "差旅报销", company: "北风商旅", heading: "差旅报销单", fields: ["出差人", "目的地", "金额", "事由"], main: "提交报销单", preview: "预览", shown: "预览已生成" },
};
const form = ({ title, company, heading, fields, main, preview, shown }: typeof WORDS.en): string => `<!doctype html><meta charset="utf-8"><title>${title}</title><style>
body{margin:0;font:15px/1.5 "DejaVu Sans","Noto Sans CJK SC",sans-serif;background:#eef1f7;color:#1d2536}
header{background:#24396b;color:#fff;padding:18px 40px;font-weight:600}
form{margin:26px auto;width:620px;background:#fff;border:1px solid #d9deea;border-radius:10px;padding:26px 34px;display:grid;grid-template-columns:1fr 1fr;gap:14px 26px}
h1{grid-column:1/-1;font-size:22px;margin:0}label{display:grid;gap:4px;font-weight:600;font-size:13px}
input{font:inherit;font-weight:400;padding:8px 10px;border:1px solid #9aa5bd;border-radius:6px}
p{grid-column:1/-1;margin:0;display:flex;gap:12px}
button{font:inherit;font-weight:600;padding:9px 18px;border-radius:6px;border:1px solid #24396b;background:#fff;color:#24396b}button.main{background:#24396b;color:#fff}
output{grid-column:1/-1;color:#0b7a3e;font-weight:600}</style>
<header>${company}</header><form onsubmit="return false"><h1>${heading}</h1>
${fields.map((field) => `<label>${field}<input></label>`).join("")}
<p><button class="main">${main}</button><button onclick="o.textContent='${shown}'">${preview}</button></p><output id="o"></output></form>`;

const OTHERS = ["accounting", "front-office", "support"];

describe.skipIf(missing !== undefined)("images of several desktops", () => {
  let stack: Stack;
  const others = new Map<string, Stack>();
  let model: Model;
  let sites: Sites;
  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    [model, sites] = await Promise.all([Model.start(), Sites.start()]);
    // The hosts of the sites are on this machine.
    const hosts = 'executor.rules.url_hosts=["*", "*.localhost"]';
    stack = await Stack.start([
      hosts, 'planner.backends=["phrasebook", "operator"]', "planner.backend.operator.provider=own", "planner.backend.operator.model=local-vl",
      `planner.providers.own.base_url=${model.address}`, 'orchestrator.allowed_desktop_addresses=["127.0.0.1"]',
    ]);
    for (const name of OTHERS) others.set(name, await Stack.start([hosts, "server.loopback_token=false"]));
  }, 180_000);
  afterAll(async () => {
    await stack?.close();
    await Promise.all(Array.from(others.values(), (other) => other.close()));
    model?.close();
    sites?.close();
  });

  /** Carries a goal out on a desktop, and returns its task once it is at its end. */
  async function carryOut(desktop: string, goal: string, backends: string[] = []): Promise<string> {
    const { task } = await stack.client().createTask({ task: { goal, backends, desktopSelector: { desktop: `desktops/${desktop}` } } });
    await expect.poll(async () => {
      const found = (await stack.client().getTask({ name: task!.name })).task;
      expect(found?.state, found?.failure?.message).not.toBe(TaskState.FAILED);
      return found?.state;
    }, { timeout: 60_000 }).toBe(TaskState.SUCCEEDED);
    return task!.name;
  }

  test("desktops and run details", async () => {
    await carryOut("local", `Open ${sites.address("travel")}`);
    // While there is one desktop, so that it is on the one that has the form.
    const done = await carryOut("local", "Enter Ann Lee's trip to Lisbon, and show me the preview", ["operator"]);
    for (const [name, other] of others) {
      await stack.client().registerDesktop({ desktop: {
        name: `desktops/${name}`, perceptionEndpoint: other.serviceAddress("perception"), executorEndpoint: other.serviceAddress("executor"),
      } });
    }
    await carryOut("accounting", `Open ${sites.address("billing")}`);
    await carryOut("support", `Open ${sites.address("support")}`);
    await carryOut("front-office", `Open ${sites.address("rooms")}`);
    // Each is at work until the images are taken.
    for (const [desktop, goal] of [
      ["accounting", "Remind the two customers whose invoices are overdue"], ["support", "Answer the ticket about the header row"],
      ["local", "Add the hotel receipt of 412 euros to the report"],
    ] as const) {
      await stack.client().createTask({ task: { goal, desktopSelector: { desktop: `desktops/${desktop}` } } });
    }
    await stack.client().drainDesktop({ name: "desktops/support" });
    await expect.poll(async () => (await stack.client().listDesktops({})).desktops.filter(({ task }) => task !== "").length, { timeout: 20_000 }).toBe(3);

    for (const [name, variant] of ALL ? Object.entries(VARIANTS) : [["", VARIANTS.wideDark] as const]) {
      const suffix = ALL ? `-${name}` : "";
      // As high as two rows of desktops.
      const size = { ...variant.size, height: Math.max(variant.size.height, 990) };
      const tab = await openIn(stack, { ...variant, size }, "#/desktops");
      await expect.poll(() => tab.page.getByRole("img").count(), { timeout: 20_000 }).toBeGreaterThanOrEqual(4);
      await tab.page.waitForTimeout(2_500);
      await tab.page.screenshot({ path: `${FOLDER}/page-desktops${suffix}.png` });
      await tab.close();
    }
    for (const [name, variant] of ALL ? Object.entries(VARIANTS) : [["", VARIANTS.wide] as const]) {
      const suffix = ALL ? `-${name}` : "";
      const tab = await openIn(stack, { ...variant, size: { ...variant.size, height: Math.max(variant.size.height, 1_320) } }, `#/${done}`);
      const { page } = tab;
      await page.getByRole("button", { name: /Run details|运行详情/ }).click();
      await page.getByRole("dialog").getByRole("button", { name: /Opening the preview/ }).click();
      await page.getByText(/Requests to the model|发给模型的请求/).click();
      await page.getByRole("dialog").locator("pre").waitFor();
      await page.getByRole("heading", { name: /Time per step|每步用时/ }).evaluate((heading) => heading.scrollIntoView({ block: "start" }));
      await page.waitForTimeout(600);
      await page.screenshot({ path: `${FOLDER}/page-details${suffix}.png` });
      expect(tab.problems).toEqual([]);
      await tab.close();
    }
  }, 300_000);
});

/** Opens a tab in which the variant is chosen. */
async function openIn(stack: Stack, { size, scheme, language }: Variant, fragment = "#/", log?: Log): Promise<Tab> {
  const tab = await stack.open({ viewport: size, deviceScaleFactor: 1, colorScheme: scheme }, "");
  await tab.page.addInitScript(([chosen, words]) => {
    localStorage.setItem("motorium.scheme", chosen!);
    localStorage.setItem("motorium.language", words!);
  }, [scheme, language]);
  if (log) await replay(tab.page, log);
  await tab.show(fragment);
  return tab;
}

describe.skipIf(missing !== undefined)("images", () => {
  let stack: Stack;
  let site: Server;
  let address: string;
  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    site = createServer(({ url }, response) => response.setHeader("content-type", "text/html").end(form(url === "/zh" ? WORDS.zh : WORDS.en)));
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
    stack = await Stack.start();
  }, 90_000);
  afterAll(async () => {
    await stack?.close();
    site?.close();
  });

  const open = (variant: Variant, fragment?: string, log?: Log): Promise<Tab> => openIn(stack, variant, fragment, log);

  /** Takes a view in the variants that the documentation shows, or in all of them to look at. */
  async function take(
    name: string, variants: readonly Variant[], fragment: string, prepare: (tab: Tab) => Promise<void> = async () => {}, log?: Log,
  ): Promise<void> {
    for (const variant of ALL ? Object.values(VARIANTS) : variants) {
      const tab = await open(variant, fragment, log);
      await prepare(tab);
      await tab.page.waitForTimeout(900);
      await tab.page.screenshot({ path: `${FOLDER}/page-${name}${variant === variants[0] ? "" : `-${variant.name}`}.png` });
      await tab.close();
    }
  }

  test("all views", async () => {
    const { wide, wideDark, phone } = VARIANTS;
    const writer = await open(wide);
    await take("welcome", every(wide), "#/");
    await writer.show("#/");
    const fill = `Open ${address}, type "Ann Lee" into "Traveller", type "Lisbon" into "Destination", type "Customer workshop" into "Purpose", then click "Preview"`;
    const fillChinese = `打开 ${address}zh，在“出差人”中输入“李安”，在“目的地”中输入“里斯本”，在“事由”中输入“客户研讨会”，然后点击“预览”`;
    for (const variant of every(wide)) {
      // Its own task each: a picture of a task at work is of the second in which it types.
      const tab = await open(variant);
      await tab.send(variant.language === "zh" ? fillChinese : fill);
      await tab.page.getByRole("img", { name: /^(Live screen|实时画面)$/ }).waitFor();
      await tab.page.getByRole("button", { name: /Customer workshop|客户研讨会/ }).waitFor({ timeout: 60_000 });
      await tab.page.waitForTimeout(450);
      await tab.page.screenshot({ path: `${FOLDER}/page-live${variant === wide ? "" : `-${variant.name}`}.png` });
      await tab.page.getByText(/^(Done|Not done|已完成|未完成)$/).waitFor({ timeout: 60_000 });
      await tab.close();
    }
    await writer.send(`${fill}, then wait 60 seconds`);
    await writer.page.getByRole("button", { name: /wait 60 seconds/ }).waitFor({ timeout: 60_000 });
    await writer.page.getByRole("button", { name: "Take over" }).click();
    await writer.page.getByRole("button", { name: "Hand back" }).waitFor();
    const [taken] = (await stack.client().listTasks({ states: [TaskState.AWAITING_USER] })).tasks;
    await take("takeover", every(wide), new URL(writer.page.url()).hash, async ({ page }) => {
      // As in the browser of the person who took it over.
      await page.evaluate((task) => localStorage.setItem("motorium.takenOver", JSON.stringify({ [task]: Date.now() })), taken!.name);
      await page.reload();
      await page.locator("[data-state=open]").waitFor();
      await page.waitForTimeout(1_500);
    });
    await writer.page.getByRole("button", { name: "Hand back" }).click();
    await writer.page.getByRole("button", { name: "Stop", exact: true }).click();
    await writer.page.getByText("Stopped", { exact: true }).waitFor();

    await writer.show("#/");
    await writer.page.locator("input[type=file]").setInputFiles([{ name: "receipts.csv", mimeType: "text/csv", buffer: Buffer.from("date,amount\n2026-05-04,412.00\n") }]);
    await writer.page.getByRole("button", { name: "Files to fetch" }).click();
    await writer.page.getByRole("textbox", { name: "Files to fetch" }).fill("receipts.csv");
    await writer.send(`Open ${address}, then type "Ann Lee" into "Traveller", then type "Lisbon" into "Destination", then click "Preview"`);
    await writer.page.getByText(/^(Done|Not done)$/).waitFor({ timeout: 60_000 });
    const done = new URL(writer.page.url()).hash;
    await take("answer", every(wide), done);
    await take("timeline", [wide], done, async ({ page }) => {
      await page.getByRole("button", { name: /Show the run|查看过程/ }).click();
      await page.getByRole("button", { name: /Unfold the steps|展开步骤/ }).click();
      await page.getByRole("slider").press("ArrowLeft");
      await page.getByRole("slider").press("ArrowLeft");
    });
    await take("replay", every(wide), done, async ({ page }) => {
      await page.getByRole("button", { name: /Show the run|查看过程/ }).click();
      await page.getByRole("slider").press("End");
      await page.getByRole("slider").press("ArrowLeft");
      await page.getByRole("slider").press("ArrowLeft");
    });
    await take("marks", [], done, async ({ page }) => {
      await page.getByRole("button", { name: /Show the run|查看过程/ }).click();
      await page.getByRole("slider").press("End");
      await page.getByRole("slider").press("ArrowLeft");
      await page.getByRole("slider").press("ArrowLeft");
      await page.getByRole("button", { name: /Numbers of all|所有元素的编号/ }).click();
    });

    const chinese = await open(wideDark);
    await chinese.send(`打开 ${address}zh，在“出差人”中输入“李安”，然后点击“提交报销单”`);
    await chinese.page.getByRole("region", { name: "需要批准" }).waitFor({ timeout: 60_000 });
    const approval = new URL(chinese.page.url()).hash;
    await take("approval", every(wideDark), approval);
    await take("approvals", [], "#/approvals", async ({ page }) => page.getByRole("region").waitFor());
    await chinese.page.getByRole("button", { name: "停止", exact: true }).click();
    await chinese.page.getByText("已停止", { exact: true }).waitFor();

    for (const goal of ['Open editor, then type "Minutes of Monday: budget approved, next meeting on 4 May"', 'Open editor, type "first draft", select all, then type "second draft"']) {
      await writer.show("#/");
      await writer.send(goal);
      await writer.page.getByText(/^(Done|Not done)$/).waitFor({ timeout: 40_000 });
    }
    await writer.show("#/");
    await writer.send('点击“不存在的按钮”');
    await writer.page.getByText(/^(Done|Not done)$/).waitFor({ timeout: 40_000 });
    await take("failed", [], new URL(writer.page.url()).hash);

    await take("diagnostics", [wideDark], "#/diagnostics", async ({ page }) => page.waitForTimeout(2_500));
    await take("policy", [wide], "#/policy", async ({ page }) => {
      const isChinese = await page.evaluate(() => document.documentElement.lang.startsWith("zh"));
      await page.locator("form input").first().fill(isChinese ? "点击“下一页”，然后点击“立即付款”" : 'click "Next page", then click "Pay now"');
      await page.keyboard.press("Enter");
      await page.locator("form li").nth(1).waitFor();
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    });
    await chinese.show("#/");
    await chinese.send('打开 editor，输入“重复”，按回车，输入“重复”，然后点击“重复”');
    await chinese.page.getByRole("region", { name: "有问题问您" }).waitFor({ timeout: 60_000 });
    await take("question", every(phone), new URL(chinese.page.url()).hash, async ({ page }) => page.waitForTimeout(1_200));
    await chinese.page.getByRole("button", { name: "停止", exact: true }).click();
    const which = new Log().add({ case: "created", value: { task: { goal: 'click "Edit"' } } }, 0, TaskState.PENDING).step(1);
    which.add({ case: "userAsked", value: { request: { kind: RequestKind.QUESTION, message:
      '`click "Edit"`: 2 elements match: (1) button "Edit", top right, (2) button "Edit", bottom right. Which one do you mean?' } } }, 1, TaskState.AWAITING_USER);
    await take("which", [], "#/tasks/t", undefined, which);
    const manual = new Log().add({ case: "created", value: { task: { goal: "Log in to the bank" } } }, 0, TaskState.PENDING).step(1);
    manual.add({ case: "userAsked", value: { request: { kind: RequestKind.MANUAL_ACTION, message: "Please enter your **password** and press *Log in*." } } }, 1, TaskState.AWAITING_USER);
    await take("manual", [], "#/tasks/t", undefined, manual);
    expect(writer.problems).toEqual([]);
  }, 600_000);
});
