/** Shows on standard error what `heal` and `migrate` read, and for what they wait. */
import type { EarlierClaim, MembershipProgress } from "@holdfast/membership";
import { timeOf } from "../inspect/inspection-report.ts";
import { listed, longMs } from "../output/format.ts";
import { printable, printMessage } from "../output/print.ts";
import { table } from "../output/table.ts";

/** Shows the progress of an operation. */
export interface ProgressDisplay {
  readonly onProgress: (progress: MembershipProgress) => void;
  /** Ends the changing line of a terminal. */
  end(): void;
}

type Reading = Extract<MembershipProgress, { readonly doing: "reading" }>;
type Waiting = Extract<MembershipProgress, { readonly doing: "waiting" }>;

/** Outside of a terminal, the time between two lines about the same thing, in milliseconds. */
const repeatMs = 10_000;
/** Outside of a terminal, reading for less than this, in milliseconds, is not worth a line. */
const shortMs = 2_000;
/** The most claims to name in a line. */
const namesMax = 3;

/**
 * Returns a display: one changing line at a terminal, otherwise a line for each server and each wait.
 *
 * @param until what the operation waits for when no claims are in its way, as in "until …"
 */
export async function showingProgress(until: string): Promise<ProgressDisplay> {
  const { stderr } = process;
  // A terminal that does not report its size cannot be redrawn.
  if (!(stderr.isTTY && stderr.columns > 0)) return printingProgress(until);
  // Loaded here, because it takes longer to load than the rest of this program.
  const { createLogUpdate } = await import("log-update");
  const draw = createLogUpdate(stderr);
  const readings = new Map<string, Reading>();
  let waiting = "";
  return {
    onProgress(progress) {
      if (progress.doing === "reading") readings.set(progress.node, progress);
      else waiting = `; ${waitingText(progress, until)}`;
      draw(printable(readingText([...readings.values()]) + waiting));
    },
    end() {
      draw.clear();
      draw.done();
    },
  };
}

function printingProgress(until: string): ProgressDisplay {
  const startMs = performance.now();
  const reportedMs = new Map<string, number>();
  const report = (subject: string, text: string, repeats: boolean): void => {
    const [nowMs, lastMs = -Infinity] = [performance.now(), reportedMs.get(subject)];
    if (lastMs !== -Infinity && (!repeats || nowMs - lastMs < repeatMs)) return;
    reportedMs.set(subject, nowMs);
    printMessage(text);
  };
  return {
    onProgress(progress) {
      // The servers are read again during each wait: only the first time is news.
      if (progress.doing === "waiting") {
        report(`waiting ${blockersText(progress.claims)}`, waitingText(progress, until), true);
      } else if (performance.now() - startMs < shortMs) {
        return;
      } else if (progress.done) {
        report(`all of ${progress.node}`, readingText([progress]), false);
      } else if (!reportedMs.has(`all of ${progress.node}`)) {
        reportedMs.set(progress.node, reportedMs.get(progress.node) ?? performance.now());
        report(progress.node, readingText([progress]), true);
      }
    },
    end() {},
  };
}

function readingText(readings: readonly Reading[]): string {
  const counts = readings.map(({ node, counters, done }) => `${counters} of ${node}${done ? "" : " so far"}`);
  return `read fence counters: ${listed(counts)}`;
}

function waitingText({ claims, leftMs }: Waiting, until: string): string {
  return claims.length > 0 ? `waiting for ${blockersText(claims)}` : `waiting ${longMs(leftMs)} until ${until}`;
}

function blockersText(claims: readonly EarlierClaim[]): string {
  const more = claims.length > namesMax ? [`${claims.length - namesMax} more`] : [];
  return `locks of clients of an earlier stage: ${[...claims.slice(0, namesMax).map(claimText), ...more].join(", ")}`;
}

/** Returns a table with a line for each claim. */
export function claimsTable(claims: readonly EarlierClaim[]): string {
  const rows = claims.map(({ resource, label, owner, clients, nodes, remainingMs }) => {
    return [resource, label ?? "", owner, clients, timeOf(remainingMs), nodes.join(", ")].map(printable);
  });
  return table(["resource", "label", "owner", "clients", "remaining", "servers"], rows);
}

/** Returns the claims for programs. */
export function claimRecords(claims: readonly EarlierClaim[]): readonly object[] {
  return claims.map((claim) => ({
    ...claim,
    remainingMs: claim.remainingMs === Infinity ? null : Math.round(claim.remainingMs),
  }));
}

/** Names a claim in a line. */
function claimText({ resource, label, owner }: EarlierClaim): string {
  return printable(`${resource} (${label ?? owner})`);
}
