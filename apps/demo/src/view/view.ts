import type { Model } from "../model/model.ts";

/** Shows a run in progress. */
export interface View {
  /** Shows the current state. Called often. */
  show(model: Model): void;
  /** Stops, and leaves the cursor below. Safe to call more than once. */
  close(): void;
}
