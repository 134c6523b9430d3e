import type { Trace } from "@holdfast/simulation";
import { computed, type DefineSetupFnComponent, defineComponent, onMounted, ref, type VNode, watch } from "vue";
import { type Flight, flightsOf, heights, type LaneKind, type Mark, marksOf } from "./marks.ts";
import type { Session } from "./session.ts";
import type { TimeScale } from "./time-scale.ts";
import type { Span } from "./truth.ts";
import { hueOf, ms, storageNames, storagesToShow } from "./words.ts";

/** What the timeline shows. */
export interface TimelineProps {
  /** The run, and the cursor. */
  readonly session: Session;
}

/** A row of the timeline. */
interface Lane {
  readonly name: string;
  readonly label: string;
  readonly kind: LaneKind;
  /** The upper edge, in pixels. */
  readonly top: number;
}

/** A run as it is drawn. */
interface Drawing {
  readonly trace: Trace;
  readonly scale: TimeScale;
  readonly lanes: ReadonlyMap<string, Lane>;
}

const axisPx = 20;
const marginPx = 24;

/** The timeline: a lane for each client, node and storage, with the messages between them. */
export const Timeline: DefineSetupFnComponent<TimelineProps> = defineComponent(
  ({ session }: TimelineProps) => {
    const scroller = ref<HTMLElement>();
    const cursorPx = computed(() => marginPx + session.scale.value.positionOf(session.atMs.value));
    const show = (): void => {
      if (scroller.value) follow(scroller.value, cursorPx.value);
    };
    onMounted(show);
    watch([cursorPx, session.run], show, { flush: "post" });
    const drawing = computed((): Drawing | undefined => {
      const trace = session.run.value?.trace;
      return trace && { trace, scale: session.scale.value, lanes: lanesOf(trace) };
    });
    return () => {
      if (drawing.value === undefined) return undefined;
      const { trace, scale, lanes } = drawing.value;
      return (
        <div class="timeline">
          <div class="lanes" aria-hidden="true" style={{ paddingTop: `${axisPx}px` }}>
            {[...lanes.values()].map(({ name, label, kind }) => (
              <div
                key={name}
                class={["lane", kind, kind === "client" && `hue-${hueOf(name, trace)}`]}
                style={{ height: `${heights[kind]}px` }}
              >
                <span class={{ of: kind === "client" }}>{label}</span>
              </div>
            ))}
          </div>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the slider of the clock does the same by keys. */}
          <section
            class="scroller"
            ref={scroller}
            tabindex="0"
            aria-label="Run from left to right"
            data-timeline
            onClick={(event) => {
              const left = scroller.value?.getBoundingClientRect().left ?? 0;
              session.seek(scale.timeAt(event.clientX - left + (scroller.value?.scrollLeft ?? 0) - marginPx));
            }}
          >
            <div class="paper" style={{ width: `${scale.lengthPx + 2 * marginPx}px` }}>
              <Paper {...drawing.value} />
              <div class="cursor" style={{ transform: `translateX(${cursorPx.value}px)` }} />
            </div>
          </section>
        </div>
      );
    };
  },
  { props: ["session"] },
);

/** Scrolls so that the cursor is seen. */
function follow(scroller: HTMLElement, cursorPx: number): void {
  const { scrollLeft, clientWidth } = scroller;
  if (cursorPx < scrollLeft + 40 || cursorPx > scrollLeft + 0.8 * clientWidth) {
    scroller.scrollLeft = Math.max(0, cursorPx - 0.4 * clientWidth);
  }
}

function lanesOf(trace: Trace): ReadonlyMap<string, Lane> {
  const lanes = new Map<string, Lane>();
  let top = axisPx;
  const add = (name: string, label: string, kind: LaneKind): void => {
    lanes.set(name, { name, label, kind, top });
    top += heights[kind];
  };
  for (const client of trace.clients) add(client, client, "client");
  for (const node of trace.nodes) add(node, `node ${node}`, "node");
  for (const kind of storagesToShow(trace)) add(kind, storageNames[kind].toLowerCase(), "storage");
  return lanes;
}

/** What is drawn once for a run, and stays while the cursor moves. */
function Paper({ trace, scale, lanes }: Drawing): VNode {
  const { endedAtMs } = trace;
  const [widthPx, heightPx] = [
    scale.lengthPx + 2 * marginPx,
    [...lanes.values()].reduce((sum, { kind }) => sum + heights[kind], axisPx),
  ];
  const x = (atMs: number): number => marginPx + scale.positionOf(Math.min(atMs, endedAtMs));
  const isSeen = ({ fromMs }: Span): boolean => fromMs <= endedAtMs;
  const marks = marksOf(trace).filter((mark) => lanes.has(mark.lane) && isSeen(mark));
  const topOf = ({ lane }: Mark): number => lanes.get(lane)?.top ?? 0;
  return (
    <svg class="paper-svg" width={widthPx} height={heightPx} aria-hidden="true">
      <defs>
        <pattern id="pg-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="hatch-paper" width="6" height="6" />
          <line class="hatch-line" x1="0" y1="0" x2="0" y2="6" />
        </pattern>
      </defs>
      {[...lanes.values()].map(({ name, kind, top }) => {
        const y = top + heights[kind];
        return <line key={name} class={`rail ${kind}`} x1="0" x2={widthPx} y1={y} y2={y} />;
      })}
      {ticksOf(scale).map((atMs) => (
        <g key={`t${atMs}`} class="tick">
          <line x1={x(atMs)} x2={x(atMs)} y1={axisPx - 4} y2={heightPx} />
          <text class="tick-label" x={x(atMs) + 3} y={axisPx - 7}>
            {ms(atMs)}
          </text>
        </g>
      ))}
      {marks.map((mark) => {
        const { bar, fromMs, untilMs } = mark;
        if (bar === undefined) return undefined;
        const width = Math.max(1, x(untilMs) - x(fromMs));
        return (
          <rect class={["bar", bar.look]} x={x(fromMs)} y={topOf(mark) + bar.top} width={width} height={bar.height} />
        );
      })}
      {marks.map((mark) => {
        const { label, fromMs } = mark;
        if (label === undefined) return undefined;
        return (
          <text class={["label", label.look]} x={x(fromMs) + 4} y={topOf(mark) + label.base}>
            {label.text}
          </text>
        );
      })}
      {flightsOf(trace)
        .filter(isSeen)
        .map((flight) => flightLine(flight, lanes, x))}
    </svg>
  );
}

/** Returns the moments that get a label: multiples of the space that a label needs. */
function ticksOf({ lengthPx, timeAt }: TimeScale): readonly number[] {
  const everyPx = 90;
  return Array.from({ length: Math.floor(lengthPx / everyPx) + 1 }, (_, index) => timeAt(index * everyPx));
}

/** A line, with what is at its end. */
function flightLine(flight: Flight, lanes: Drawing["lanes"], x: (atMs: number) => number): VNode | undefined {
  const { fromMs, untilMs, look, isLost, end, sign } = flight;
  const [from, to] = [lanes.get(flight.from), lanes.get(flight.to)];
  if (from === undefined || to === undefined) return undefined;
  const [x1, y1] = [x(fromMs), portOf(from)];
  const part = isLost ? 0.6 : 1;
  const [x2, y2] = [x1 + (x(untilMs) - x1) * part, y1 + (portOf(to) - y1) * part];
  return (
    <g class={["message", look]}>
      <line x1={x1} y1={y1} x2={x2} y2={y2} />
      {end === "dot" && <circle cx={x2} cy={y2} r="2" />}
      {end === "box" && <rect x={x2 - 7} y={y2 - 7} width="14" height="14" />}
      {sign && (
        <text class="sign" x={x2} y={y2}>
          {sign}
        </text>
      )}
    </g>
  );
}

/** Messages leave clients below their bars, and meet nodes in their middle. */
function portOf({ kind, top }: Lane): number {
  return top + (kind === "client" ? heights.client - 4 : heights[kind] / 2);
}
