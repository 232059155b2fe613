/** Name of the key that shortcuts use on this machine. */
export const modifierKey = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘" : "Ctrl";
