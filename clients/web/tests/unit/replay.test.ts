import { expect, test, vi } from "vitest";
import { EffectVerdict } from "@gen/common/v1/effect_pb.ts";
import { outcomeOf } from "@/model/outcome.ts";
import { replayOf } from "@/model/replay.ts";
import { isThinking, TaskState } from "@/model/task.ts";
import { usageOf } from "@/model/usage.ts";
import { fold, Log, recorded } from "./events.ts";

vi.mock("@/api/client.ts", () => ({ artifactUrl: (name: string) => `/api/artifacts/${name}` }));
const { escapeHtml, fileNameOf, htmlOf, replayFile } = await import("@/export/replay-file.ts");

const words = (verdict: EffectVerdict): string => EffectVerdict[verdict];

test("a replay has each screenshot once, though it is the end of one step and the beginning of the next", () => {
  const task = fold(recorded("click-and-select"));
  const { replay, artifacts } = replayOf(task, words);
  expect(new Set(artifacts).size).toBe(artifacts.length);
  expect(replay.steps.map((step) => step.before)).toEqual([0, 1, 2]);
  expect(replay.steps[0]?.after).toBe(1);
  expect(artifacts[0]).toBe(task.steps[0]?.screen?.image);
  expect(replay).toMatchObject({ version: 1, state: "succeeded", goal: task.goal });
  expect(replay.steps[0]).toMatchObject({ tone: "good", verdict: "CONFIRMED", outcome: "", window: "*Untitled 1 - Mousepad" });
  expect(replay.steps[0]?.actions[0]).toMatchObject({ intent: 'click "Hello from Motorium"', tone: "good" });
});

test("no text of a run ends the script of its file, or its title", () => {
  const evil = "</script><script>alert(1)</script><!-- \u2028 & \"'";
  const log = new Log().add({ case: "created", value: { task: { goal: evil } } }, 0, TaskState.PENDING).step(1)
    .add({ case: "succeeded", value: { answer: evil } }, 1, TaskState.SUCCEEDED);
  const { replay } = replayOf(fold(log.events), words);
  const html = htmlOf(replay, [`data:image/png;base64,${evil}`], { language: "en" });
  expect(html.match(/<script\b/g)).toHaveLength(2);
  expect(html.match(/<\/script>/g)).toHaveLength(2);
  expect(html).toContain(`<title>${escapeHtml(evil)}</title>`);
  const data = /id="data">(.*)<\/script>/.exec(html)?.[1] ?? "";
  expect(JSON.parse(data).replay.goal).toBe(evil);
  // Only what has the file's own nonce runs, and nothing is loaded.
  const nonce = /script-src 'nonce-([0-9a-f]{32})'/.exec(html)?.[1];
  expect(html.match(new RegExp(`<script nonce="${nonce}"`, "g"))).toHaveLength(2);
  expect(html).toContain("default-src 'none'");
  expect(htmlOf(replay, [], { language: "en" })).not.toContain(nonce);
});

test("screenshots that are gone leave a gap; a failure of the server is one of the export", async () => {
  vi.stubGlobal("FileReader", class {
    result = "";
    onload = (): void => {};
    readAsDataURL(blob: Blob): void {
      void blob.arrayBuffer().then((content) => {
        this.result = `data:${blob.type};base64,${Buffer.from(content).toString("base64")}`;
        this.onload();
      });
    }
  });
  const answers: Record<string, () => Response> = {
    "/api/artifacts/a": () => new Response("pixels", { headers: { "content-type": "image/webp" } }),
    "/api/artifacts/gone": () => new Response("", { status: 404 }),
    "/api/artifacts/page": () => new Response("<script>", { headers: { "content-type": "text/html" } }),
    "/api/artifacts/broken": () => new Response("", { status: 500 }),
  };
  vi.stubGlobal("fetch", async (url: string) => answers[url]!());
  const { replay } = replayOf(fold(new Log().step(1).events), words);
  const shares: number[] = [];
  const file = await replayFile(replay, ["a", "gone", "page"], { language: "zh" }, (share) => shares.push(share));
  const html = await file.text();
  expect(html).toContain('<html lang="zh-CN">');
  expect(JSON.parse(/id="data">(.*)<\/script>/.exec(html)?.[1] ?? "").images).toEqual(["data:image/webp;base64,cGl4ZWxz", "", ""]);
  expect(shares.at(-1)).toBe(1);
  await expect(replayFile(replay, ["broken"], { language: "en" }, () => {})).rejects.toThrow("500");
  vi.unstubAllGlobals();
});

test.each([
  ["Open editor, then type \"Hello\"", "Open-editor-then-type-Hello.html"],
  ["../../etc/passwd", "etc-passwd.html"],
  ["打开 编辑器", "打开-编辑器.html"],
  ["???", "run.html"],
])("the goal %o gives the file name %o", (goal, name) => {
  expect(fileNameOf(goal)).toBe(name);
});

const judged = (verdict: EffectVerdict, explanation: string, outcome = explanation) => fold(new Log()
  .add({ case: "actionIntended", value: { actionId: "a" } }, 1)
  .add({ case: "effectJudged", value: { actionId: "a", effect: { verdict, explanation } } }, 1)
  .add({ case: "stepFinished", value: { outcome } }, 1).events).steps[0]!;

test.each([
  [EffectVerdict.CONFIRMED, "3078 pixels changed at the target", undefined],
  [EffectVerdict.CONFIRMED, "目标处有 310 个像素发生变化", undefined],
  [EffectVerdict.CHANGED_ELSEWHERE, "12 pixels changed, but not at the target", { verdict: EffectVerdict.CHANGED_ELSEWHERE }],
  [EffectVerdict.CONFIRMED, 'the active window is now "Save"', { text: 'the active window is now "Save"' }],
  [EffectVerdict.TEXT_DIFFERS, '"a" was entered, but the field shows "b"', { text: '"a" was entered, but the field shows "b"' }],
  [EffectVerdict.NO_EFFECT, "nothing changed", { text: "nothing changed" }],
])("the outcome %i %o is told without counts of pixels", (verdict, explanation, expected) => {
  expect(outcomeOf(judged(verdict, explanation))).toEqual(expected);
});

test("an outcome that the line of progress has is not repeated", () => {
  const step = { ...judged(EffectVerdict.NO_EFFECT, "nothing changed"), progress: "press Enter: nothing changed" };
  expect(outcomeOf(step)).toBeUndefined();
});

test("an outcome that is not the effect's is told as it is", () => {
  expect(outcomeOf(judged(EffectVerdict.CONFIRMED, "3 pixels changed at the target", "3 files found"))).toEqual({ text: "3 files found" });
});

test("the agent thinks between the screenshot and the decision", () => {
  const log = new Log().add({ case: "started", value: {} }).step(1);
  expect(isThinking(fold(log.events))).toBe(false);
  log.add({ case: "observed", value: { frame: { size: { width: 1, height: 1 } }, image: { name: "i" } } }, 2);
  expect(isThinking(fold(log.events))).toBe(true);
  expect(isThinking(fold(log.add({ case: "cancelRequested", value: {} }, 2).events))).toBe(false);
  log.add({ case: "decided", value: { decision: { backend: "b" } } }, 2);
  expect(isThinking(fold(log.events))).toBe(false);
});

test("the usage of a run is that of all its model calls, also of those whose result was not used", () => {
  const log = new Log()
    .add({ case: "backendSkipped", value: { backend: "a", message: "too late", usage: { calls: 1, inputTokens: 10n } } }, 1)
    .add({ case: "decided", value: { decision: { backend: "b", model: "m", usage: { calls: 1, inputTokens: 100n, outputTokens: 5n, costMicrosUsd: 7n } } } }, 1)
    .add({ case: "decided", value: { decision: { backend: "phrasebook", usage: {} } } }, 2)
    .add({ case: "extracted", value: { json: "{}", usage: { calls: 1, inputTokens: 1n, costMicrosUsd: 3n } } }, 2)
    .add({ case: "summarized", value: { text: "so far", usage: { calls: 1, costMicrosUsd: 1n } } });
  const { modelCalls } = fold(log.events);
  expect(modelCalls.map(({ purpose, step, backend }) => [purpose, step, backend])).toEqual([
    ["skipped", 1, "a"], ["decide", 1, "b"], ["extract", 2, ""], ["summary", 0, ""],
  ]);
  expect(usageOf(modelCalls)).toMatchObject({ calls: 4, inputTokens: 111, outputTokens: 5, isCostComplete: false });
  expect(usageOf(modelCalls).cost).toBeCloseTo(11e-6);
  expect(usageOf(modelCalls.slice(1)).isCostComplete).toBe(true);
  expect(usageOf([])).toMatchObject({ cost: 0, isCostComplete: true });
});
