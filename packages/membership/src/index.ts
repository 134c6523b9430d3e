/** Servers that change: heals nodes that lost their fence counters, and moves clients from one set of nodes to another. */

export { type Healed, type HealOptions, heal } from "./heal.ts";
export { type Migration, type MigrationOptions, type MigrationStatus, migration } from "./migration.ts";
export {
  type EarlierClaim,
  MembershipError,
  type MembershipOptions,
  type MembershipProgress,
  type NodeFailure,
  type NodeFloor,
} from "./operation.ts";
