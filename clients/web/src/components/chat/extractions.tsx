import type { ReactNode } from "react";
import { useText } from "@/i18n/index.ts";
import type { Extraction, TaskView } from "@/model/task.ts";
import { select, showRun } from "@/store/selection.ts";

/** The data that a task has read, each value with the step in which it was read. */
export function Extractions({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const all = task.extractions.flatMap(rowsOf);
  if (all.length === 0) return null;
  const rows = all.slice(0, MAX_ROWS);
  return (
    <div tabIndex={0} className="overflow-x-auto rounded-xl border bg-card">
      <table className="w-full text-left text-sm">
        <thead className="bg-muted text-xs text-muted-foreground">
          <tr>
            <th className="px-3.5 py-2 font-medium">{t("extracted.name")}</th>
            <th className="px-3.5 py-2 font-medium">{t("extracted.value")}</th>
            <th className="px-3.5 py-2 font-medium">{t("extracted.read")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index} className="border-t align-top">
              <td className="px-3.5 py-2 text-muted-foreground">{row.name}</td>
              <td className="px-3.5 py-2 wrap-anywhere">{row.value}</td>
              <td className="px-3.5 py-2 whitespace-nowrap">
                <button type="button" className="font-medium text-primary hover:underline" onClick={() => {
                  select(task.name, { kind: "step", number: row.step });
                  showRun(task.name, true);
                }}>
                  {t("step.number", { number: row.step })}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {all.length > rows.length && <p className="border-t px-3.5 py-2 text-[0.8125rem] text-muted-foreground">{t("extracted.more", { count: all.length - rows.length })}</p>}
    </div>
  );
}

interface Row {
  readonly name: string;
  readonly value: string;
  readonly step: number;
}

// Extractions can be whole tables; the rest is in the export.
const MAX_ROWS = 50;

function rowsOf(extraction: Extraction): readonly Row[] {
  const rows: Row[] = [];
  const walk = (value: unknown, name: string): void => {
    if (value !== null && typeof value === "object") {
      for (const [key, member] of Object.entries(value)) walk(member, name === "" ? key : `${name}.${key}`);
    } else {
      rows.push({ name, value: String(value), step: extraction.step });
    }
  };
  try {
    walk(JSON.parse(extraction.json), "");
  } catch {
    rows.push({ name: "", value: extraction.json, step: extraction.step });
  }
  return rows;
}
