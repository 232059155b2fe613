import { Paperclip } from "lucide-react";
import type { ReactNode } from "react";
import { useText } from "@/i18n/index.ts";
import { cn } from "@/lib/class-names.ts";
import { plainDirection } from "@/lib/plain-direction.ts";

interface UserMessageProps {
  readonly text: string;
  readonly files?: readonly string[];
  readonly note?: string;
  readonly faded?: boolean;
}

export function UserMessage({ text, files = [], note, faded = false }: UserMessageProps): ReactNode {
  const t = useText();
  return (
    <div className={cn("flex flex-col items-end gap-1.5 pl-10 transition-opacity sm:pl-24", faded && "opacity-60")}>
      <span className="sr-only">{t("you")}</span>
      {text !== "" && (
        <p className="max-w-full rounded-2xl rounded-br-md bg-secondary px-4 py-2.5 text-[0.9375rem] leading-relaxed whitespace-pre-wrap text-secondary-foreground wrap-anywhere">
          <bdi>{plainDirection(text)}</bdi>
        </p>
      )}
      {files.length > 0 && (
        <ul aria-label={t("files")} className="flex max-w-full flex-wrap justify-end gap-1.5">
          {files.map((file) => (
            <li key={file} className="flex max-w-full items-center gap-1.5 rounded-lg border bg-card px-2 py-1 text-xs text-muted-foreground">
              <Paperclip className="size-3.5 shrink-0" /><span className="truncate">{file}</span>
            </li>
          ))}
        </ul>
      )}
      {note !== undefined && <p className="text-xs text-muted-foreground">{note}</p>}
    </div>
  );
}
