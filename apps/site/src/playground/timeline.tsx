import type { Trace } from "@holdfast/simulation";
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
import { type Flight, flightsOf, heights, type LaneKind, type Mark, marksOf } from "./marks.ts";
import type { Session } from "./session.ts";
import type { TimeScale } from "./time-scale.ts";
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

/** The part of a run that is drawn. Only what is near the visible part is in the page: a run can have thousands of messages. */
interface Drawing {
  readonly endedAtMs: number;
  readonly marks: readonly Mark[];
  readonly flights: readonly Flight[];
  readonly scale: TimeScale;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly heightPx: number;
  readonly fromPx: number;
  readonly untilPx: number;
}

const axisPx = 20;
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
    const run = computed(() => {
      const trace = session.run.value?.trace;
      return trace && { endedAtMs: trace.endedAtMs, marks: marksOf(trace), flights: flightsOf(trace) };
    });
    const lanes = computed(() => lanesOf(session.run.value?.trace));
    const drawing = computed((): Drawing | undefined => {
      const heightPx = [...lanes.value.values()].reduce((sum, { kind }) => sum + heights[kind], axisPx);
      const [fromPx, untilPx] = [Math.max(0, (page.value - 1) * pagePx), (page.value + 1) * pagePx + widthPx.value];
      return run.value && { ...run.value, scale: session.scale.value, lanes: lanes.value, heightPx, fromPx, untilPx };
    });
    return () => {
      const [{ steps, scale, atMs }, drawn] = [session, drawing.value];
      const last = steps.value.at(-1) ?? 0;
      return (
        <div class="timeline">
          <div class="lanes" aria-hidden="true" style={{ paddingTop: `${axisPx}px` }}>
            {[...lanes.value.values()].map(({ name, label, kind }) => (
              <div
                key={name}
                class={[
                  "lane",
                  kind,
                  session.run.value && kind === "client" && `hue-${hueOf(name, session.run.value.trace)}`,
                ]}
                style={{ height: `${heights[kind]}px` }}
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
  const add = (name: string, label: string, kind: LaneKind): void => {
    lanes.set(name, { name, label, kind, top });
    top += heights[kind];
  };
  for (const client of trace?.clients ?? []) add(client, client, "client");
  for (const node of trace?.nodes ?? []) add(node, `node ${node}`, "node");
  for (const kind of trace === undefined ? [] : storagesToShow(trace))
    add(kind, storageNames[kind].toLowerCase(), "storage");
  return lanes;
}

/** What is drawn once for a part of a run, and stays while the cursor moves. */
function Paper({ endedAtMs, marks, flights, scale, lanes, heightPx, fromPx, untilPx }: Drawing): VNode {
  const x = (atMs: number): number => marginPx + scale.positionOf(Math.min(atMs, endedAtMs)) - fromPx;
  const isSeen = ({ fromMs, untilMs }: Mark | Flight): boolean =>
    fromMs <= endedAtMs && x(untilMs) >= 0 && x(fromMs) <= untilPx - fromPx;
  const seen = marks.filter((mark) => lanes.has(mark.lane) && isSeen(mark));
  const topOf = ({ lane }: Mark): number => lanes.get(lane)?.top ?? 0;
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
      {[...lanes.values()].map(({ name, kind, top }) => {
        const y = top + heights[kind];
        return <line key={name} class={`rail ${kind}`} x1="0" x2={untilPx - fromPx} y1={y} y2={y} />;
      })}
      {ticksOf(scale, fromPx, untilPx).map((atMs) => (
        <g key={`t${atMs}`} class="tick">
          <line x1={x(atMs)} x2={x(atMs)} y1={axisPx - 4} y2={heightPx} />
          <text class="tick-label" x={x(atMs) + 3} y={axisPx - 7}>
            {ms(atMs)}
          </text>
        </g>
      ))}
      {seen.map((mark) => {
        const { bar, fromMs, untilMs } = mark;
        if (bar === undefined) return undefined;
        const width = Math.max(1, x(untilMs) - x(fromMs));
        return (
          <rect class={["bar", bar.look]} x={x(fromMs)} y={topOf(mark) + bar.top} width={width} height={bar.height} />
        );
      })}
      {seen.map((mark) => {
        const { label, fromMs } = mark;
        if (label === undefined) return undefined;
        return (
          <text class={["label", label.look]} x={x(fromMs) + 4} y={topOf(mark) + label.base}>
            {label.text}
          </text>
        );
      })}
      {flights.filter(isSeen).map((flight) => flightLine(flight, lanes, x))}
    </svg>
  );
}

/** Returns the moments that get a label: multiples of the space that a label needs. */
function ticksOf(scale: TimeScale, fromPx: number, untilPx: number): readonly number[] {
  const everyPx = 90;
  const ticks: number[] = [];
  for (let px = Math.ceil(fromPx / everyPx) * everyPx; px <= Math.min(untilPx, scale.lengthPx); px += everyPx) {
    ticks.push(scale.timeAt(px));
  }
  return ticks;
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
