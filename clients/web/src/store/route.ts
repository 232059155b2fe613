/** The shown view, as the fragment of the address: it survives a reload and works whatever path the page is served at. */
import { create } from "zustand";

export type Route =
  | { readonly view: "new" }
  | { readonly view: "conversation"; readonly name: string }
  | { readonly view: "desktops" }
  | { readonly view: "approvals" }
  /** The policy, and the rule that is pointed out. */
  | { readonly view: "policy"; readonly rule?: string }
  | { readonly view: "diagnostics" };

export function parseRoute(fragment: string): Route {
  const path = fragment.replace(/^#?\/?/, "");
  // Only names of the form that the server gives; anything else shows the empty page.
  if (/^(sessions|tasks)\/[A-Za-z0-9._-]+$/.test(path)) return { view: "conversation", name: path };
  const policy = /^policy(?:\/(.+))?$/.exec(path);
  if (policy) return policy[1] === undefined ? { view: "policy" } : { view: "policy", rule: decoded(policy[1]) };
  if (path === "desktops" || path === "approvals" || path === "diagnostics") return { view: path };
  return { view: "new" };
}

/** Text of a part of an address, which anyone may have written. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function fragmentOf(route: Route): string {
  switch (route.view) {
    case "new": return "#/";
    case "conversation": return `#/${route.name}`;
    case "policy": return route.rule === undefined ? "#/policy" : `#/policy/${encodeURIComponent(route.rule)}`;
    default: return `#/${route.view}`;
  }
}

export const useRoute = create<{ readonly route: Route }>(() => ({ route: parseRoute(window.location.hash) }));

window.addEventListener("hashchange", () => useRoute.setState({ route: parseRoute(window.location.hash) }));

export function go(route: Route): void {
  window.location.hash = fragmentOf(route);
}
