import type { Fault, FaultKind, OfMessage, OfNotification } from "../scenario/fault.ts";

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
  const describe: (fault: never) => string = descriptions[fault.kind];
  return describe(fault as never);
}

const descriptions: { readonly [Kind in FaultKind]: (fault: Extract<Fault, { kind: Kind }>) => string } = {
  "lost message": (fault) => `the ${fault.part} ${messageOf(fault)} is lost`,
  "late message": (fault) => `the ${fault.part} ${messageOf(fault)} is ${ms(fault.byMs)} late`,
  "repeated message": (fault) => `the request ${messageOf(fault)} is sent again ${ms(fault.afterMs)} later`,
  "lost notification": (fault) => `${notificationOf(fault)} is lost`,
  "late notification": (fault) => `${notificationOf(fault)} is ${ms(fault.byMs)} late`,
  "repeated notification": (fault) => `${notificationOf(fault)} is sent again ${ms(fault.afterMs)} later`,
  "failed watch": ({ watch, client, node, isSilent }) =>
    `watch ${watch} of ${client} on ${node} ${isSilent ? "is never answered" : "fails"}`,
  "broken watch": ({ node, client }) => `node ${node} forgets what ${client} watches`,
  "late access": ({ access, client, byMs }) => `access ${access} of ${client} reaches the storage ${ms(byMs)} late`,
  partition: ({ part, clients, nodes, forMs }) =>
    `${whatIsLost(part)} ${clients.join(", ")} and nodes ${nodes.join(", ")} for ${ms(forMs)}`,
  "node crash": ({ node, forMs, memory, isSilent, guardMs, healed }) => {
    const manner = isSilent ? "goes silent" : "crashes";
    const guard = guardMs === undefined ? "" : `; then it does not vote for ${ms(guardMs)}`;
    const healing = healed === undefined ? "" : `; the operator heals it ${healed}`;
    const forgetting = memory === "lost" ? `, and forgets everything${guard}${healing}` : "";
    return `node ${node} ${manner} ${Number.isFinite(forMs) ? `for ${ms(forMs)}` : "for good"}${forgetting}`;
  },
  "client crash": ({ client }) => `${client} crashes`,
  "clock jump": ({ of, byMs }) => `the clock of ${of} is set ${byMs < 0 ? "back" : "forward"} by ${ms(Math.abs(byMs))}`,
  "clock drift": ({ of, rate }) => `the clocks of ${of} run at ${rate.toFixed(4)} times the true rate`,
  pause: ({ client, forMs, step }) =>
    `${client} is paused for ${ms(forMs)}${step === 0 ? "" : ", in the middle of a turn"}`,
  "pause before acting": ({ client, forMs }) =>
    `${client} is paused for ${ms(forMs)}, between looking at its lock and acting`,
  suspension: ({ client, forMs }) => `the machine of ${client} sleeps for ${ms(forMs)}`,
};

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
