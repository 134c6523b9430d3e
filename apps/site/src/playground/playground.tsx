/** The page on which a reader sees what distributed locks promise. */
import "./playground.css";
import { Content } from "vitepress";
import {
  computed,
  type DefineSetupFnComponent,
  defineComponent,
  nextTick,
  onMounted,
  ref,
  shallowRef,
  type VNode,
  watch,
} from "vue";
import { Chooser, Stories } from "./chooser.tsx";
import { FaultList } from "./fault-list.tsx";
import { outcomeOf } from "./outcome.ts";
import { Picture } from "./picture.tsx";
import { type PaceName, paces, prefersLessMotion } from "./player.ts";
import { type Session, useSession } from "./session.ts";
import { storyTexts } from "./story-texts.ts";
import { lastIndexUpTo } from "./time-scale.ts";
import { steer, Timeline } from "./timeline.tsx";
import { ms } from "./words.ts";

/** The playground. */
const Playground: DefineSetupFnComponent<object> = defineComponent(() => {
  const session = useSession();
  const target = ref<string>();
  const panel = shallowRef<typeof import("./faults-panel.tsx").FaultsPanel>();
  const root = ref<HTMLElement>();
  // The HTML of the page leaves out what its scripts repeat, and what is of no use without them. The first run comes along,
  // so that it moves nothing that is seen.
  const isLoaded = ref(false);
  watch([session.run, session.error], () => {
    isLoaded.value = true;
  });
  watch(
    () => session.address.value.subject,
    () => {
      target.value = undefined;
    },
  );
  /** Opens the faults of a node or client, or closes them, and takes the focus along. Their panel is loaded when it is needed. */
  async function choose(name: string | undefined): Promise<void> {
    panel.value ??= await import("./faults-panel.tsx").then(
      ({ FaultsPanel }) => FaultsPanel,
      () => undefined,
    );
    const previous = target.value;
    target.value = name === previous ? undefined : name;
    await nextTick();
    const selector = target.value === undefined ? `[data-faults-of="${previous}"]` : "#pg-faults-title";
    root.value?.querySelector<HTMLElement>(selector)?.focus();
  }
  /** Shows the whole picture while time runs. */
  function play(): void {
    session.toggle();
    const behavior = prefersLessMotion() ? "instant" : "smooth";
    if (session.isPlaying.value) root.value?.scrollIntoView({ block: "start", behavior });
  }
  return () => {
    const { run, moment, isBusy, error } = session;
    return (
      <main
        class="playground"
        ref={root}
        data-playground
        data-state={error.value !== undefined ? "failed" : isBusy.value ? "busy" : "ready"}
      >
        <header>
          <Content class="lead" />
          <Stories session={session} hasAll={isLoaded.value} />
        </header>
        {/* A browser that runs scripts has a text in it, no element: it must not be compared. */}
        <noscript innerHTML='The playground needs JavaScript. <a href="/guarantees">Guarantees</a> says it in words.' />
        {error.value !== undefined && (
          <div class="notice bad" role="alert" data-error>
            <p>{error.value}</p>
            <button type="button" onClick={() => session.open({ kind: "story", id: storyTexts[0]?.id ?? "" })}>
              Open the first story
            </button>
          </div>
        )}
        {error.value === undefined && (
          <>
            <Clock session={session} play={play} />
            <p class="caption" data-caption>
              {session.caption.value}
            </p>
          </>
        )}
        <p class="visually-hidden" role="status" data-said>
          {session.said.value}
        </p>
        {run.value && moment.value && (
          <>
            <Picture
              key={run.value.trace.nodes.length * 100 + run.value.trace.clients.length}
              trace={run.value.trace}
              moment={moment.value}
              target={target.value}
              choose={choose}
            />
            {target.value !== undefined && panel.value && (
              <panel.value
                session={session}
                ttlMs={run.value.ttlMs}
                target={target.value}
                close={() => choose(undefined)}
              />
            )}
            <div class="settings">
              <Pace session={session} />
              <Legend />
            </div>
            <Findings session={session} />
            <section aria-labelledby="pg-timeline">
              <h2 id="pg-timeline">Timeline</h2>
              <Timeline session={session} />
            </section>
            <div class="lists">
              <Events session={session} />
              <FaultList session={session} />
            </div>
          </>
        )}
        {isLoaded.value && (
          <>
            <Chooser session={session} />
            <Keys />
          </>
        )}
      </main>
    );
  };
});

export default Playground;

interface SessionProps {
  readonly session: Session;
}

/** What the checkers found, and at the end what happened. */
function Findings({ session }: SessionProps): VNode {
  const { subject } = session.address.value;
  const run = session.run.value;
  const isOver = run !== undefined && session.atMs.value >= run.trace.endedAtMs;
  const violations = run?.violations ?? [];
  return (
    <section class="findings" aria-label="The run">
      {subject.kind === "seed" && (
        <p data-seed>
          <b>
            Seed {subject.seed}, {subject.faults} faults.
          </b>{" "}
          The same run as <code>{`pnpm simulate --faults ${subject.faults} --seed ${subject.seed}`}</code>.
        </p>
      )}
      {subject.kind !== "story" &&
        violations.map(({ checker, atMs, what }) => (
          <p key={`${checker} ${atMs}`} class="violation" data-violation={checker}>
            <span aria-hidden="true">⚠ </span>
            <b>{checker} is violated:</b> {what}.{" "}
            <button type="button" onClick={() => session.seek(atMs)}>
              Go to {ms(atMs)}
            </button>
          </p>
        ))}
      {isOver && (
        <p class="outcome" data-outcome>
          <b>What happened:</b> {outcomeOf(run)}
        </p>
      )}
    </section>
  );
}

/** The clock in the reader's hand. */
function Clock({ session, play }: SessionProps & { readonly play: () => void }): VNode {
  const { atMs, steps, isPlaying, step, seek } = session;
  const last = steps.value.length - 1;
  const isReady = session.run.value !== undefined;
  const button = (name: string, shape: string, act: () => void, isPossible = true): VNode => (
    <button type="button" aria-label={name} title={name} disabled={!isReady} aria-disabled={!isPossible} onClick={act}>
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        <path d={shape} fill="currentColor" />
      </svg>
    </button>
  );
  return (
    <section class="clock" aria-label="Time">
      <div class="buttons">
        {button("To the start", "M2 2h2v12H2zM14 2v12L5 8z", () => seek(0))}
        {button("Step back", "M12 2v12L3 8z", () => step(-1))}
        <button type="button" class="play" data-play disabled={!isReady} onClick={play}>
          {isPlaying.value ? "Pause" : "Play"}
        </button>
        {button("Step forward", "M4 2v12l9-6z", () => step(1))}
        {button("To the end", "M12 2h2v12h-2zM2 2v12l9-6z", () => seek(steps.value[last] ?? 0))}
      </div>
      {/* No <output>: screen readers would read each frame while time runs. */}
      <span class="now" data-now={atMs.value}>
        {ms(atMs.value)}
      </span>
      <input
        class="slider"
        type="range"
        aria-label="Moment"
        aria-valuetext={ms(atMs.value)}
        min="0"
        max={last}
        step="1"
        value={lastIndexUpTo(steps.value, atMs.value)}
        disabled={!isReady}
        onInput={({ target }) => seek(steps.value[Number((target as HTMLInputElement).value)] ?? 0)}
        onKeydown={(event) => steer(event, session)}
      />
    </section>
  );
}

function Pace({ session: { pace } }: SessionProps): VNode {
  return (
    <label class="pace">
      <span>Pace</span>
      <select
        value={pace.value}
        onChange={({ target }) => {
          pace.value = (target as HTMLSelectElement).value as PaceName;
        }}
      >
        {Object.keys(paces).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

/** How many events before and after the current one are in the list: a run can have thousands. */
const eventsAround = 40;

/** The timeline as text. */
const Events: DefineSetupFnComponent<SessionProps> = defineComponent(
  ({ session }: SessionProps) => {
    const list = ref<HTMLElement>();
    const events = computed(() => session.run.value?.lines ?? []);
    const times = computed(() => events.value.map(({ atMs }) => atMs));
    const current = computed(() =>
      session.atMs.value < (times.value[0] ?? 0) ? -1 : lastIndexUpTo(times.value, session.atMs.value),
    );
    /** Keeps the current event in the middle of the list, without moving the page. */
    function centre(): void {
      const item = list.value?.querySelector<HTMLElement>("[aria-current]");
      if (list.value && item) list.value.scrollTop = item.offsetTop - list.value.clientHeight / 2;
    }
    watch([current, events], centre, { flush: "post" });
    onMounted(centre);
    return () => {
      const from = Math.max(0, current.value - eventsAround);
      const seen = events.value.slice(from, current.value + eventsAround);
      return (
        <section class="events" aria-labelledby="pg-events">
          <h2 id="pg-events">Events</h2>
          <ol ref={list} tabindex="0" aria-labelledby="pg-events" start={from + 1} data-events>
            {seen.map(({ atMs, who, what }, index) => (
              <li
                key={from + index}
                aria-current={from + index === current.value ? "step" : undefined}
                class={{ later: from + index > current.value }}
              >
                <button
                  type="button"
                  class="when"
                  tabindex="-1"
                  aria-label={`Go to ${ms(atMs)}`}
                  onClick={() => session.seek(atMs)}
                >
                  {ms(atMs)}
                </button>
                <span>
                  {who} {what}
                </span>
              </li>
            ))}
          </ol>
        </section>
      );
    };
  },
  { props: ["session"] },
);

function Legend(): VNode {
  return (
    <details class="legend">
      <summary>What the signs mean</summary>
      <ul>
        <li>
          ● with ? asks for a claim, ✓ grants it or keeps it, ✕ denies it, + extends it, − releases it, ! says that a
          lock is free.
        </li>
        <li>
          ■ with R reads the storage, and with W writes to it. Each access goes to all storages at the same moment.
        </li>
        <li>
          In the timeline, the upper bar of a client is what it believes, with its token; the lower bar is the truth.
        </li>
        <li>
          A striped part of the upper bar is a time in which the client is wrong. A grey band is a pause, or a node that
          is down.
        </li>
        <li>
          Tokens are counted from 1 here, in their order. Real ones are times in microseconds. Seeds show them as the
          simulation does.
        </li>
        <li>The lines of lost messages end with ✕. Quiet stretches of time are drawn shorter than they are.</li>
      </ul>
    </details>
  );
}

function Keys(): VNode {
  return (
    <details class="keys">
      <summary>Keys</summary>
      <p>
        In the timeline and in the slider of the clock: <kbd>Space</kbd> plays and pauses, <kbd>←</kbd> and <kbd>→</kbd>{" "}
        go one event back or forward, <kbd>Page ↓</kbd> and <kbd>Page ↑</kbd> several, <kbd>Home</kbd> and{" "}
        <kbd>End</kbd> to the start and the end.
      </p>
      <p>
        Everything else is a button, a list or a field: <kbd>Tab</kbd> goes there.
      </p>
    </details>
  );
}
