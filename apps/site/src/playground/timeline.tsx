import type { AccessTrace, MessageTrace, StorageKind, Trace } from "@holdfast/simulation";
import {
  computed,
  type DefineSetupFnComponent,
  defineComponent,
  onBeforeUnmount,
  onMounted,
  ref,
  type VNode,
  watch,
} from "vue";
import type { Session } from "./session.ts";
import type { TimeScale } from "./time-scale.ts";
import { holdSpans, type Span, uncovered } from "./truth.ts";
import { clientOf, hueOf, ms, storageNames, storagesToShow } from "./words.ts";

/** What the timeline shows. */
export interface TimelineProps {
  /** The run, and the cursor. */
  readonly session: Session;
}

/** A row of the timeline. */
interface Lane {
  readonly name: string;
  readonly label: string;
  readonly kind: "client" | "node" | "storage";
  /** The upper edge and the height, in pixels. */
  readonly top: number;
  readonly height: number;
}

/** The part of a run that is drawn. Only what is near the visible part is in the page: a run can have thousands of messages. */
interface Drawing {
  readonly trace: Trace;
  readonly scale: TimeScale;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly heightPx: number;
  readonly fromPx: number;
  readonly untilPx: number;
}

const axisPx = 20;
const heights: Readonly<Record<Lane["kind"], number>> = { client: 40, node: 24, storage: 24 };
/** The drawn part moves in steps of this width. */
const pagePx = 800;
const marginPx = 24;

/** The timeline: a lane for each client, node and storage, with the messages between them. */
export const Timeline: DefineSetupFnComponent<TimelineProps> = defineComponent(
  ({ session }: TimelineProps) => {
    const scroller = ref<HTMLElement>();
    const page = ref(0);
    const widthPx = ref(pagePx);
    let observer: ResizeObserver | undefined;
    const look = (): void => {
      if (scroller.value === undefined) return;
      page.value = Math.floor(scroller.value.scrollLeft / pagePx);
      widthPx.value = Math.ceil(scroller.value.clientWidth / pagePx) * pagePx;
    };
    onMounted(() => {
      observer = new ResizeObserver(look);
      if (scroller.value === undefined) return;
      observer.observe(scroller.value);
      follow(scroller.value, cursorPx.value);
    });
    onBeforeUnmount(() => observer?.disconnect());
    const cursorPx = computed(() => marginPx + session.scale.value.positionOf(session.atMs.value));
    watch([cursorPx, session.run], () => scroller.value && follow(scroller.value, cursorPx.value), { flush: "post" });
    const lanes = computed(() => lanesOf(session.run.value?.trace));
    const drawing = computed((): Drawing | undefined => {
      const [trace, scale] = [session.run.value?.trace, session.scale.value];
      const heightPx = [...lanes.value.values()].reduce((sum, { height }) => sum + height, axisPx);
      const [fromPx, untilPx] = [(page.value - 1) * pagePx, (page.value + 1) * pagePx + widthPx.value];
      return trace && { trace, scale, lanes: lanes.value, heightPx, fromPx: Math.max(0, fromPx), untilPx };
    });
    return () => {
      const [{ steps, scale, atMs }, drawn] = [session, drawing.value];
      const last = steps.value.at(-1) ?? 0;
      return (
        <div class="timeline">
          <div class="lanes" aria-hidden="true" style={{ paddingTop: `${axisPx}px` }}>
            {[...lanes.value.values()].map(({ name, label, kind, height }) => (
              <div
                key={name}
                class={[
                  "lane",
                  kind,
                  session.run.value && kind === "client" && `hue-${hueOf(name, session.run.value.trace)}`,
                ]}
                style={{ height: `${height}px` }}
              >
                <span class={{ of: kind === "client" }}>{label}</span>
              </div>
            ))}
          </div>
          {/* biome-ignore lint/a11y/useFocusableInteractive: Vue spells it tabindex. */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: Vue spells it onKeydown. */}
          <div
            class="scroller"
            ref={scroller}
            tabindex="0"
            role="slider"
            aria-label="Timeline"
            aria-valuemin="0"
            aria-valuemax={last}
            aria-valuenow={atMs.value}
            aria-valuetext={ms(atMs.value)}
            aria-orientation="horizontal"
            data-timeline
            onScroll={look}
            onKeydown={(event) => steer(event, session)}
            onClick={(event) => {
              const left = scroller.value?.getBoundingClientRect().left ?? 0;
              session.seek(scale.value.timeAt(event.clientX - left + (scroller.value?.scrollLeft ?? 0) - marginPx));
            }}
          >
            <div
              class="paper"
              style={{ width: `${scale.value.lengthPx + 2 * marginPx}px`, height: `${drawn?.heightPx ?? 200}px` }}
            >
              {drawn && <Paper {...drawn} />}
              <div class="cursor" style={{ transform: `translateX(${cursorPx.value}px)` }} />
            </div>
          </div>
        </div>
      );
    };
  },
  { props: ["session"] },
);

/**
 * Moves the cursor by keys, as a slider does; the space bar plays. A slider of the browser would do nothing if the cursor is
 * between two steps.
 */
export function steer(event: KeyboardEvent, { steps, step, seek, toggle }: Session): void {
  const actions: Readonly<Record<string, () => void>> = {
    ArrowRight: () => step(1),
    ArrowUp: () => step(1),
    ArrowLeft: () => step(-1),
    ArrowDown: () => step(-1),
    PageUp: () => step(10),
    PageDown: () => step(-10),
    Home: () => seek(0),
    End: () => seek(steps.value.at(-1) ?? 0),
    " ": toggle,
  };
  const action = actions[event.key];
  if (action === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  action();
}

/** Scrolls so that the cursor is seen. */
function follow(scroller: HTMLElement, cursorPx: number): void {
  const { scrollLeft, clientWidth } = scroller;
  if (cursorPx < scrollLeft + 40 || cursorPx > scrollLeft + 0.8 * clientWidth) {
    scroller.scrollLeft = Math.max(0, cursorPx - 0.4 * clientWidth);
  }
}

function lanesOf(trace: Trace | undefined): ReadonlyMap<string, Lane> {
  const lanes = new Map<string, Lane>();
  let top = axisPx;
  const add = (name: string, label: string, kind: Lane["kind"]): void => {
    lanes.set(name, { name, label, kind, top, height: heights[kind] });
    top += heights[kind];
  };
  for (const client of trace?.clients ?? []) add(client, client, "client");
  for (const node of trace?.nodes ?? []) add(node, `node ${node}`, "node");
  for (const kind of trace === undefined ? [] : storagesToShow(trace))
    add(kind, storageNames[kind].toLowerCase(), "storage");
  return lanes;
}

/** What is drawn once for a part of a run, and stays while the cursor moves. */
function Paper(drawing: Drawing): VNode {
  const { trace, scale, lanes, heightPx, fromPx, untilPx } = drawing;
  const x = (atMs: number): number => marginPx + scale.positionOf(Math.min(atMs, trace.endedAtMs)) - fromPx;
  const isSeen = (fromMs: number, untilMs: number): boolean =>
    fromMs <= trace.endedAtMs && x(untilMs) >= 0 && x(fromMs) <= untilPx - fromPx;
  return (
    <svg
      class="paper-svg"
      style={{ left: `${fromPx}px` }}
      width={untilPx - fromPx}
      height={heightPx}
      aria-hidden="true"
    >
      <defs>
        <pattern id="pg-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="hatch-paper" width="6" height="6" />
          <line class="hatch-line" x1="0" y1="0" x2="0" y2="6" />
        </pattern>
      </defs>
      {[...lanes.values()].map(({ name, kind, top, height }) => (
        <line key={name} class={`rail ${kind}`} x1="0" x2={untilPx - fromPx} y1={top + height} y2={top + height} />
      ))}
      {ticksOf(scale, fromPx, untilPx).map((atMs) => (
        <g key={`t${atMs}`} class="tick">
          <line x1={x(atMs)} x2={x(atMs)} y1={axisPx - 4} y2={heightPx} />
          <text class="tick-label" x={x(atMs) + 3} y={axisPx - 7}>
            {ms(atMs)}
          </text>
        </g>
      ))}
      {clientMarks(drawing, x, isSeen)}
      {nodeMarks(drawing, x, isSeen)}
      {trace.messages
        .filter(({ sentAtMs, arrivesAtMs }) => isSeen(sentAtMs, arrivesAtMs))
        .map((message) => messageMark(message, drawing, x))}
      {trace.accesses
        .filter(({ sentAtMs, arrivesAtMs }) => isSeen(sentAtMs, arrivesAtMs))
        .flatMap((access, index) => accessMarks(access, index, drawing, x))}
    </svg>
  );
}

type PositionOf = (atMs: number) => number;
type IsSeen = (fromMs: number, untilMs: number) => boolean;

/** Returns the moments that get a label: multiples of the space that a label needs. */
function ticksOf(scale: TimeScale, fromPx: number, untilPx: number): readonly number[] {
  const everyPx = 90;
  const ticks: number[] = [];
  for (let px = Math.ceil(fromPx / everyPx) * everyPx; px <= Math.min(untilPx, scale.lengthPx); px += everyPx) {
    ticks.push(scale.timeAt(px));
  }
  return ticks;
}

/** A bar from one moment to another. */
function bar(key: string, kind: unknown, { fromMs, untilMs }: Span, top: number, height: number, x: PositionOf): VNode {
  return (
    <rect
      key={key}
      class={["bar", kind]}
      x={x(fromMs)}
      y={top}
      width={Math.max(1, x(untilMs) - x(fromMs))}
      height={height}
    />
  );
}

/** A text at a moment. */
function label(key: string, text: string, kind: string, atMs: number, y: number, x: PositionOf): VNode {
  return (
    <text key={key} class={["label", kind]} x={x(atMs) + 4} y={y}>
      {text}
    </text>
  );
}

/** Belief above truth, and what happens to the client. */
function clientMarks({ trace, lanes }: Drawing, x: PositionOf, isSeen: IsSeen): VNode[] {
  const holds = holdSpans(trace);
  const top = (client: string): number => lanes.get(client)?.top ?? 0;
  const seen = <S extends Span>(spans: readonly S[]): readonly S[] =>
    spans.filter(({ fromMs, untilMs }) => isSeen(fromMs, untilMs));
  return [
    ...seen(trace.calls).map((call, index) =>
      bar(`c${call.fromMs}${index}`, "waiting", call, top(call.client) + 11, 2, x),
    ),
    ...seen(holds).map((span, index) =>
      bar(`h${span.fromMs}${index}`, ["truth", `hue-${hueOf(span.client, trace)}`], span, top(span.client) + 22, 10, x),
    ),
    ...seen(trace.leases).flatMap((lease) => {
      const y = top(lease.client) + 5;
      const wrong = uncovered(
        lease,
        holds.filter(({ attempt }) => attempt === lease.attempt),
      );
      return [
        bar(`l${lease.attempt}`, ["belief", `hue-${hueOf(lease.client, trace)}`], lease, y, 14, x),
        ...wrong.map((span, index) => bar(`w${lease.attempt}${index}`, "wrong", span, y, 14, x)),
        label(`f${lease.attempt}`, `${lease.fence}`, "on-bar", lease.fromMs, y + 11, x),
      ];
    }),
    ...seen(trace.pauses).flatMap((pause) => [
      bar(`p${pause.client}${pause.fromMs}`, "pause", pause, top(pause.client) + 1, 38, x),
      label(
        `q${pause.client}${pause.fromMs}`,
        pause.isSuspension ? "sleeps" : "paused",
        "",
        pause.fromMs,
        top(pause.client) + 37,
        x,
      ),
    ]),
    ...trace.deaths
      .filter(({ client, atMs }) => lanes.has(client) && isSeen(atMs, Infinity))
      .flatMap(({ client, atMs }) => [
        bar(`d${client}`, "pause", { fromMs: atMs, untilMs: Infinity }, top(client) + 1, 38, x),
        label(`e${client}`, "✕ crashed", "bad", atMs, top(client) + 37, x),
      ]),
    ...clockMarks(trace, lanes, x, isSeen),
  ];
}

function clockMarks(trace: Trace, lanes: Drawing["lanes"], x: PositionOf, isSeen: IsSeen): VNode[] {
  return trace.clocks
    .filter(({ of, atMs, offsetMs }) => lanes.has(of) && offsetMs !== 0 && isSeen(atMs, atMs + 1))
    .map(({ of, atMs, offsetMs }) => {
      const { top = 0, height = 0 } = lanes.get(of) ?? {};
      return label(
        `k${of}${atMs}`,
        `◷ ${offsetMs > 0 ? "+" : "−"}${Math.abs(Math.round(offsetMs))}`,
        "bad",
        atMs,
        top + height - 4,
        x,
      );
    });
}

/** Claims, and when a node is down or may not vote. */
function nodeMarks({ trace, lanes }: Drawing, x: PositionOf, isSeen: IsSeen): VNode[] {
  const top = (node: string): number => lanes.get(node)?.top ?? 0;
  return [
    ...trace.claims
      .filter(({ fromMs, untilMs }) => isSeen(fromMs, untilMs))
      .flatMap((claim, index) => [
        bar(
          `n${claim.node}${claim.fromMs}${index}`,
          ["claim", `hue-${hueOf(claim.client, trace)}`],
          claim,
          top(claim.node) + 6,
          12,
          x,
        ),
        label(
          `m${claim.node}${claim.fromMs}${index}`,
          claim.client.replace(/^client /, ""),
          "on-bar",
          claim.fromMs,
          top(claim.node) + 16,
          x,
        ),
      ]),
    ...trace.outages
      .filter(({ fromMs, votesFromMs }) => isSeen(fromMs, votesFromMs))
      .flatMap(({ node, fromMs, untilMs, votesFromMs, memory }) => [
        bar(`g${node}${fromMs}`, "guard", { fromMs: untilMs, untilMs: votesFromMs }, top(node) + 2, 20, x),
        bar(`o${node}${fromMs}`, "pause", { fromMs, untilMs }, top(node) + 1, 22, x),
        label(`r${node}${fromMs}`, memory === "lost" ? "down, forgets" : "down", "bad", fromMs, top(node) + 16, x),
      ]),
  ];
}

function messageMark(message: MessageTrace, { trace, lanes }: Drawing, x: PositionOf): VNode | undefined {
  const [from, to] = [lanes.get(message.from), lanes.get(message.to)];
  if (from === undefined || to === undefined) return undefined;
  const [x1, x2, y1, y2] = [x(message.sentAtMs), x(message.arrivesAtMs), portOf(from), portOf(to)];
  const part = message.isLost ? 0.6 : 1;
  const [endX, endY] = [x1 + (x2 - x1) * part, y1 + (y2 - y1) * part];
  return (
    <g
      key={message.id}
      class={["message", message.part, `hue-${hueOf(clientOf(message), trace)}`, { lost: message.isLost }]}
    >
      <line x1={x1} y1={y1} x2={endX} y2={endY} />
      {message.isLost ? (
        <text class="sign" x={endX} y={endY}>
          ✕
        </text>
      ) : (
        <circle cx={endX} cy={endY} r="2" />
      )}
    </g>
  );
}

/** Messages leave clients below their bars, and meet nodes in their middle. */
function portOf({ kind, top, height }: Lane): number {
  return kind === "client" ? top + height - 4 : top + height / 2;
}

function accessMarks(access: AccessTrace, index: number, { trace, lanes }: Drawing, x: PositionOf): VNode[] {
  const from = lanes.get(access.client);
  if (from === undefined) return [];
  return storagesToShow(trace).map((kind: StorageKind) => {
    const to = lanes.get(kind) ?? from;
    const [x1, x2, y1, y2] = [x(access.sentAtMs), x(access.arrivesAtMs), portOf(from), portOf(to)];
    const result = access.results?.[kind];
    const sign =
      result?.lost !== undefined ? "⚠" : result?.outcome === "refused" ? "✕" : access.kind === "write" ? "W" : "R";
    return (
      <g
        key={`a${index}${access.sentAtMs}${kind}`}
        class={["message access", `hue-${hueOf(access.client, trace)}`, { bad: sign === "⚠" }]}
      >
        <line x1={x1} y1={y1} x2={x2} y2={y2} />
        {result?.outcome !== "skipped" && (
          <>
            <rect x={x2 - 7} y={y2 - 7} width="14" height="14" />
            <text class="sign" x={x2} y={y2}>
              {sign}
            </text>
          </>
        )}
      </g>
    );
  });
}
