import { CloudOff } from "lucide-react";
import type { ReactNode } from "react";
import { useText } from "@/i18n/index.ts";
import { formatClock } from "@/lib/format.ts";
import { useNow } from "@/lib/use-now.ts";
import { useConversation } from "@/store/conversation.ts";

// A restart of the server takes less; a bar that comes and goes within it would only flicker.
const SHOWN_AFTER_MS = 900;

/** Says that the connection is lost, since when, and that the page tries again by itself. */
export function ConnectionBar(): ReactNode {
  const t = useText();
  const { link } = useConversation();
  const lost = link.kind === "lost";
  const now = useNow(500, lost);
  if (!lost || now - link.since < SHOWN_AFTER_MS) return null;
  return (
    <div role="status" className="flex items-center justify-center gap-2.5 border-b border-warning-line bg-warning-soft px-4 py-2 text-sm">
      <CloudOff className="size-4 shrink-0 text-warning" />
      <span><span className="font-medium">{t("link.lostTitle")}</span> <span className="text-muted-foreground">{t("link.lostText", { time: formatClock(now - link.since) })}</span></span>
    </div>
  );
}
