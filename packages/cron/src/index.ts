/** Cron jobs on many hosts: each scheduled moment of a job runs in one process. */

export {
  type CronCoordinator,
  type CronOptions,
  cronCoordinator,
  type MissedEvent,
  type OverlappedEvent,
} from "./coordinator.ts";
export { type BullMqJob, type CronerJob, type CronJob, momentOf } from "./moment-of.ts";
