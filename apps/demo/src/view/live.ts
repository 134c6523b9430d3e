import { monotonicMs } from "@holdfast/testkit/monotonic";
import { createLogUpdate } from "log-update";
import { frame } from "./frame.ts";
import type { Colors } from "./text.ts";
import type { View } from "./view.ts";

/** Redraws a picture in place. */
export function liveView(terminal: NodeJS.WriteStream, colors: Colors): View {
  const draw = createLogUpdate(terminal);
  return {
    show(model) {
      const { columns, rows } = terminal;
      draw(frame(model, monotonicMs(), { columns, rows }, colors).join("\n"));
    },
    close: () => draw.done(),
  };
}
