/** The facts beside the words of an approval: the content that the action would send, and its recipient. Pure. */
import type { PlannedAction } from "@gen/common/v1/decision_pb.ts";

export type FactKind = "text" | "secret" | "address" | "application" | "keys" | "window";

export interface Fact {
  readonly kind: FactKind;
  readonly value: string;
}

export function factsOf(planned: PlannedAction | undefined): readonly Fact[] {
  const action = planned?.action?.action;
  switch (action?.case) {
    case "typeText": case "setClipboard": case "paste": {
      const source = action.value.text?.source;
      if (source?.case === "secret") return [{ kind: "secret", value: source.value }];
      return source?.case === "literal" ? [{ kind: "text", value: source.value }] : [];
    }
    case "openUrl": case "goToUrl": return [{ kind: "address", value: action.value.url }];
    case "openApplication": return [{ kind: "application", value: action.value.name }];
    case "keyChord": case "holdKey": return [{ kind: "keys", value: action.value.keys.join(" + ") }];
    case "focusWindow": return [{ kind: "window", value: action.value.window.value ?? "" }];
    // Every kind is named, so that a new one with content does not compile unseen.
    case "move": case "click": case "mouseDown": case "mouseUp": case "drag": case "scroll": case "wait":
    case "goBack": case "goForward": case "refresh": case undefined: return [];
  }
}
