import type { Key } from "@/i18n/index.ts";
import type { CopyResult } from "@/lib/copy-from-desktop.ts";

/** Outcomes of a copy from the desktop, in words. */
export const COPY_WORDS: Record<CopyResult, Key> = {
  copied: "copy.copied", nothing: "copy.nothing", withheld: "copy.withheld", denied: "copy.denied", lost: "copy.lost",
};
