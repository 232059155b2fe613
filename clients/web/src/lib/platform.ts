/** Name of the key that shortcuts use on this machine. */
export const modifierKey = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘" : "Ctrl";

/** Keys that stop the open conversation's task, also while something is being written. */
export const STOP_KEYS: readonly string[] = [modifierKey, "⇧", "."];
