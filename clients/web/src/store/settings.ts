/** The user's choices for this browser: language and colour scheme. Kept in local storage; nothing of a task is. */
import { create } from "zustand";

export type Language = "en" | "zh";
export type Scheme = "light" | "dark" | "system";

interface Settings {
  readonly language: Language;
  readonly scheme: Scheme;
  setLanguage(language: Language): void;
  setScheme(scheme: Scheme): void;
}

const LANGUAGE = "motorium.language";
const SCHEME = "motorium.scheme";

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    // Blocked storage: the choice lasts until the page is closed.
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // As above.
  }
}

function initialLanguage(): Language {
  const chosen = read(LANGUAGE);
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function initialScheme(): Scheme {
  const chosen = read(SCHEME);
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export const useSettings = create<Settings>((set) => ({
  language: initialLanguage(),
  scheme: initialScheme(),
  setLanguage: (language) => {
    write(LANGUAGE, language);
    set({ language });
  },
  setScheme: (scheme) => {
    write(SCHEME, scheme);
    set({ scheme });
  },
}));

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

function applySettings({ language, scheme }: Settings): void {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.documentElement.classList.toggle("dark", scheme === "dark" || (scheme === "system" && systemDark.matches));
}

applySettings(useSettings.getState());
useSettings.subscribe(applySettings);
systemDark.addEventListener("change", () => applySettings(useSettings.getState()));
