import type { Model } from "../model/model.ts";

/** Shows a run while it goes on. */
export interface View {
  /** Shows what is known now. Called often. */
  show(model: Model): void;
  /** Ends showing, and leaves the cursor below. */
  close(): void;
}
