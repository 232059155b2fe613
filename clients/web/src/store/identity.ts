/** The user of this page, as the server has authenticated them. It decides nothing: the server does. */
import { create } from "zustand";

interface Identity {
  /** Undefined until the session was read, and at a server that does not tell. */
  readonly name: string | undefined;
  readonly roles: readonly string[];
}

export const useIdentity = create<Identity>(() => ({ name: undefined, roles: [] }));
