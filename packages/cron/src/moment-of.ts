/** The part of a `Cron` of croner that {@link momentOf} uses. */
export interface CronerJob {
  /** Returns when the present run has started. */
  currentRun(): Date | null;
  /** Returns scheduled moments before a date, the latest first. */
  previousRuns(count: number, before?: Date): Date[];
}

/** The part of a `CronJob` of cron, and so of `@nestjs/schedule`, that {@link momentOf} uses. */
export interface CronJob {
  /** Returns when the present run has started. */
  lastDate(): Date | null;
  /** The schedule, and its time zone or offset. */
  readonly cronTime: {
    readonly timeZone?: string | undefined;
    readonly utcOffset?: number | undefined;
    getNextDateFrom(start: Date, timeZone?: never): { toJSDate(): Date };
  };
}

/** The part of a `Job` of BullMQ that {@link momentOf} uses. */
export interface BullMqJob {
  /** The id, which for a job of a job scheduler ends in the moment. */
  readonly id?: string | undefined;
  /** The id of the job scheduler. */
  readonly repeatJobKey?: string | undefined;
}

/**
 * Returns the scheduled moment of the run in progress: not when it has started, but when it should have. It is the same in all
 * processes with this schedule and time zone, however late they are. Call it before the first `await` of a run: a job of cron
 * knows only its latest start.
 *
 * @param job the `Cron` of croner, the `CronJob` of cron or `@nestjs/schedule`, or the `Job` of a job scheduler of BullMQ
 * @throws {TypeError} if it is none of these, or not running
 *
 * @example
 * ```ts
 * import { momentOf } from "@holdfast/cron";
 * import { Cron } from "croner";
 *
 * const job = new Cron("0 * * * *", (self: Cron) => console.log(momentOf(self).toISOString()));
 * job.stop();
 * ```
 */
export function momentOf(job: CronerJob | CronJob | BullMqJob): Date {
  const moment = scheduled(job);
  if (moment !== undefined) return moment;
  throw new TypeError("job must be a running job of croner or cron, or a job of a job scheduler of BullMQ");
}

function scheduled(job: CronerJob | CronJob | BullMqJob): Date | undefined {
  if ("previousRuns" in job) {
    const startedAt = job.currentRun();
    return startedAt === null ? undefined : job.previousRuns(1, new Date(startedAt.getTime() + 1))[0];
  }
  if ("cronTime" in job) {
    const startedAt = job.lastDate();
    return startedAt === null ? undefined : latestMoment(job.cronTime, startedAt);
  }
  const start = `repeat:${job.repeatJobKey}:`;
  return job.id?.startsWith(start) ? new Date(Number(job.id.slice(start.length))) : undefined;
}

/** Returns the latest moment of a schedule that can only tell the next one. */
function latestMoment(cronTime: CronJob["cronTime"], until: Date): Date {
  const zone = (cronTime.timeZone ?? cronTime.utcOffset) as never; // it takes both, and declares one
  const nextAfter = (date: Date) => cronTime.getNextDateFrom(date, zone).toJSDate();
  let moment: Date;
  let backMs = 1_000;
  do {
    moment = nextAfter(new Date(until.getTime() - backMs));
    backMs *= 2;
  } while (moment > until);
  for (let next = nextAfter(moment); next <= until; next = nextAfter(next)) {
    if (next <= moment) break; // cron does so when clocks go back by half an hour
    moment = next;
  }
  return moment;
}
