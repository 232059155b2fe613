import { expect, test, vi } from "vitest";

// The settings read the browser's; the catalogues do not need them.
vi.mock("@/store/settings.ts", () => ({ useSettings: () => "en" }));
const { translate } = await import("@/i18n/index.ts");
const { english } = await import("@/i18n/en.ts");
const { chinese } = await import("@/i18n/zh.ts");

const placeholders = (text: string): string[] => [...new Set([...text.matchAll(/\{(\w+)/g)].map((match) => match[1] ?? ""))].sort();

test("every text has the same placeholders in both languages", () => {
  const keys = Object.keys(english) as (keyof typeof english)[];
  const differing = keys.filter((key) => placeholders(chinese[key]).join() !== placeholders(english[key]).join());
  expect(differing).toEqual([]);
});

test.each([[1, "1 step"], [2, "2 steps"], [0, "0 steps"]])("%i is counted as %s", (count, expected) => {
  expect(translate("en", "steps", { count })).toBe(expected);
});

test("the button says, and so sends, exactly what the origin asks for", () => {
  expect(translate("zh", "acknowledgement")).toBe("我已经操作");
  expect(translate("en", "acknowledgement")).toBe("I have done it");
});

test("a value is inserted as it is, also if it looks like a placeholder", () => {
  expect(translate("en", "list.none", { query: "{count|a|b} $& <b>" })).toBe("No conversation contains “{count|a|b} $& <b>”.");
});
