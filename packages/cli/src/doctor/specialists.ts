import { etcdSpecialist } from "../servers/etcd/etcd-findings.ts";
import { mysqlSpecialist } from "../servers/mysql/mysql-findings.ts";
import { postgresSpecialist } from "../servers/postgres/postgres-findings.ts";
import { redisSpecialist } from "../servers/redis/redis-findings.ts";
import { sqliteSpecialist } from "../servers/sqlite/sqlite-findings.ts";
import type { KindName, ServerView } from "./facts.ts";
import type { Specialist, Summary } from "./finding-kind.ts";

/** The parts of the doctor that know one kind of server. */
export const specialists: Readonly<Record<KindName, Specialist<never>>> = {
  redis: redisSpecialist,
  postgres: postgresSpecialist,
  mysql: mysqlSpecialist,
  etcd: etcdSpecialist,
  sqlite: sqliteSpecialist,
};

/** Returns the part that knows this server. A view is passed only to the specialist for its kind. */
export function specialistFor({ kind }: ServerView): Specialist {
  return specialists[kind] as Specialist<ServerView>;
}

/** Returns what the report shows about a server. */
export function summaryOf(view: ServerView): Summary {
  return specialistFor(view).summarize(view);
}
