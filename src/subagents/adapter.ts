// Makes pi-subagents load this package into every child of a session: finds it, registers the children's entry under the
// session's runtime id, and disposes the registration. It must never replace or dispose another one's registration.
import { messageOf } from "../errors.ts";
import { OWN_NAME } from "../packages/own.ts";
import { noExport, noFunction, notLoaded, notRegistered, ownedByOther, wrongPlace } from "./diagnostics.ts";
import { type DiscoveryInputs, discover, loadModule } from "./discovery.ts";

/** Our id among a session's required child extensions; launches that are refused name it. */
export const EXTENSION_ID = OWN_NAME;

export interface AdapterInputs extends DiscoveryInputs {
  /** The runtime id, by which launches look the registration up; never the session file. */
  readonly sessionId: string;
  /** Writes the children's entry and answers its absolute path. Called only when there is a pi-subagents. */
  readonly writeEntry: () => Promise<string>;
}

export type AdapterResult =
  /** No pi-subagents in this session. */
  | { readonly type: "absent" }
  | { readonly type: "registered"; readonly entry: string }
  /** The session ended in the meantime. */
  | { readonly type: "closed" }
  /** Children do without; `diagnostic` is to be shown once. */
  | { readonly type: "unavailable"; readonly diagnostic: string };

interface Registration {
  dispose(): void;
}

type Register = (input: {
  readonly sessionId: string;
  readonly extensions: readonly { readonly id: string; readonly path: string }[];
}) => Registration;

/** One session's registration with pi-subagents. */
export class SubagentsAdapter {
  #registration: Registration | undefined;
  #closed = false;

  /** Call it once, after the session has started. It never throws. */
  async start(inputs: AdapterInputs): Promise<AdapterResult> {
    try {
      return await this.#start(inputs);
    } catch (error) {
      return unavailable(notRegistered(messageOf(error)));
    }
  }

  /** Disposes the registration; one that is still under way is abandoned. */
  close(): void {
    this.#closed = true;
    const registration = this.#registration;
    this.#registration = undefined;
    try {
      registration?.dispose();
    } catch {
      // The session ends: there is no one left to tell.
    }
  }

  async #start(inputs: AdapterInputs): Promise<AdapterResult> {
    const place = discover(inputs);
    switch (place.type) {
      case "absent":
        return place;
      case "wrong_place":
        return unavailable(wrongPlace(place.named, place.path, place.reason));
      case "no_export":
        return unavailable(noExport(place.found.version, await inputs.writeEntry()));
      case "module":
        return this.#register(place.path, inputs);
    }
  }

  async #register(path: string, { sessionId, writeEntry }: AdapterInputs): Promise<AdapterResult> {
    let register: unknown;
    try {
      register = (await loadModule(path)).registerRequiredChildExtensions;
    } catch (error) {
      return unavailable(notLoaded(path, messageOf(error)));
    }
    if (typeof register !== "function") return unavailable(noFunction(path));
    const entry = await writeEntry();
    if (this.#closed) return { type: "closed" };
    try {
      this.#registration = (register as Register)({ sessionId, extensions: [{ id: EXTENSION_ID, path: entry }] });
      return { type: "registered", entry };
    } catch (error) {
      if (!isTaken(error)) return unavailable(notRegistered(messageOf(error), entry));
      return isListed(sessionId) ? { type: "registered", entry } : unavailable(ownedByOther(EXTENSION_ID, entry));
    }
  }
}

function unavailable(diagnostic: string): AdapterResult {
  return { type: "unavailable", diagnostic };
}

/** pi-subagents has no error codes, only messages. */
function isTaken(error: unknown): boolean {
  return /already registered/i.test(messageOf(error));
}

/** Where pi-subagents keeps registrations, for all of its instances in a process; only ever read here. */
const REGISTRY = Symbol.for("pi-subagents.required-child-extensions.v1");

/** Whether the owner of a session's registration has our entry on its list, as the diagnostic asks for. */
function isListed(sessionId: string): boolean {
  const registry: unknown = Reflect.get(globalThis, REGISTRY);
  if (typeof registry !== "object" || registry === null || !("bySession" in registry)) return false;
  const { bySession } = registry;
  const extensions: unknown = bySession instanceof Map ? bySession.get(sessionId) : undefined;
  return Array.isArray(extensions) && extensions.some((one: { id?: unknown } | null) => one?.id === EXTENSION_ID);
}
