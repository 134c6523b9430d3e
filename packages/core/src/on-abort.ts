const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts, unless the function that is returned was called before. However many wait for a
 * signal, it gets one listener from here: runtimes take more than ten for a leak.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {};
  const listeners = listenersOf.get(signal) ?? new Set();
  if (listeners.size === 0) {
    listenersOf.set(signal, listeners);
    signal.addEventListener("abort", tellAll);
  }
  listeners.add(listener);
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) signal.removeEventListener("abort", tellAll);
  };
}

function tellAll(this: AbortSignal): void {
  for (const listener of listenersOf.get(this) ?? []) listener();
}
