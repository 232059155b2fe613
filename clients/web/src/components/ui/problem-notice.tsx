import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Problem } from "@/api/errors.ts";
import { useText } from "@/i18n/index.ts";
import { useSettings } from "@/store/settings.ts";
import { cn } from "@/lib/class-names.ts";
import { Button } from "./button.tsx";

interface ProblemNoticeProps {
  readonly problem: Problem;
  /** Consequence of the failure, for the user. */
  readonly note?: string;
  onRetry?(): void;
  onEdit?(): void;
  readonly className?: string;
}

/** An error at the place where it happened: in words, with what to do next, and the server's own words below. */
export function ProblemNotice({ problem, note, onRetry, onEdit, className }: ProblemNoticeProps): ReactNode {
  const t = useText();
  return (
    <div role="alert" className={cn("flex items-start gap-3 rounded-xl border border-danger-line bg-danger-soft px-3.5 py-3 text-sm", className)}>
      <TriangleAlert className="mt-0.5 size-4 shrink-0 text-destructive" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{t(`problem.${problem.kind}`)}</p>
        {problem.detail !== "" && problem.kind !== "offline" && problem.kind !== "signedOut" && <Detail text={problem.detail} />}
        {note !== undefined && <p className="mt-0.5 text-[0.8125rem] text-muted-foreground">{note}</p>}
        {(onRetry || onEdit) && (
          <div className="mt-2.5 flex gap-2">
            {onRetry && <Button size="small" onClick={onRetry}>{t("retry")}</Button>}
            {onEdit && <Button size="small" variant="ghost" onClick={onEdit}>{t("edit")}</Button>}
          </div>
        )}
      </div>
    </div>
  );
}

/** The server's own words. They are English: in another language they are for those who ask for them. */
function Detail({ text }: { readonly text: string }): ReactNode {
  const t = useText();
  const isOwnLanguage = useSettings((state) => state.language === "en");
  const words = <p className="mt-0.5 text-[0.8125rem] wrap-anywhere text-muted-foreground">{text}</p>;
  if (isOwnLanguage) return words;
  return (
    <details className="mt-0.5 text-[0.8125rem] text-muted-foreground">
      <summary className="w-fit rounded select-none hover:text-foreground">{t("failure.details")}</summary>
      {words}
    </details>
  );
}
