import { useSyncExternalStore } from "react";

/** The element in full screen: what lies outside of it is not shown, so that menus and dialogs have to open inside. */
export function useFullscreen(): HTMLElement | undefined {
  // Not null, with which a portal waits for its container.
  return useSyncExternalStore(subscribe, () => (document.fullscreenElement as HTMLElement | null) ?? undefined);
}

function subscribe(changed: () => void): () => void {
  document.addEventListener("fullscreenchange", changed);
  return () => document.removeEventListener("fullscreenchange", changed);
}
