import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Markdown, safeAddress } from "@/components/chat/markdown.tsx";

const rendered = (text: string): string => renderToStaticMarkup(<Markdown text={text} />);

test.each([
  "<script>alert(1)</script>",
  "before <img src=x onerror=alert(1)> after",
  "[a](javascript:alert(1))",
  "[a](JaVaScRiPt:alert(1))",
  "[a](data:text/html,<script>alert(1)</script>)",
  "![a](https://example.org/spy.png)",
  "![a](x\" onerror=\"alert(1))",
  "| <svg onload=alert(1)> | b |\n|---|---|\n| <iframe src=x> | d |",
  "```html\n<script>alert(1)</script>\n```",
  "- <b onmouseover=alert(1)>x</b>",
  "> <style>*{display:none}</style>",
])("nothing runs or is loaded: %s", (text) => {
  const html = rendered(text);
  expect(html).not.toMatch(/<(script|img|svg|iframe|style|b)\b/);
  expect(html).not.toMatch(/href="(?!https:|http:|mailto:)/i);
});

test.each([">".repeat(4_000) + " deep", "- ".repeat(4_000) + "deep", "> ".repeat(60) + "deep"])("a text that nests without end is shown as it is", (text) => {
  expect(rendered(text)).toContain("deep");
});

test("HTML is shown as it was written", () => {
  expect(rendered("use <b>bold</b> & \"quotes\"")).toContain("use &lt;b&gt;bold&lt;/b&gt; &amp; &quot;quotes&quot;");
});

test("lists, tables, code and emphasis have their form", () => {
  const html = rendered("# Result\n\n1. **one**\n2. `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |");
  for (const tag of ["<ol", "<li>", "<strong", "<code", "<table", "<th", "<td"]) expect(html).toContain(tag);
});

test.each([
  ["https://example.org/a", "https://example.org/a"],
  ["mailto:ann@example.org", "mailto:ann@example.org"],
  ["/local", undefined], ["javascript:alert(1)", undefined], ["file:///etc/passwd", undefined], ["vbscript:x", undefined],
])("the address %s is %s", (href, expected) => {
  expect(safeAddress(href)).toBe(expected);
});
