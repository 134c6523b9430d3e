import { type EtcdCluster, type EtcdServer, startEtcdCluster, startEtcdServer } from "@holdfast/testkit/etcd-server";
import { onTestFinished } from "vitest";
import { examineServers } from "./lab.ts";
import type { Situation } from "./situation.ts";

/** Returns the address of a server or of the members of a cluster. */
export function etcdUrl(...servers: readonly Pick<EtcdServer, "port">[]): string {
  return `etcd://${servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
}

async function startCluster(): Promise<EtcdCluster> {
  const cluster = await startEtcdCluster(3);
  onTestFinished(() => cluster.stop());
  return cluster;
}

/** A situation for each finding about etcd. */
export const etcdSituations: readonly Situation[] = [
  {
    code: "no-password",
    how: "an etcd server without authentication",
    examine: async () => {
      const server = await startEtcdServer();
      onTestFinished(() => server.stop());
      return examineServers([etcdUrl(server)]);
    },
  },
  {
    code: "alarm",
    how: "an etcd server with the alarm NOSPACE",
    also: ["no-quorum", "single-server"],
    examine: async () => {
      const server = await startEtcdServer();
      onTestFinished(() => server.stop());
      const { header } = await server.api("maintenance/status");
      const { member_id: memberID } = header as { readonly member_id: string };
      await server.api("maintenance/alarm", { action: "ACTIVATE", memberID, alarm: "NOSPACE" });
      return examineServers([etcdUrl(server)]);
    },
  },
  {
    code: "member-silent",
    how: "an etcd cluster of three, one of which was killed",
    also: ["no-password"],
    examine: async () => {
      const { servers } = await startCluster();
      await servers[2]?.kill();
      return examineServers([etcdUrl(...servers)]);
    },
  },
  {
    code: "members-unnamed",
    how: "an etcd cluster of three, one of which is named",
    also: ["no-password"],
    examine: async () => examineServers([etcdUrl(...(await startCluster()).servers.slice(0, 1))]),
  },
];
