import { useEffect, type ReactNode } from "react";
import { Dialog } from "@/components/ui/dialog.tsx";
import { Keys } from "@/components/ui/keys.tsx";
import { useText, type Key } from "@/i18n/index.ts";
import { modifierKey, STOP_KEYS } from "@/lib/platform.ts";
import { PROMPT_ID, STOP_ID } from "@/components/chat/prompt-box.tsx";
import { go } from "@/store/route.ts";
import { SEARCH_ID } from "./sidebar.tsx";

const SHORTCUTS: readonly { readonly keys: readonly string[]; readonly key: Key }[] = [
  { keys: [modifierKey, "K"], key: "shortcut.search" },
  { keys: ["Alt", "N"], key: "shortcut.new" },
  { keys: ["/"], key: "shortcut.prompt" },
  { keys: ["↵"], key: "shortcut.send" },
  { keys: ["⇧", "↵"], key: "shortcut.newLine" },
  { keys: STOP_KEYS, key: "shortcut.stop" },
  { keys: ["←", "→"], key: "shortcut.step" },
  { keys: ["Home", "End"], key: "shortcut.ends" },
  { keys: ["M"], key: "shortcut.marks" },
  { keys: ["F"], key: "shortcut.full" },
  { keys: ["?"], key: "shortcut.help" },
];

interface ShortcutsProps {
  readonly open: boolean;
  onOpenChange(open: boolean): void;
}

export function Shortcuts({ open, onOpenChange }: ShortcutsProps): ReactNode {
  const t = useText();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("shortcuts")} className="w-[min(92vw,26rem)]">
      <dl className="divide-y">
        {SHORTCUTS.map(({ keys, key }) => (
          <div key={key} className="flex items-center justify-between gap-4 py-2.5 text-sm first:pt-0 last:pb-0">
            <dt>{t(key)}</dt>
            <dd><Keys keys={keys} /><span className="sr-only">{keys.join(" ")}</span></dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

interface ShortcutHandlers {
  onHelp(): void;
  onSearch(): void;
}

/** Shortcuts of the whole page. Letters count only where nothing is being written. */
export function useShortcuts({ onHelp, onSearch }: ShortcutHandlers): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onSearch();
        // The list may only be drawn now, on a small screen.
        requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
        return;
      }
      if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.code === "Period") {
        event.preventDefault();
        // As the button does, which also shows a failure.
        document.getElementById(STOP_ID)?.click();
        return;
      }
      if (event.altKey && event.code === "KeyN") {
        event.preventDefault();
        go({ view: "new" });
        requestAnimationFrame(() => document.getElementById(PROMPT_ID)?.focus());
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
      if (event.key === "/") {
        event.preventDefault();
        document.getElementById(PROMPT_ID)?.focus();
      } else if (event.key === "?") {
        onHelp();
      }
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [onHelp, onSearch]);
}

export function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}
