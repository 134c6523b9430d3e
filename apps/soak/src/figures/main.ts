/**
 * `pnpm --filter @holdfast/soak figures`: measures how waiting behaves where it is hard, and prints a Markdown table.
 * See docs/benchmark/waiting.md.
 */
import { parseArgs } from "node:util";
import { integer, readCommand, runProgram } from "@holdfast/app-kit/program";
import { startRedisServer } from "@holdfast/testkit";
import { measure } from "./measure.ts";
import type { Figures, Order } from "./plan.ts";
import { type Place, type Row, topics } from "./rows.ts";

const usage = `Usage: pnpm --filter @holdfast/soak figures [--only abcdefg] [--runs N] [--json]

Measures starvation (a), stalls (b), tries (c), paused processes (d), hung servers (e),
clients that do not listen (f) and mixed sets (g), and prints the median of N runs (default 1).
`;

const serverCount = 5;

interface Options {
  readonly only: string;
  readonly runs: number;
  readonly json: boolean;
}

await runProgram("figures", readCommand(process.argv.slice(2), parseOptions), async ({ only, runs, json }) => {
  const selected = topics.filter(({ letter }) => only.includes(letter));
  const values = new Map<Row, Record<Place, number[]>>();
  for (let run = 1; run <= runs; run++) {
    for (const [index, { order, over, rows }] of selected.entries()) {
      for (const place of over) {
        if (process.stderr.isTTY) process.stderr.write(`\rrun ${run} of ${runs}: ${index + 1} of ${selected.length} `);
        const figures = await measureOver(order, place);
        for (const row of rows) {
          const known = values.get(row) ?? { memory: [], servers: [] };
          known[place].push(row.value(figures));
          values.set(row, known);
        }
      }
    }
  }
  if (process.stderr.isTTY) process.stderr.write("\n");
  if (json)
    console.log(JSON.stringify([...values].map(([{ what, unit, digits = 0 }, of]) => ({ what, unit, digits, ...of }))));
  else console.log(["| | 5 memory nodes | 5 servers |", "| --- | ---: | ---: |", ...[...values].map(line)].join("\n"));
  return true;
});

async function measureOver(order: Order, place: Place): Promise<Figures> {
  const count = place === "servers" ? serverCount : 0;
  const servers = await Promise.all(Array.from({ length: count }, () => startRedisServer()));
  try {
    return await measure(order, servers);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

function line([row, { memory, servers }]: readonly [Row, Record<Place, number[]>]): string {
  return `| ${row.what} | ${cell(row, memory)} | ${cell(row, servers)} |`;
}

function cell({ unit, digits = 0 }: Row, some: readonly number[]): string {
  if (some.length === 0) return "–";
  const middle = [...some].sort((a, b) => a - b)[Math.floor(some.length / 2)] as number;
  if (Number.isNaN(middle)) return "no end in 90 s";
  return `${middle.toLocaleString("en", { maximumFractionDigits: digits })} ${unit}`.trim();
}

function parseOptions(args: string[]): Options | string {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: "string", default: "abcdefg" },
      runs: { type: "string", default: "1" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return usage;
  if (!/^[a-g]+$/.test(values.only))
    throw new RangeError(`--only must be some of the letters a to g, not ${values.only}`);
  return { only: values.only, runs: integer("--runs", values.runs, 1), json: values.json };
}
