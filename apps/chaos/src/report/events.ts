import { lossesOf } from "../history/checks.ts";
import type { Result } from "../judge.ts";

/** Something that happened in an attack. Times are milliseconds since its start. */
export interface AttackEvent {
  readonly fromMs: number;
  readonly toMs: number;
  /** The client or the node. */
  readonly who: string;
  readonly what: string;
}

/** Lists what happened in an attack: who held the lock and with which token, and what was struck when. */
export function eventsOf({ history, findings }: Result): AttackEvent[] {
  const visits = history.visits.filter(({ grantedAtMs }) => grantedAtMs < history.toMs);
  const lost = new Set(lossesOf(visits, history.sets).plain);
  const twice = new Set(findings.overlaps.flatMap(({ earlier, later }) => [earlier, later]));
  const leastFence = Math.min(...visits.map(({ fence }) => fence));
  const since = (ms: number): number => Math.max(0, Math.round(ms - history.fromMs));
  const event = (who: string, what: string, fromMs: number, toMs = fromMs): AttackEvent => {
    return { fromMs: since(fromMs), toMs: since(toMs), who, what };
  };
  const events = [
    ...history.bands.map(({ lane, label, fromMs, toMs }) => event(lane, label, fromMs, toMs)),
    ...visits.flatMap((visit) => {
      const { client, grantedAtMs, heldUntilMs } = visit;
      const wroteAtMs = visit.wroteAtMs ?? heldUntilMs;
      const holds = twice.has(visit) ? "holds the lock while another does" : "holds the lock";
      return [
        event(client, `${holds}: token +${visit.fence - leastFence}`, grantedAtMs, heldUntilMs),
        ...(visit.plain === "late" ? [event(client, "writes late", heldUntilMs, wroteAtMs)] : []),
        ...(lost.has(visit.element) ? [event(client, "update lost, where tokens are not checked", wroteAtMs)] : []),
        ...(visit.fenced === "refused" ? [event(client, "write refused, where tokens are checked", wroteAtMs)] : []),
      ];
    }),
  ];
  return events.sort((a, b) => a.fromMs - b.fromMs);
}
