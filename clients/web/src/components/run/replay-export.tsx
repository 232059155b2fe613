import { Clapperboard } from "lucide-react";
import { useCallback, useState, type ReactNode } from "react";
import { Button } from "@/components/ui/button.tsx";
import { ProblemNotice } from "@/components/ui/problem-notice.tsx";
import { useText, type Text } from "@/i18n/index.ts";
import { useCommand } from "@/lib/use-command.ts";
import { replayOf } from "@/model/replay.ts";
import type { TaskView } from "@/model/task.ts";
import { useSettings, type Language } from "@/store/settings.ts";
import type { ReplayWords } from "@/export/replay-file.ts";
import { VERDICT_WORDS } from "./verdict-words.ts";

/** Makes one HTML file of the run, which replays without a server. */
export function ReplayExport({ task }: { readonly task: TaskView }): ReactNode {
  const t = useText();
  const language = useSettings((state) => state.language);
  const [share, setShare] = useState<number>();
  const save = useCallback(async () => {
    try {
      setShare(0);
      const { replayFile, fileNameOf } = await import("@/export/replay-file.ts");
      const { replay, artifacts } = replayOf(task, (verdict) => t(VERDICT_WORDS[verdict]));
      download(await replayFile(replay, artifacts, wordsOf(t, language), setShare), fileNameOf(task.goal));
    } finally {
      setShare(undefined);
    }
  }, [task, t, language]);
  const saving = useCommand(save);
  return (
    <>
      <Button size="small" disabled={saving.busy} title={t("export.replayText")} onClick={() => saving.run()}>
        <Clapperboard />{share === undefined ? t("export.replay") : t("export.reading", { percent: Math.round(share * 100) })}
      </Button>
      {saving.problem && <ProblemNotice problem={saving.problem} className="order-last w-full" />}
    </>
  );
}

function download(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it when the click returns; long afterwards nothing needs it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function wordsOf(t: Text, language: Language): ReplayWords {
  return {
    language,
    before: t("screen.before"), after: t("screen.after"), noScreen: t("screen.none"), play: t("replay.play"), pause: t("playback.pause"),
    step: t("replay.step"), steps: t("replay.steps"), calls: t("replay.calls"), tokens: t("replay.tokens"),
    succeeded: t("end.succeeded"), failed: t("end.failed"), cancelled: t("end.cancelled"), unfinished: t("replay.unfinished"),
    answer: t("answer.label"), conversation: t("replay.conversation"), extracted: t("extracted"), files: t("files"),
  };
}
