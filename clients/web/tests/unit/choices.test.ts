import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { choicesOf } from "@/model/choices.ts";

test.each([
  [
    "Interrupted while performing `click \"Save\"`; it is unknown whether it took effect. Check the screen, then answer `done` if it did or `retry` if it did not.",
    "Interrupted while performing `click \"Save\"`; it is unknown whether it took effect.",
    ["done", "retry"],
  ],
  [
    "执行“点击‘保存’”时被中断，无法确定是否已完成。请查看：已完成请回答“已完成”，否则回答“重试”。",
    "执行“点击‘保存’”时被中断，无法确定是否已完成。",
    ["已完成", "重试"],
  ],
  [
    "执行“点击”的点击时页面移动了，无法确定是否点中。请查看：已点中请回答“已完成”，否则回答“重试”。",
    "执行“点击”的点击时页面移动了，无法确定是否点中。",
    ["已完成", "重试"],
  ],
])("%s is answered by yes or no", (text, message, answers) => {
  const question = choicesOf(text);
  expect(question.message).toBe(message);
  expect(question.choices.map((choice) => choice.answer)).toEqual(answers);
  expect(question.choices.map((choice) => choice.label)).toEqual(["done", "retry"]);
});

test.each([
  ['`click "Edit"`: 2 elements match: (1) button "Edit", top right, (2) button "Edit", bottom right. Which one do you mean?', ['button "Edit", top right', 'button "Edit", bottom right']],
  ["“点击‘重复’”：有 2 处符合：（1）文字“重复”，左上，（2）文字“重复”，左下。指的是哪一个？", ["文字“重复”，左上", "文字“重复”，左下"]],
  // Texts of the screen that look like the list do not shift the numbers.
  ['`x`: 2 elements match: (1) button "a, (3) b", top, (2) button "c", top. Which one do you mean?', ['button "a, (3) b", top', 'button "c", top']],
])("%s is answered by a number", (text, candidates) => {
  const question = choicesOf(text);
  expect(question.choices).toEqual(candidates.map((candidate, index) => ({ answer: String(index + 1), label: { candidate } })));
  expect(question.message).toMatch(/^(`.+`: 2 elements match\. Which one do you mean\?|“.+”：有 2 处符合。指的是哪一个？)$/);
});

test.each([
  "Which file shall I keep?",
  "The field says: answer `done` if it did",
  '`x`: 3 elements match: (1) button "a", top, (2) button "c", top. Which one do you mean?',
  "",
])("%s is answered in words", (text) => {
  expect(choicesOf(text)).toEqual({ message: text, choices: [] });
});

/** Messages of the server's catalogue by id, with their arguments replaced. Only those on one line. */
function catalogue(language: "en" | "zh", values: Record<string, string>): ReadonlyMap<string, string> {
  const file = readFileSync(new URL(`../../../../services/messages/locales/${language}.ftl`, import.meta.url), "utf8");
  const messages = [...file.matchAll(/^([a-z-]+) = (.+)$/gm)];
  return new Map(messages.map(([, id = "", text = ""]) => [id, text.replaceAll(/\{ \$(\w+) \}/g, (_, name: string) => values[name] ?? "x")]));
}

test.each(["en", "zh"] as const)("questions of the catalogue keep their buttons in %s", (language) => {
  const doneOrRetry = [...catalogue(language, {})].filter(([id]) => id.startsWith("phrasebook-was-"));
  expect(doneOrRetry.length).toBeGreaterThanOrEqual(5);
  for (const [id, text] of doneOrRetry) expect(choicesOf(text).choices.map((choice) => choice.label), id).toEqual(["done", "retry"]);
  const candidates = ["1", "2"].map((number) => catalogue(language, { number }).get("phrasebook-candidate") ?? "");
  const separator = language === "en" ? ", " : "，";
  const which = catalogue(language, { count: "2", listed: candidates.join(separator) }).get("phrasebook-ask-which") ?? "";
  expect(choicesOf(which).choices.map((choice) => choice.answer)).toEqual(["1", "2"]);
});
