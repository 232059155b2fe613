import { useCallback, useEffect, useState, type ReactNode } from "react";
import { artifactUrl } from "@/api/client.ts";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { problemOf, type Problem } from "@/api/errors.ts";
import { useText, type Key } from "@/i18n/index.ts";
import { formatDuration, formatNumber } from "@/lib/format.ts";
import type { ModelCall, ModelCallPurpose } from "@/model/task.ts";
import { usageOf, type UsageSum } from "@/model/usage.ts";
import { useSettings } from "@/store/settings.ts";

const PURPOSES: Record<ModelCallPurpose, Key> = {
  decide: "call.decide",
  skipped: "call.skipped",
  extract: "call.extract",
  pointer: "call.pointer",
  summary: "call.summary",
};

/** The model calls of a step: what was asked for, what it cost, the image and the requests that were sent, and the responses. */
export function ModelCalls({ calls }: { readonly calls: readonly ModelCall[] }): ReactNode {
  return <ul className="space-y-2">{calls.map((call) => <Call key={String(call.sequence)} call={call} />)}</ul>;
}

function Call({ call }: { readonly call: ModelCall }): ReactNode {
  const t = useText();
  const usage = useUsageWords(usageOf([call]));
  return (
    <li className="rounded-lg border bg-card px-3 py-2.5 text-xs">
      <p className="flex flex-wrap items-baseline gap-x-2.5 gap-y-0.5">
        <span className="text-[0.8125rem] font-medium">{t(PURPOSES[call.purpose])}</span>
        <span className="text-muted-foreground">{[call.backend, call.model].filter((part) => part !== "").join(" · ")}</span>
        <span className="text-muted-foreground tabular-nums sm:ml-auto">{usage}</span>
      </p>
      {call.note !== "" && <p className="mt-1 text-muted-foreground wrap-anywhere">{call.note}</p>}
      {(call.image ?? call.requests ?? call.responses) !== undefined && (
        <div className="mt-2 space-y-1.5">
          {call.image !== undefined && (
            <Fold label={t("call.image")}>
              <img src={artifactUrl(call.image)} alt={t("call.image")} className="max-h-96 w-full rounded-lg border bg-screen object-contain" />
            </Fold>
          )}
          {call.requests !== undefined && <Fold label={t("call.requests")}><Messages artifact={call.requests} /></Fold>}
          {call.responses !== undefined && <Fold label={t("call.responses")}><Messages artifact={call.responses} /></Fold>}
        </div>
      )}
    </li>
  );
}

/** Content that is only made, and so only loaded, once it is unfolded. */
function Fold({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  const [opened, setOpened] = useState(false);
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary className="w-fit rounded text-primary select-none hover:underline">{label}</summary>
      {opened && <div className="mt-1.5">{children}</div>}
    </details>
  );
}

// A browser lays longer texts out slowly; the whole of it is in the artifact.
const MAX_SHOWN_CHARS = 60_000;

/** The requests to a model, or the responses of its provider, as they were sent. */
function Messages({ artifact }: { readonly artifact: string }): ReactNode {
  const t = useText();
  const [text, setText] = useState<string>();
  const [problem, setProblem] = useState<Problem>();
  const load = useCallback(() => {
    setProblem(undefined);
    readMessages(artifact).then(setText, (error: unknown) => setProblem(problemOf(error)));
  }, [artifact]);
  useEffect(load, [load]);
  if (problem) return <ProblemNotice problem={problem} onRetry={load} />;
  if (text === undefined) return <p role="status" className="text-muted-foreground">{t("loading")}</p>;
  return (
    <>
      <pre tabIndex={0} className="max-h-80 overflow-auto rounded-lg border bg-muted p-2.5 font-mono text-[0.6875rem] leading-4.5 whitespace-pre-wrap wrap-anywhere">
        <WithImageLinks text={text.slice(0, MAX_SHOWN_CHARS)} artifact={artifact} />{text.length > MAX_SHOWN_CHARS && "…"}
      </pre>
      <a className="mt-1.5 inline-block text-primary hover:underline" href={`${artifactUrl(artifact)}?download`} download>{t("call.download")}</a>
    </>
  );
}

/** A text with a link for each stored image that it names. */
function WithImageLinks({ text, artifact }: { readonly text: string; readonly artifact: string }): ReactNode {
  const task = artifact.slice(0, artifact.indexOf("/artifacts/"));
  return text.split(IMAGE_NAME).map((part, index) => (index % 2 === 0
    ? part
    : <a key={String(index)} className="text-primary hover:underline" href={artifactUrl(`${task}/${part}`)} target="_blank" rel="noreferrer">{part}</a>));
}

// The form in which a request names an image instead of having its content.
const IMAGE_NAME = /(?<=<image )(artifacts\/[0-9a-f]{64})(?=>)/;

async function readMessages(artifact: string): Promise<string> {
  const response = await fetch(artifactUrl(artifact), { credentials: "same-origin" });
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  const text = await response.text();
  try {
    return withLineBreaks(JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    return text;
  }
}

/** Prompts have many lines, which JSON writes as one. The download is the JSON as it is. */
function withLineBreaks(json: string): string {
  return json.replace(/\\(.)/g, (escaped, letter) => (letter === "n" ? "\n" : escaped));
}

/** Usage in one line, without the parts that are zero or unknown. */
export function useUsageWords(usage: UsageSum): string {
  const t = useText();
  const language = useSettings((state) => state.language);
  const parts = [
    usage.inputTokens + usage.outputTokens > 0
      ? t("call.tokens", { sent: formatNumber(usage.inputTokens, language), received: formatNumber(usage.outputTokens, language) })
      : "",
    usage.cost === 0 ? "" : formatCost(usage.cost, language),
    usage.waited > 0 ? formatDuration(usage.waited) : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

export function formatCost(cost: number, language: string): string {
  return new Intl.NumberFormat(language, { style: "currency", currency: "USD", maximumFractionDigits: 4 }).format(cost);
}
