import { describeLockNode } from "@holdfast/conformance";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll } from "vitest";
import { limits, subjectsOver } from "./subjects.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

describeLockNode("etcdNode() over one server", { create: subjectsOver([server.port]), cannot: limits });
