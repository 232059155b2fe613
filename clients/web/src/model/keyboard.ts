/**
 * From key events of a browser to inputs of a desktop. Texts come from the browser's own text input, so that input methods, dead
 * keys and other layouts work; everything else is a key or a chord by its name.
 */

/** The parts of a `KeyboardEvent` that are read here. */
export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altGraph: boolean;
  readonly composing: boolean;
}

/** `text`: the browser turns the key into text. `paste`: the browser hands over its clipboard. `leave`: the user wants the page's own keyboard back. */
export type KeyMeaning =
  | { readonly kind: "text" | "paste" | "leave" | "none" }
  | { readonly kind: "chord"; readonly keys: readonly string[] };

const NAMES: Readonly<Record<string, string>> = {
  ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", Backspace: "backspace", ContextMenu: "menu", Delete: "delete",
  End: "end", Enter: "enter", Escape: "escape", Home: "home", Insert: "insert", PageDown: "pagedown", PageUp: "pageup", Tab: "tab", " ": "space",
};

/** True if a chord copies in common applications: also with Shift, as terminals have it. */
export function isCopyChord(keys: readonly string[]): boolean {
  const key = keys.at(-1) ?? "";
  return keys.includes("ctrl") && !keys.includes("alt") && ["c", "x", "insert"].includes(key);
}

export function meaningOf(press: KeyPress): KeyMeaning {
  if (press.composing || press.key === "Process" || press.key === "Dead") return { kind: "text" };
  if (press.key === "Escape" && press.shiftKey) return { kind: "leave" };
  const isCharacter = [...press.key].length === 1;
  // With AltGr, browsers on Windows report Ctrl and Alt.
  const isCommand = (press.ctrlKey || press.altKey || press.metaKey) && !press.altGraph;
  if (isCharacter && !isCommand) return { kind: "text" };
  if ((press.ctrlKey || press.metaKey) && !press.altKey && press.key.toLowerCase() === "v") return { kind: "paste" };
  const name = NAMES[press.key] ?? (/^F\d{1,2}$/.test(press.key) ? press.key.toLowerCase() : isCharacter ? press.key.toLowerCase() : undefined);
  if (name === undefined) return { kind: "none" };
  const modifiers = [
    // The command key of a Mac does what Ctrl does on the desktop.
    ...(press.ctrlKey || press.metaKey ? ["ctrl"] : []), ...(press.altKey ? ["alt"] : []), ...(press.shiftKey ? ["shift"] : []),
  ];
  return { kind: "chord", keys: [...modifiers, name] };
}
