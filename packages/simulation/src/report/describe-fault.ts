import type { Fault, OfMessage, OfNotification } from "../scenario/fault.ts";

/**
 * Describes a fault at the moment when it strikes.
 *
 * @example
 * ```ts
 * import { describeFault } from "@holdfast/simulation";
 *
 * console.log(describeFault({ kind: "client crash", client: "client 1", atMs: 20 })); // client 1 crashes
 * ```
 */
export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case "lost message":
      return `the ${fault.part} ${messageOf(fault)} is lost`;
    case "late message":
      return `the ${fault.part} ${messageOf(fault)} is ${ms(fault.byMs)} late`;
    case "repeated message":
      return `the request ${messageOf(fault)} is sent again ${ms(fault.afterMs)} later`;
    case "lost notification":
      return `${notificationOf(fault)} is lost`;
    case "late notification":
      return `${notificationOf(fault)} is ${ms(fault.byMs)} late`;
    case "repeated notification":
      return `${notificationOf(fault)} is sent again ${ms(fault.afterMs)} later`;
    case "failed watch":
      return `watch ${fault.watch} of ${fault.client} on ${fault.node} ${fault.isSilent ? "is never answered" : "fails"}`;
    case "broken watch":
      return `node ${fault.node} forgets what ${fault.client} watches`;
    case "late access":
      return `access ${fault.access} of ${fault.client} reaches the storage ${ms(fault.byMs)} late`;
    case "partition":
      return `${whatIsLost(fault.part)} ${fault.clients.join(", ")} and nodes ${fault.nodes.join(", ")} for ${ms(fault.forMs)}`;
    case "node crash": {
      const manner = fault.isSilent ? "goes silent" : "crashes";
      const guard = fault.guardMs === undefined ? "" : `; then it does not vote for ${ms(fault.guardMs)}`;
      const healing = fault.healed === undefined ? "" : `; the operator heals it ${fault.healed}`;
      const memory = fault.memory === "lost" ? `, and forgets everything${guard}${healing}` : "";
      return `node ${fault.node} ${manner} ${Number.isFinite(fault.forMs) ? `for ${ms(fault.forMs)}` : "for good"}${memory}`;
    }
    case "client crash":
      return `${fault.client} crashes`;
    case "clock jump":
      return `the clock of ${fault.of} is set ${fault.byMs < 0 ? "back" : "forward"} by ${ms(Math.abs(fault.byMs))}`;
    case "clock drift":
      return `the clocks of ${fault.of} run at ${fault.rate.toFixed(4)} times the true rate`;
    case "pause":
      return `${fault.client} is paused for ${ms(fault.forMs)}${fault.step === 0 ? "" : ", in the middle of a turn"}`;
    case "pause before acting":
      return `${fault.client} is paused for ${ms(fault.forMs)}, between looking at its lock and acting`;
    case "suspension":
      return `the machine of ${fault.client} sleeps for ${ms(fault.forMs)}`;
  }
}

function messageOf({ message, client, node }: OfMessage): string {
  return `of message ${message} from ${client} to ${node}`;
}

function notificationOf({ notification, client, node }: OfNotification): string {
  return `notification ${notification} from ${node} to ${client}`;
}

function whatIsLost(part: "requests" | "replies" | "both"): string {
  return part === "both" ? "nothing passes between" : `${part} are lost between`;
}

function ms(value: number): string {
  return `${Number(value.toFixed(2))} ms`;
}
