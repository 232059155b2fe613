import { KeyRound } from "lucide-react";
import type { ReactNode } from "react";
import { useText } from "@/i18n/index.ts";

/** Shown instead of the page where the browser has no session. */
export function SignedOut(): ReactNode {
  const t = useText();
  const expired = new URLSearchParams(window.location.search).get("login") === "expired";
  return (
    <main className="flex h-full items-center justify-center p-6">
      <div className="w-full max-w-md rounded-2xl border bg-card p-8 text-center shadow-raised">
        <span className="mx-auto flex size-12 items-center justify-center rounded-2xl bg-accent text-primary"><KeyRound className="size-5.5" /></span>
        <h1 className="mt-5 text-xl font-semibold">{expired ? t("login.expired") : t("login.title")}</h1>
        <p className="mt-2 text-sm text-pretty text-muted-foreground">{t("login.text")}</p>
        <pre className="mt-5 rounded-xl border bg-muted px-4 py-3 font-mono text-sm">motorium page</pre>
      </div>
    </main>
  );
}
