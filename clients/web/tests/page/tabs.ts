/** Tabs of a stack for the tests of one file, each closed after its test. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { Stack, Tab } from "./stack.ts";

/** A tab in which nothing is opened yet. */
export const BLANK = "";

/** Starts the stack of a file before its tests, and ends it after them. What went wrong in a tab fails its test. */
export function tabsOf(start: () => Promise<Stack>): { open(...options: Parameters<Stack["open"]>): Promise<Tab> } {
  let stack: Stack | undefined;
  let tabs: Tab[] = [];
  beforeAll(async () => {
    stack = await start();
  });
  afterAll(() => stack?.close());
  afterEach(async () => {
    const problems = tabs.flatMap((tab) => tab.problems);
    await Promise.all(tabs.map((tab) => tab.close()));
    tabs = [];
    // What a failed test left at work would keep the others from the desktop.
    await stack?.stopTasks();
    expect(problems).toEqual([]);
  });
  return {
    open: async (...options) => {
      const tab = await stack!.open(...options);
      tabs.push(tab);
      return tab;
    },
  };
}

export function bound(tab: Tab): { page: Page; send: (text: string) => Promise<void> } {
  return { page: tab.page, send: (text) => tab.send(text) };
}
