/** Texts of the page in the user's language. The catalogues are checked by the compiler: each language has every key. */
import { useCallback } from "react";
import { useSettings, type Language } from "@/store/settings.ts";
import { english, type Key } from "./en.ts";
import { chinese } from "./zh.ts";

export type { Key };
export type Values = Readonly<Record<string, string | number>>;
export type Text = (key: Key, values?: Values) => string;

const CATALOGUES: Record<Language, Readonly<Record<Key, string>>> = { en: english, zh: chinese };

/** Fills `{name}` in a text, and `{count|one step|{count} steps}` by the number. */
export function translate(language: Language, key: Key, values: Values = {}): string {
  return CATALOGUES[language][key]
    .replace(/\{(\w+)\|([^|{}]*(?:\{\w+\}[^|{}]*)*)\|([^|{}]*(?:\{\w+\}[^|{}]*)*)\}/g, (_, name: string, one: string, other: string) =>
      values[name] === 1 ? one : other)
    .replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

export function useText(): Text {
  const language = useSettings((state) => state.language);
  return useCallback((key: Key, values?: Values) => translate(language, key, values), [language]);
}
