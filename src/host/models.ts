// The models of a session, on every host: which one a request goes to, which can be chosen, how a request is stopped.
import type { HostContext, HostModel, ModelSelectEvent } from "./api.ts";
import type { LogMessage } from "./entries.ts";

/** 1.x: a name that an extension routes to some model of its own choice, request by request. */
const VIRTUAL_API = "pi-virtual";

/** Where content given to this model goes is not known before the request. */
export function isVirtual({ api }: HostModel): boolean {
  return api === VIRTUAL_API;
}

/** The model in use; undefined where none is selected and the host shows a placeholder. */
export function selectedModel({ model }: Pick<HostContext, "model">): HostModel | undefined {
  return model?.provider === "unknown" && model.id === "unknown" ? undefined : model;
}

/** Tokens of the model in use; undefined when that is not known. */
export function windowSize({ model }: Pick<HostContext, "model">): number | undefined {
  return model && model.contextWindow > 0 ? model.contextWindow : undefined;
}

/** Models with credentials that are what their name says. */
export function realModels(ctx: HostContext): readonly HostModel[] {
  return ctx.modelRegistry.getAvailable().filter((model) => !isVirtual(model));
}

/** Every model that the host knows, also without credentials; none when it cannot say. */
export function knownModels(ctx: HostContext): readonly HostModel[] {
  try {
    return ctx.modelRegistry.getAll();
  } catch {
    // What is needed of a model is asked for where it is used, and fails there.
    return [];
  }
}

interface RunModels {
  /** Models that were in use and replaced since the host last decided which one a request goes to. */
  replaced: HostModel[];
  /** 0.73.1 decides once, for the whole run. */
  fixed: readonly (HostModel | undefined)[] | undefined;
}

/**
 * The models that the request which is being made may go to: one, or more when the model was changed in between. 0.73.1
 * keeps a run's first model, newer hosts decide before each turn; a run is known by its signal.
 */
export class RequestModels {
  readonly #runs = new WeakMap<AbortSignal, RunModels>();

  selected({ previousModel }: Pick<ModelSelectEvent, "previousModel">, { signal }: HostContext): void {
    if (signal && previousModel) this.#of(signal).replaced.push(previousModel);
  }

  /** The model of the next request is chosen after this. */
  nextIsOpen({ signal, mode }: HostContext): void {
    // 0.73.1 reports turns late, and the one before when a run begins.
    if (signal && mode !== undefined) this.#of(signal).replaced = [];
  }

  ofRequest({ signal, model, mode }: HostContext): readonly (HostModel | undefined)[] {
    if (!signal) return [model];
    const run = this.#of(signal);
    if (run.fixed) return run.fixed;
    const models = [model, ...run.replaced];
    if (mode === undefined) run.fixed = models;
    return models;
  }

  #of(signal: AbortSignal): RunModels {
    const known = this.#runs.get(signal);
    if (known) return known;
    const run: RunModels = { replaced: [], fixed: undefined };
    this.#runs.set(signal, run);
    return run;
  }
}

/** The last event before the host chooses the model of the next request. */
export function eventBeforeChoice({ sessionManager }: HostContext): "turn_start" | "turn_end" {
  // 1.x chooses when it projects the request, behind turn_start. There a listener of turn_end would make it build the
  // whole session again each turn.
  return sessionManager.buildSessionProjection === undefined ? "turn_end" : "turn_start";
}

/**
 * Messages that no host can send: reading them throws, and the request ends there with `reason` as its error. A handler
 * that throws by itself is only skipped.
 */
export function unsendable(reason: string): readonly LogMessage[] {
  const message = {
    get role(): string {
      throw new Error(reason);
    },
    content: [],
    timestamp: 0,
  };
  return [message];
}
