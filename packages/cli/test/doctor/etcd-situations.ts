import { type EtcdCluster, type EtcdServer, startEtcdCluster, startEtcdServer } from "@holdfast/testkit/etcd-server";
import { onTestFinished } from "vitest";
import { one, type Situation, several } from "./situation.ts";

/** Returns the address of a server or of the members of a cluster. */
export function etcdUrl(...servers: readonly Pick<EtcdServer, "port">[]): string {
  return `etcd://${servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
}

async function startServer(): Promise<EtcdServer> {
  const server = await startEtcdServer();
  onTestFinished(() => server.stop());
  return server;
}

async function startCluster(): Promise<EtcdCluster> {
  const cluster = await startEtcdCluster(3);
  onTestFinished(() => cluster.stop());
  return cluster;
}

/** A situation for each finding about etcd. */
export const etcdSituations: readonly Situation[] = [
  one("no-password", "an etcd server without authentication", async () => etcdUrl(await startServer())),
  one(
    "alarm",
    "an etcd server with the alarm NOSPACE",
    async () => {
      const server = await startServer();
      const { header } = await server.api("maintenance/status");
      const { member_id: memberID } = header as { readonly member_id: string };
      await server.api("maintenance/alarm", { action: "ACTIVATE", memberID, alarm: "NOSPACE" });
      return etcdUrl(server);
    },
    ["no-quorum"],
  ),
  several("member-silent", "an etcd cluster of three, one of which was killed", ["no-password"], async () => {
    const { servers } = await startCluster();
    await servers[2]?.kill();
    return [etcdUrl(...servers)];
  }),
  several("members-unnamed", "an etcd cluster of three, one of which is named", ["no-password"], async () => [
    etcdUrl(...(await startCluster()).servers.slice(0, 1)),
  ]),
];
