import { Loader, MonitorOff } from "lucide-react";
import type { ReactNode } from "react";
import { ScreenBox } from "./screen-box.tsx";

interface WaitingScreenProps {
  readonly text: string;
  readonly detail?: ReactNode;
  readonly busy?: boolean;
}

/** Takes the place of a screen that is not there yet, and says what is waited for. */
export function WaitingScreen({ text, detail = "", busy = false }: WaitingScreenProps): ReactNode {
  return (
    <ScreenBox ratio={1.6}>
      <div role="status" className="flex size-full flex-col items-center justify-center gap-3 px-6 text-center">
        <span className="flex size-11 items-center justify-center rounded-full bg-card shadow-card">
          {busy ? <Loader className="size-5 animate-spin text-primary [animation-duration:2s]" /> : <MonitorOff className="size-5 text-muted-foreground" />}
        </span>
        <p className="font-medium text-balance">{text}</p>
        {detail !== "" && <p className="line-clamp-4 max-w-md text-sm text-balance text-muted-foreground">{detail}</p>}
      </div>
    </ScreenBox>
  );
}
