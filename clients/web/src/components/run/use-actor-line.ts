import { useText } from "@/i18n/index.ts";
import type { TaskView } from "@/model/task.ts";
import { useActor } from "@/store/actor.ts";

/** Says who has the desktop; undefined while it is the agent. */
export function useActorLine(task: TaskView): string | undefined {
  const t = useText();
  const actor = useActor(task);
  switch (actor.kind) {
    case "agent": return undefined;
    case "you": return t("takeOver.active");
    case "person": return actor.name === "" ? t("takeOver.someone") : t("takeOver.by", { user: actor.name });
  }
}
