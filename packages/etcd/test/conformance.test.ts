import { describeLockNode } from "@holdfast/conformance";
import { repetition } from "@holdfast/testkit";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll } from "vitest";
import { limits, subjectsOver } from "./subjects.ts";

const server = await startEtcdServer();
afterAll(() => server.stop());

describeLockNode("etcdNode() over one server", { repetition, create: subjectsOver([server.port]), cannot: limits });
