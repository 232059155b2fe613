import { Menu as Base } from "@base-ui/react/menu";
import { Check } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { useFullscreen } from "@/lib/use-fullscreen.ts";

interface MenuProps {
  readonly trigger: ReactElement;
  readonly children: ReactNode;
  readonly side?: "top" | "bottom";
  readonly align?: "start" | "end";
}

export function Menu({ trigger, children, side = "bottom", align = "end" }: MenuProps): ReactNode {
  const container = useFullscreen();
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal container={container}>
        <Base.Positioner side={side} align={align} sideOffset={6} className="z-50 outline-none">
          <Base.Popup className="min-w-44 rounded-xl border bg-popover p-1 text-popover-foreground shadow-raised outline-none transition-[opacity,scale] duration-100 data-ending-style:scale-98 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

const ITEM =
  "flex w-full cursor-default items-center gap-2.5 rounded-lg px-2.5 py-2 text-sm outline-none select-none data-highlighted:bg-accent data-highlighted:text-accent-foreground data-disabled:opacity-50 [&>svg]:size-4 [&>svg]:text-muted-foreground";

interface MenuItemProps {
  readonly icon?: ReactNode;
  readonly children: ReactNode;
  readonly disabled?: boolean;
  onSelect(): void;
}

export function MenuItem({ icon, children, disabled = false, onSelect }: MenuItemProps): ReactNode {
  return (
    <Base.Item className={ITEM} disabled={disabled} onClick={onSelect}>
      {icon}
      <span className="flex-1">{children}</span>
    </Base.Item>
  );
}

interface MenuChoiceProps<Value extends string> {
  readonly value: Value;
  onChange(value: Value): void;
  readonly choices: readonly { readonly value: Value; readonly label: string; readonly icon?: ReactNode }[];
}

export function MenuChoice<Value extends string>({ value, onChange, choices }: MenuChoiceProps<Value>): ReactNode {
  return (
    <Base.RadioGroup value={value} onValueChange={(next: Value) => onChange(next)}>
      {choices.map((choice) => (
        <Base.RadioItem key={choice.value} value={choice.value} className={ITEM} closeOnClick>
          {choice.icon}
          <span className="flex-1">{choice.label}</span>
          <Base.RadioItemIndicator>
            <Check className="size-4 text-primary" />
          </Base.RadioItemIndicator>
        </Base.RadioItem>
      ))}
    </Base.RadioGroup>
  );
}

export function MenuSeparator(): ReactNode {
  return <Base.Separator className="my-1 h-px bg-border" />;
}
